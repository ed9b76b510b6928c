import { readFileSync } from 'node:fs';
import { type Environment, run, untilProcess } from '../../tests/support/child-process.ts';

/** A server under test, alone on its core. */
export type ServerProcess = Awaited<ReturnType<typeof startServer>>;

export interface Launch {
  readonly command: readonly string[];
  readonly environment: Environment;
  /** In its working directory. */
  readonly files?: Readonly<Record<string, string>> | undefined;
  readonly port: number;
  /** The first token makes some servers fetch their keys, and others still have none: neither belongs in a measurement. */
  readonly token: string;
}

/** Keeps this process, and what it starts from now on, on one core: load generators stay off the core of the servers. */
export function pinSelf(core: number): void {
  Bun.spawnSync(['taskset', '-acp', String(core), String(process.pid)]);
}

/** Starts a server on core 0, and waits until it accepts the token. */
export async function startServer({ command, environment, files, port, token }: Launch) {
  const settings = { PATH: process.env.PATH ?? '', NODE_ENV: 'production', ...environment };
  const child = run(['taskset', '-c', '0', ...command], settings, files);
  const url = `http://127.0.0.1:${port}`;
  const ask = () => fetch(`${url}/api/private`, { headers: { authorization: `Bearer ${token}` } });
  await untilProcess(
    child,
    async () => (await ask().catch(() => undefined))?.status === 200,
    `${command.join(' ')} accepts a token`,
  );
  const read = (name: string) => readFileSync(`/proc/${child.pid}/${name}`, 'utf8');
  return {
    url,
    /** User and system time since it started, in ticks of 10 ms: that of all its threads, including those that have ended. */
    cpuSeconds() {
      const [, , ...fields] = read('stat').split(/(?<=\)) | /);
      return (Number(fields[11]) + Number(fields[12])) / 100;
    },
    residentMebibytes: () => Number(/^VmRSS:\s+(\d+) kB/m.exec(read('status'))?.[1]) / 1024,
    async stop() {
      child.signal('SIGKILL');
      await child.finished;
    },
  };
}
