import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, until } from '../support/child-process.ts';

/** The service in a process of its own, observed from outside. */
export interface ServiceProcess {
  readonly port: number;
  readonly origin: string;
  /** All it wrote so far. */
  output(): string;
  /** Resident memory in megabytes. */
  residentMb(): number;
  /** Open descriptors, including connections. */
  descriptors(): number;
  isAlive(): boolean;
  stop(): Promise<number>;
}

const ENTRY = join(import.meta.dir, '../../src/index.ts');

/** Starts `bun run src/index.ts` on a free port of loopback, with no environment but this. */
export async function startServiceProcess(environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const child = Bun.spawn([process.execPath, 'run', ENTRY], {
    env: { HOST: '127.0.0.1', PORT: String(port), ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    void stream.pipeThrough(new TextDecoderStream()).pipeTo(
      new WritableStream({
        write(text) {
          output += text;
        },
      }),
    );
  }
  const isUp = () =>
    fetch(`${origin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isUp, `the service is ready: ${output}`);
  return {
    port,
    origin,
    output: () => output,
    residentMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    descriptors: () => readdirSync(`/proc/${child.pid}/fd`).length,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      child.kill('SIGTERM');
      return child.exited;
    },
  };
}
