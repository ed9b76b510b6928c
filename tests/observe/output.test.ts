import { describe, expect, test } from 'bun:test';
import { freePort, run, until } from '../support/child-process.ts';
import { executableForm, sourceForm, startService } from '../support/forms.ts';
import { readJsonLines } from '../support/recorded-log.ts';

await executableForm.command();

const settings = { ISSUER: 'http://127.0.0.1:9/', AUDIENCE: 'x' };

describe('the service whose output', () => {
  test.each([
    // A pipe holds 64 KiB.
    ['is a pipe without a reader', '> pipe', 0, []],
    ['is on a full disk', '> /dev/full', 250, []],
    ['is a pipe whose reader has gone', '> >(true)', 250, []],
    ['is closed', '>&-', 0, []],
    ['for the development issuer is on a full disk', '2> /dev/full', 0, ['--dev']],
    ['for the development issuer is a pipe whose reader has gone', '2> >(true)', 0, ['--dev']],
    ['for the development issuer is closed', '2>&-', 0, ['--dev']],
    ['and that for the development issuer is on a full disk', '> /dev/full 2>&1', 250, ['--dev']],
  ])(
    '%s keeps serving, counts dropped lines, and stops with 0 long before the time limit',
    async (_name, redirection, least, flags) => {
      const script = `mkfifo pipe; exec 3<>pipe; exec "$@" ${redirection}`;
      const command = ['bash', '-c', script, 'bash', ...(await executableForm.command()), ...flags];
      const METRICS_PORT = String(await freePort());
      const others = { LOG_LEVEL: 'debug', SHUTDOWN_TIMEOUT_SECONDS: '600', METRICS_PORT };
      const { origin, process } = await startService((given) => run(command, given), { ...settings, ...others });
      // Each writes a line of about 200 characters.
      for (let batch = 0; batch < 5; batch += 1) {
        const requests = Array.from({ length: 100 }, async () => (await fetch(`${origin}/api/public`)).status);
        expect(new Set(await Promise.all(requests))).toEqual(new Set([200]));
      }
      const dropped = async () => {
        const text = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text();
        return Number(/^protected_api_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
      };
      await until(async () => (await dropped()) >= least, 'lines that were counted as dropped');
      process.signal('SIGTERM');
      expect(await process.finished).toMatchObject({ status: 0, stderr: '' });
    },
  );
});

const thrown = "throw new Error('planted')";
const fatal = { level: 'fatal', msg: 'Fatal error', err: { message: 'planted' } };
test.each([
  ['an error that nothing catches is logged', thrown, '', 'error', [fatal], ''],
  ['a rejection that nothing handles is logged', "Promise.reject(new Error('planted'))", '', 'error', [fatal], ''],
  ['an error is not logged where nothing can be', thrown, '> /dev/full', 'error', [], ''],
  ['an error of a silent service is printed', thrown, '', 'silent', [], 'Fatal error: Error: planted\n'],
])('%s, and ends the process with 1', async (_name, mistake, redirection, LOG_LEVEL, lines, stderr) => {
  // As soon as the process handles errors.
  const plant = `const { on } = process;
process.on = (name, listener) => {
  if (name === 'unhandledRejection') setTimeout(() => { ${mistake} });
  return on.call(process, name, listener);
};`;
  const source = (await sourceForm.command()).toSpliced(2, 0, '--preload', './plant.ts');
  const command = ['bash', '-c', `exec "$@" ${redirection}`, 'bash', ...source];
  const { stdout, ...ended } = await run(command, { ...settings, PORT: '0', LOG_LEVEL }, { 'plant.ts': plant })
    .finished;
  expect(ended).toEqual({ status: 1, stderr });
  expect(stdout === '' ? [] : readJsonLines(stdout)).toMatchObject(lines);
});
