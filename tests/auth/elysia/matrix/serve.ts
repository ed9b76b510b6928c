import type { AnyElysia } from 'elysia';
import { type RouteKind, SECRET } from './routes.ts';

/**
 * Sends to an application in one of the forms `listen`, `fetch` and `handle`. It may throw at the start, and serve
 * nevertheless.
 */
export function serve(app: AnyElysia, form: string) {
  let origin = 'http://localhost';
  if (form === 'listen') {
    try {
      app.listen({ port: 0, hostname: '127.0.0.1', error: (error) => new Response(String(error), { status: 500 }) });
    } catch {}
    origin = `http://127.0.0.1:${app.server?.port ?? 0}`;
  }
  const send = (path: string, init: RequestInit) =>
    form === 'listen'
      ? fetch(origin + path, init)
      : app[form === 'fetch' ? 'fetch' : 'handle'](new Request(origin + path, init));
  return { origin, send, close: () => app.server?.stop(true) };
}

/** Requests a route. Status 0 means no response. */
export async function ask(
  { origin, send }: Pick<ReturnType<typeof serve>, 'origin' | 'send'>,
  path: string,
  { method = 'GET', body, isSocket = false }: Omit<RouteKind, 'add'> = {},
  token = '',
): Promise<{ readonly status: number; readonly body: string }> {
  const headers = {
    ...(token && { authorization: `Bearer ${token}` }),
    ...(body && { 'content-type': 'application/json' }),
  };
  try {
    if (isSocket && origin !== 'http://localhost')
      return await openSocket(origin.replace('http', 'ws') + path, headers);
    const upgrade = isSocket ? { upgrade: 'websocket', connection: 'upgrade' } : {};
    const response = await send(path, { method, headers: { ...headers, ...upgrade }, ...(body && { body }) });
    return { status: response.status, body: await response.text() };
  } catch (error) {
    return { status: 0, body: String(error) };
  }
}

function openSocket(url: string, headers: Record<string, string>) {
  return new Promise<{ status: number; body: string }>((resolve) => {
    const socket = new WebSocket(url, { headers } as never);
    const end = () => resolve({ status: 0, body: '' });
    socket.onopen = () => {
      resolve({ status: 101, body: SECRET });
      socket.close();
    };
    socket.onerror = end;
    socket.onclose = end;
    // A hook of the application can prevent a response to the handshake.
    setTimeout(end, 60_000).unref();
  });
}
