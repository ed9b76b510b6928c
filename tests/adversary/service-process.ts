import { readdirSync, readFileSync } from 'node:fs';
import { freePort, run, untilProcess } from '../support/child-process.ts';
import { sourceForm } from '../support/forms.ts';

/** The service in a process of its own, observed from outside. */
export type ServiceProcess = Awaited<ReturnType<typeof startServiceProcess>>;

/** Starts `bun run src/index.ts` on a free port of loopback, with no environment but this, and waits until it has keys. */
export async function startServiceProcess(environment: Readonly<Record<string, string>>) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const child = run(await sourceForm.command(), { HOST: '127.0.0.1', PORT: String(port), ...environment });
  const isReady = () =>
    fetch(`${origin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await untilProcess(child, isReady, 'the service is ready');
  return {
    port,
    origin,
    output: () => child.stdout() + child.stderr(),
    /** Resident memory in megabytes. */
    residentMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    /** Open descriptors, including connections. */
    descriptors: () => readdirSync(`/proc/${child.pid}/fd`).length,
    /** Stops it with SIGTERM, and returns the exit status. */
    async stop() {
      child.signal('SIGTERM');
      return (await child.finished).status;
    },
  };
}
