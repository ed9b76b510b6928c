import { connect } from 'node:net';
import { RedisClient } from 'bun';
import { freePort, type RunningProcess, run, untilProcess } from './child-process.ts';

/** Whether something replies to a PING without a client, whose own commands the server may not know. */
const responds = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket
      .on('data', () => resolve(true))
      .on('error', () => resolve(false))
      .on('close', () => resolve(false));
    socket.on('data', () => socket.destroy());
  });

export type RedisServer = Awaited<ReturnType<typeof startRedis>>;

/**
 * Starts a real redis-server on a free port of loopback, which writes nothing to disk. `url` is where `args` make it
 * reachable.
 */
export async function startRedis(args: readonly string[] = [], urlOf = (port: number) => `redis://127.0.0.1:${port}`) {
  const port = await freePort();
  const url = urlOf(port);
  let child: RunningProcess;

  const server = {
    port,
    url,
    /** Restarts it on the same port, optionally with other arguments. */
    async start(moreArgs = args): Promise<void> {
      const fixed = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no'];
      child = run(['redis-server', ...fixed, ...moreArgs]);
      await untilProcess(child, () => responds(port), 'redis-server');
    },
    async kill() {
      child.signal('SIGKILL');
      await child.finished;
    },
    signal: (name: NodeJS.Signals) => child.signal(name),
    async command(name: string, ...args: string[]): Promise<unknown> {
      const client = new RedisClient(url, { autoReconnect: false, connectionTimeout: 1000 });
      try {
        return await client.send(name, args);
      } finally {
        client.close();
      }
    },
  };
  await server.start();
  return server;
}
