import { connect, type Socket } from 'node:net';

/** What came back over a connection. */
export interface Exchange {
  /** The status of each answer, in order; 100 left out. */
  readonly statuses: readonly number[];
  readonly text: string;
  /** Whether the service ended the connection. */
  readonly isClosed: boolean;
}

/** Nothing more is expected once a connection was silent for so long after an answer: loopback takes a few milliseconds. */
const QUIET_MS = 60;
const MAX_MS = 5_000;

/** Opens a connection whose errors are no surprise: half of what is sent here is to be cut off. */
export function open(port: number): Promise<Socket> {
  return new Promise((done, fail) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.off('error', fail);
      done(socket);
    });
    socket.once('error', fail);
    socket.on('error', () => {});
  });
}

const toBytes = (text: string) => Buffer.from(text, 'latin1');

/** Sends bytes as they are, a character a byte, and returns what was answered until the connection ended or fell silent. */
export async function exchange(port: number, ...pieces: readonly string[]): Promise<Exchange> {
  const socket = await open(port);
  let text = '';
  let isClosed = false;
  const ended = new Promise<void>((done) => {
    const giveUp = setTimeout(done, MAX_MS);
    let quiet: Timer | undefined;
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      clearTimeout(quiet);
      quiet = setTimeout(done, QUIET_MS);
    });
    socket.on('close', () => {
      isClosed = true;
      clearTimeout(giveUp);
      clearTimeout(quiet);
      done();
    });
  });
  for (const piece of pieces) {
    socket.write(toBytes(piece));
    if (pieces.length > 1) await Bun.sleep(5);
  }
  await ended;
  socket.destroy();
  return { statuses: statusesIn(text), text, isClosed };
}

export function statusesIn(text: string): readonly number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)]
    .map(([, status]) => Number(status))
    .filter((status) => status !== 100);
}

/** Sends the same bytes again and again until the service cuts the connection off; returns how many it took. */
export async function pour(port: number, start: string, piece: string, maxBytes: number): Promise<number> {
  const socket = await open(port);
  let isOpen = true;
  const closed = new Promise<void>((done) =>
    socket.on('close', () => {
      isOpen = false;
      done();
    }),
  );
  socket.resume();
  socket.write(toBytes(start));
  let sent = start.length;
  while (isOpen && sent < maxBytes) {
    const isTaken = socket.write(toBytes(piece));
    sent += piece.length;
    await (isTaken ? Bun.sleep(0) : Promise.race([new Promise((done) => socket.once('drain', done)), closed]));
  }
  socket.destroy();
  return sent;
}
