import { connect, type Socket } from 'node:net';

/** Clients that take their time: half of them finish a request, a byte at a time, and half never do. */
export interface SlowClients {
  /** How many answers had each status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Connections that the server closed; it may, for those that never finish. */
  readonly closed: () => number;
  stop(): void;
}

const byteEveryMs = 200;
const whole = 'GET /api/public HTTP/1.1\r\nHost: slow\r\n\r\n';
const endless = 'GET /api/private HTTP/1.1\r\nHost: slow\r\nAuthorization: Bearer ';

/** Starts `count` slow clients, each of which connects again when its connection ends. */
export function startSlowClients(port: number, count: number): SlowClients {
  const statuses: Record<string, number> = {};
  const sockets = new Set<Socket>();
  let closed = 0;
  let isStopped = false;

  function open(isEndless: boolean): void {
    if (isStopped) return;
    const socket = connect(port, '127.0.0.1');
    const text = isEndless ? endless : whole;
    let at = 0;
    const timer = setInterval(() => {
      socket.write(text[at] ?? (isEndless ? 'a' : ''));
      at = at + 1 === whole.length && !isEndless ? 0 : at + 1;
    }, byteEveryMs);
    sockets.add(socket);
    socket.on('data', (data) => {
      const status = /^HTTP\/1\.1 (\d{3})/.exec(data.toString('latin1'))?.[1] ?? 'unreadable';
      statuses[status] = (statuses[status] ?? 0) + 1;
    });
    // Whatever ends a connection, 'close' follows.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      sockets.delete(socket);
      if (isStopped) return;
      closed += 1;
      setTimeout(open, 1000, isEndless);
    });
  }

  for (let client = 0; client < count; client += 1) open(client % 2 === 1);
  return {
    statuses,
    closed: () => closed,
    stop() {
      isStopped = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}
