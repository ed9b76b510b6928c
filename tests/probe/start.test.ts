import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { probeCommand as command, freePort, runToEnd } from '../support/child-process.ts';

const server = join(import.meta.dir, 'servers/started.mjs');

/** Runs the command with an API that it starts, and returns what is in the files that it wrote, too. */
async function started(
  flags: readonly string[],
  { isLax = false, start = `exec "${process.execPath}" "${server}"` } = {},
) {
  const port = String(await freePort());
  const args = [...command, `http://127.0.0.1:${port}/x`, '--start', start, ...flags];
  const script = `"$@"; echo "status $?"; cat report.xml report.sarif known.txt 2>/dev/null`;
  const environment = { PORT: port, CLIENT_SECRET: 'hunter2', ...(isLax && { IS_LAX: '1' }) };
  const { stdout, stderr } = await runToEnd(['/bin/sh', '-c', script, 'sh', ...args], environment);
  const [report = '', , status, files = ''] = stdout.split(/(status (\d)\n)/);
  const isFree = await fetch(`http://127.0.0.1:${port}/`).then(
    () => false,
    () => true,
  );
  return { report, status: Number(status), files, stderr, isFree };
}

describe('--start', () => {
  test('starts an API that trusts the issuer with TLS, whose authority the API trusts, and ends it', async () => {
    const { report, status, stderr, isFree } = await started(['--tls', '--only', 'audience', '--only', 'signature']);
    expect({ report, status, stderr }).toMatchObject({ status: 0, stderr: '' });
    expect(report).toMatch(/\n2\d passed, 0 failed/);
    expect(isFree).toBe(true);
  });

  test('gives the API a file with the public key and no secret of a client; removes the file, and ends what the shell has started', async () => {
    const start = `head -1 "$PUBLIC_KEY_FILE" && echo "file $PUBLIC_KEY_FILE secret $CLIENT_SECRET." && "${process.execPath}" "${server}" & wait`;
    const { stderr, status, isFree } = await started(['--only', 'audience-other'], { start });
    expect(stderr).toStartWith('-----BEGIN PUBLIC KEY-----\n');
    const [, file = '', secret] = /file (\S+) secret (.*)\./.exec(stderr) ?? [];
    expect([status, isFree, secret, existsSync(file)]).toEqual([0, true, '', false]);
  });

  test('says how the command has ended if it ends before it listens', async () => {
    const { status, stderr, report } = await started([], { start: 'exit 7' });
    expect({ status, stderr, report }).toEqual({
      status: 2,
      stderr: 'Cannot probe: the command of --start has ended with exit status 7\n',
      report: '',
    });
  });
});

test('--write-known, --junit and --sarif have the faults of one run, and --known reads the first', async () => {
  const only = ['--only', 'audience-other', '--only', 'audience-mixed', '--only', 'expiry-past'];
  const flags = ['--junit', 'report.xml', '--sarif', 'report.sarif', '--write-known', 'known.txt', ...only];
  const found = await started(flags, { isLax: true });
  expect([found.status, found.isFree]).toEqual([0, true]);
  expect(found.report).toContain('1 lets in what must be rejected');
  const [, junit = '', sarif = '', known = ''] =
    /^([\s\S]*<\/testsuites>\n)(\{[\s\S]*\n\}\n)([\s\S]*)$/.exec(found.files) ?? [];
  expect(junit).toContain('<testcase classname="GET http://127.0.0.1:');
  const lines = known.trim().split('\n');
  expect(lines).toEqual([
    expect.stringMatching(/^audience-other {2}found on \d{4}-\d\d-\d\d: 200/),
    expect.stringMatching(/^audience-mixed {2}/),
  ]);
  const { version, runs } = JSON.parse(sarif) as {
    version: string;
    runs: { tool: { driver: { rules: { id: string }[] } }; results: { ruleId: string; level: string }[] }[];
  };
  expect([version, runs[0]?.tool.driver.rules.map(({ id }) => id)]).toEqual([
    '2.1.0',
    ['audience-other', 'audience-mixed'],
  ]);
  expect(runs[0]?.results.map(({ ruleId, level }) => [ruleId, level])).toEqual([
    ['audience-other', 'error'],
    ['audience-mixed', 'warning'],
  ]);
  const file = join(import.meta.dir, '../../node_modules/.cache/known-of-probe.txt');
  await Bun.write(file, known);
  const again = await started(['--known', file, ...only], { isLax: true });
  expect(again).toMatchObject({ status: 0, report: expect.stringContaining('2 known') });
  expect(readFileSync(file, 'utf8')).toBe(known);
});
