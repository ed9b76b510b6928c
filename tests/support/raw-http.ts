import { once } from 'node:events';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
const LAST_ID = 'the-last-request';
const LAST_REQUEST = `GET /livez HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${LAST_ID}\r\nConnection: close${HEAD_END}`;

const toBytes = (text: string) => Buffer.from(text, 'latin1');

/** Listens on a free port of loopback, which it returns. */
export async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Opens a connection on which errors are expected: half of what is sent over it should be cut off. */
export async function open(port: number, host = '127.0.0.1'): Promise<Socket> {
  const socket = connect(port, host);
  await once(socket, 'connect');
  return socket.on('error', () => {});
}

function receive(socket: Socket) {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  return { text: () => text, closed: new Promise<void>((done) => socket.once('close', () => done())) };
}

/** Sends raw bytes, and returns the reply. A last request shows whether the connection was kept. */
export async function exchange(port: number, bytes: string) {
  const socket = await open(port);
  const { text, closed } = receive(socket);
  socket.once('data', () => socket.write(LAST_REQUEST));
  socket.write(toBytes(bytes));
  await closed;
  const isClosed = !text().includes(LAST_ID);
  return { statuses: statusesIn(text()).slice(0, isClosed ? undefined : -1), text: text(), isClosed };
}

export const statusesIn = (text: string): readonly number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status)).filter((status) => status !== 100);

/**
 * Sends GET with the header lines as they are, over a connection of its own: fetch() would reject, join or re-encode
 * them.
 */
export const rawGet = (origin: string, path: string, headerLines: readonly string[]) =>
  rawRequest(origin, [`GET ${path} HTTP/1.1`, `Host: ${new URL(origin).host}`, 'Connection: close', ...headerLines]);

/**
 * Sends the lines of a request, and returns the response once the service has closed the connection. Status 0 means
 * none.
 */
export async function rawRequest(origin: string, lines: readonly string[]): Promise<Response> {
  const { port, hostname } = new URL(origin);
  const socket = await open(Number(port), hostname);
  // A server may reset the connection of a request that it does not read completely. What it sent before the reset
  // counts.
  const { text, closed } = receive(socket);
  socket.write(toBytes(`${lines.join('\r\n')}${HEAD_END}`));
  await closed;
  const headEnd = text().indexOf(HEAD_END);
  const [statusLine = '', ...fields] = text().slice(0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.1 ([2-5]\d\d)/.exec(statusLine)?.[1]);
  if (headEnd < 0 || !status) return Response.error();
  const headers = new Headers();
  for (const [, name = '', value = ''] of fields.map((field) => /^([^:]*):\s*(.*)/.exec(field) ?? []))
    headers.append(name, value);
  const body = text().slice(headEnd + HEAD_END.length);
  // The constructor rejects a body with 204 or 304, an empty one included.
  return new Response(body === '' ? null : toBytes(body), { status, headers });
}

/**
 * Sends the same bytes again and again until the service cuts the connection off; returns how many it took. May read
 * nothing.
 */
export async function pour(
  port: number,
  start: string,
  piece: string,
  maxBytes: number,
  reads = true,
): Promise<number> {
  const socket = await open(port);
  const closed = new Promise((done) => socket.once('close', done));
  // Paused, it could read on a busy machine: a listener for data has asked for it.
  if (reads) socket.resume();
  socket.write(toBytes(start));
  let sent = start.length;
  while (!socket.closed && sent < maxBytes) {
    const isTaken = socket.write(toBytes(piece));
    sent += piece.length;
    await (isTaken ? Bun.sleep(0) : Promise.race([new Promise((done) => socket.once('drain', done)), closed]));
  }
  socket.destroy();
  return sent;
}
