import { afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, type RunningProcess, run, until, untilItAnswers } from '../support/child-process.ts';
import { executableForm, sourceForm } from '../support/forms.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(30_000);
beforeAll(async () => void (await executableForm.command()), executableForm.startTimeoutMs);

let folder: string;
let pipe: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'protected-api-output-'));
  pipe = join(folder, 'pipe');
  Bun.spawnSync(['mkfifo', pipe]);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Starts the service at debug with its standard output redirected by `redirection`, a piece of bash. */
async function start(redirection: string, flags: readonly string[] = []) {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const origin = `http://127.0.0.1:${port}`;
  const script = `exec 3<>"$PIPE"; exec "$@" ${redirection}`;
  const child: RunningProcess = run(['bash', '-c', script, 'bash', ...(await executableForm.command()), ...flags], {
    ISSUER: `http://127.0.0.1:${await freePort()}/`,
    AUDIENCE: 'x',
    HOST: '127.0.0.1',
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    LOG_LEVEL: 'debug',
    SHUTDOWN_TIMEOUT_SECONDS: '600',
    PIPE: pipe,
  });
  await untilItAnswers(origin, child);
  return {
    child,
    /** Sends requests, each a line of some 200 characters, and returns how many were answered with 200. */
    async request(count: number): Promise<number> {
      let answered = 0;
      for (let sent = 0; sent < count; sent += 100) {
        const batch = Array.from({ length: 100 }, async () => (await fetch(`${origin}/api/public`)).status === 200);
        answered += (await Promise.all(batch)).filter(Boolean).length;
      }
      return answered;
    },
    async dropped(): Promise<number> {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      return Number(/^log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
    },
    async stop() {
      child.signal('SIGTERM');
      return child.finished;
    },
  };
}

describe('the service whose standard output', () => {
  for (const { name, redirection } of [
    { name: 'is on a full disk', redirection: '> /dev/full' },
    { name: 'is a pipe whose reader has gone', redirection: '> >(true)' },
  ]) {
    test(`${name} keeps serving, counts dropped lines and exits with 0`, async () => {
      const service = await start(redirection);
      expect(await service.request(500)).toBe(500);
      await until(async () => (await service.dropped()) >= 500, 'lines that were counted as dropped');
      expect(await service.stop()).toMatchObject({ status: 0, stderr: '' });
    });
  }

  test('is closed keeps serving and exits with 0', async () => {
    const service = await start('>&-');
    expect(await service.request(500)).toBe(500);
    expect(await service.stop()).toMatchObject({ status: 0, stderr: '' });
  });

  test('is a pipe without a reader keeps serving, and stops with 0 long before the time limit', async () => {
    const service = await start('> "$PIPE"');
    // A pipe holds 64 KiB.
    expect(await service.request(1000)).toBe(1000);
    expect(await service.stop()).toMatchObject({ status: 0, stderr: '' });
  });

  test('is a pipe that is read again says how many lines it lost, and loses none of the others', async () => {
    const service = await start('> "$PIPE"');
    let requests = 0;
    // Until the pipe, the write under way and the lines that wait for it are full.
    while ((await service.dropped()) === 0) requests += await service.request(1000);
    const reader = run(['cat', pipe], { PATH: process.env.PATH ?? '' });
    await until(() => reader.stdout().includes('Log lines were dropped'), 'the line of the loss');
    expect(await service.stop()).toMatchObject({ status: 0 });
    await until(() => reader.stdout().includes('"Stopped"'), 'the last line');
    reader.signal('SIGKILL');
    const lines = (await reader.finished).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const lost = lines.reduce((sum, { msg, lines }) => sum + (msg === 'Log lines were dropped' ? lines : 0), 0);
    expect(lost).toBeGreaterThan(0);
    expect(lines.filter(({ msg, route }) => msg === 'Request' && route === '/api/public').length).toBeWithin(
      requests - lost,
      requests + 1,
    );
  });

  test('is a pipe gets the last line before the process exits', async () => {
    const service = await start('');
    expect(await service.request(1000)).toBe(1000);
    const { stdout } = await service.stop();
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ route }) => route === '/api/public')).toHaveLength(1000);
    expect(lines.at(-1)).toMatchObject({ msg: 'Stopped' });
  });
});

describe('an error that is not handled', () => {
  for (const { name, redirection, lines } of [
    {
      name: 'is logged',
      redirection: '',
      lines: [{ level: 'fatal', msg: 'Fatal error', err: { message: 'planted' } }],
    },
    { name: 'is not logged where nothing can be', redirection: '> /dev/full', lines: [] },
  ]) {
    test(`${name}, and ends the process with 1`, async () => {
      const [bun, runIt, file] = await sourceForm.command();
      const command = [bun, runIt, '--preload', './plant.ts', file].filter((part) => part !== undefined);
      // As soon as the process handles errors.
      const planted = `const { on } = process;
process.on = (name, listener) => {
  if (name === 'SIGTERM') setTimeout(() => { throw new Error('planted'); });
  return on.call(process, name, listener);
};`;
      const settings = {
        ISSUER: `http://127.0.0.1:${await freePort()}/`,
        AUDIENCE: 'x',
        PORT: '0',
        LOG_LEVEL: 'error',
      };
      const script = ['bash', '-c', `exec "$@" ${redirection}`, 'bash', ...command];
      const { status, stdout, stderr } = await run(script, settings, { 'plant.ts': planted }).finished;
      expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
      const logged = stdout.split('\n').filter(Boolean);
      expect(logged.map((line) => JSON.parse(line))).toMatchObject(lines);
    });
  }
});

describe('a service with the embedded issuer', () => {
  for (const redirection of ['2> /dev/full', '2> >(true)', '2>&-', '> /dev/full 2>&1']) {
    test(`keeps serving with ${redirection}, although its output is lost`, async () => {
      const service = await start(redirection, ['--dev']);
      expect(await service.request(100)).toBe(100);
      expect(await service.stop()).toMatchObject({ status: 0, stderr: '' });
    });
  }
});
