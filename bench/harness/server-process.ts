import { readFileSync } from 'node:fs';
import { freePort, run, untilProcess } from '../../tests/support/child-process.ts';
import type { Contestant, Context } from './contestants.ts';
import { audience, issuer } from './tokens.ts';

/** A server under test, alone on its core. */
export type ServerProcess = Awaited<ReturnType<typeof startContestant>>;

/**
 * Keeps this process, and what it starts from now on, on one core: load generators stay off the core of the servers.
 */
export function pinSelf(core: number): void {
  Bun.spawnSync(['taskset', '-acp', String(core), String(process.pid)]);
}

/** Starts a contestant on core 0, and waits until it accepts a token: it holds its keys when it is measured. */
export async function startContestant(contestant: Contestant, { tokens, jwksUri, responses }: Context) {
  const { name, command, settings, files } = contestant;
  const port = await freePort();
  const environment = {
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: String(port),
    ISSUER: issuer,
    AUDIENCE: audience,
    JWKS_URI: jwksUri,
    ...(responses && { RESPONSES: JSON.stringify(responses) }),
    ...settings,
  };
  const written = responses && files?.(port, tokens.publicKeyFile, responses);
  const child = run(['taskset', '-c', '0', ...command], environment, written);
  const url = `http://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${tokens.first}` };
  const isReady = async () => (await fetch(`${url}/api/private`, { headers }).catch(() => undefined))?.status === 200;
  await untilProcess(child, isReady, `${name} accepts a token`);
  const read = (name: string) => readFileSync(`/proc/${child.pid}/${name}`, 'utf8');
  return {
    contestant,
    url,
    /**
     * User and system time since it started, in ticks of 10 ms: that of all its threads, including those that have
     * ended.
     */
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
