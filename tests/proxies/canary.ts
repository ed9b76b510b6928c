import type { Socket } from 'node:net';
import { open } from '../support/raw-http.ts';

/** What a canary got for one request. */
export interface Sighting {
  /** 0 when the connection ended without a whole response. */
  readonly status: number;
  /** Whether the response carries the identifier that only this request had. */
  readonly isOwn: boolean;
  readonly body: string;
  readonly elapsedMs: number;
}

/** Bound on waiting for one response: a request that is lost behind a proxy takes the proxy's own 30 s or more. */
const MAX_WAIT_MS = 10_000;

/** Returns an honest client that keeps its connection, and sends each request with an identifier that the service echoes. */
export function createCanary(port: number, name: string, headers: readonly string[]) {
  let socket: Socket | undefined;
  let asked = 0;

  return {
    async ask(path: string): Promise<Sighting> {
      asked += 1;
      const id = `${name}-${asked}`;
      if (!socket || socket.destroyed) socket = await open(port);
      const startMs = performance.now();
      const request = [`GET ${path} HTTP/1.1`, 'Host: service.example.test', `X-Request-Id: ${id}`, ...headers];
      socket.write(`${request.join('\r\n')}\r\n\r\n`);
      const text = await readResponse(socket);
      const [head = '', body = ''] = text.split('\r\n\r\n');
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? 0);
      if (status === 0 || /^connection: close/im.test(head)) socket.destroy();
      const isOwn = new RegExp(`^x-request-id: ${id}\r?$`, 'im').test(head);
      return { status, isOwn, body, elapsedMs: performance.now() - startMs };
    },
    close: () => void socket?.destroy(),
  };
}

/** Resolves with one response, as long as its Content-Length says, or with what came before the connection ended. */
function readResponse(socket: Socket): Promise<string> {
  let text = '';
  return new Promise((done) => {
    const finish = () => {
      clearTimeout(timer);
      socket.off('data', read).off('close', finish);
      done(text);
    };
    const timer = setTimeout(() => {
      text = '';
      finish();
    }, MAX_WAIT_MS);
    const read = (chunk: Uint8Array) => {
      text += Buffer.from(chunk).toString('latin1');
      const headEnd = text.indexOf('\r\n\r\n');
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? Number.POSITIVE_INFINITY);
      if (headEnd >= 0 && text.length >= headEnd + 4 + length) finish();
    };
    socket.on('data', read).on('close', finish);
  });
}
