import { RedisClient } from 'bun';
import { freePort, type RunningProcess, run, untilProcess } from './child-process.ts';

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Kills the server, as a crash does. Its data is lost. */
  kill(): Promise<void>;
  /** Restarts it on the same port, optionally with other arguments. */
  start(args?: readonly string[]): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** Runs a command on a separate connection. */
  command(...words: string[]): Promise<unknown>;
}

/** Starts a real redis-server on a free port of loopback, which writes nothing to disk. `url` is where `args` make it answer. */
export async function startRedis(args: readonly string[] = [], urlOf = (port: number) => `redis://127.0.0.1:${port}`) {
  const port = await freePort();
  const url = urlOf(port);
  let child: RunningProcess;

  const server: RedisServer = {
    port,
    url,
    async start(moreArgs = args) {
      const fixed = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no'];
      child = run(['redis-server', ...fixed, ...moreArgs], { PATH: process.env.PATH ?? '' });
      const isUp = () =>
        server.command('PING').then(
          () => true,
          () => false,
        );
      await untilProcess(child, isUp, 'redis-server');
    },
    async kill() {
      child.signal('SIGKILL');
      await child.finished;
    },
    signal: (name) => child.signal(name),
    async command(name = '', ...args) {
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
