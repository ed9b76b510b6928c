import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import packageJson from '../../package.json' with { type: 'json' };
import { type Environment, freePort, run, runToEnd, until } from '../support/child-process.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { readJsonLines } from '../support/recorded-log.ts';
import { readText } from '../support/repository.ts';

const command = await executableForm.command();
const wrong = { ISSUER: 'x', AUDIENCE: '', PORT: '65536', PUBLIC_URL: 'https://somebody:hunter2@x/' };
const good = { ISSUER: 'http://127.0.0.1:9/', AUDIENCE: 'x', HOST: '127.0.0.1', PORT: '0' };

// It would share its port, which reveals a service that shares its own port unasked.
const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, reusePort: true, fetch: () => new Response() });
afterAll(() => taken.stop(true));

const none = { NODE_ENV: 'production', ISSUER: '', AUDIENCE: '' };
const help = '  To run with a development issuer, start with --dev';
const elsewhere = (name: string, host = '203.0.113.1') =>
  `Cannot listen on ${host}:0: the address does not belong to this machine. Change ${name}`;
const inUse = (name: string) =>
  `Cannot listen on 127.0.0.1:${taken.port}: the port is in use. Set ${name} to another port`;
const mustBe = (...names: readonly string[]) => [
  'Cannot read settings:',
  ...names.map((name): string =>
    expect.stringMatching(new RegExp(`^ {2}${name} (?:must (?:be|begin)|is required:) (?!.*hunter2)`)),
  ),
];

describe('a process ends with 1 and says only what is wrong', () => {
  test.each<[name: string, settings: Environment, flags: string[], lines: string[]]>([
    ['a port in use', { PORT: String(taken.port) }, [], [inUse('PORT')]],
    ['a metrics port in use', { METRICS_PORT: String(taken.port) }, ['--dev'], [inUse('METRICS_PORT')]],
    ['an address of another machine', { HOST: '203.0.113.1' }, [], [elsewhere('HOST')]],
    ['another for metrics', { METRICS_PORT: '0', METRICS_HOST: '203.0.113.1' }, [], [elsewhere('METRICS_HOST')]],
    // An empty label, so no name server is queried.
    [
      'an unknown host',
      { HOST: 'no..such' },
      [],
      ['Cannot listen on no..such:0: the host name cannot be resolved. Change HOST'],
    ],
    ['wrong settings, all at once', wrong, [], mustBe('ISSUER', 'AUDIENCE', 'PUBLIC_URL', 'PORT')],
    ['no issuer in production', none, [], [...mustBe('ISSUER', 'AUDIENCE'), help]],
    ['a wrong store, and no log', { LOG_LEVEL: 'silent', REDIS_URL: 'redis://:hun/ter2@h' }, [], mustBe('REDIS_URL')],
    ['no check of certificates', { NODE_TLS_REJECT_UNAUTHORIZED: '0' }, [], mustBe('NODE_TLS_REJECT_UNAUTHORIZED')],
    ['an IPv6 address of another machine', { HOST: '2001:db8::1' }, [], [elsewhere('HOST', '[2001:db8::1]')]],
    ['wrong settings to explain by', { ISSUER: 'x' }, ['--explain'], mustBe('ISSUER')],
  ])('with %s', async (_name, settings, flags, lines) => {
    const { stderr, ...ended } = await runToEnd([...command, ...flags], { ...good, ...settings });
    expect(ended).toEqual({ status: 1, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toEqual(lines);
  });

  const port = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8')) - 1;
  test.skipIf(port < 0)('without the right to its port', async () => {
    const unprivileged = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-net_bind_service'] : [];
    const settings = { ...good, PORT: String(port), PATH: process.env.PATH ?? '' };
    const stderr = `Cannot listen on 127.0.0.1:${port}: permission denied. Set PORT to 1024 or higher\n`;
    expect(await runToEnd([...unprivileged, ...command], settings)).toMatchObject({ status: 1, stderr });
  });
});

test.each([
  ['npm alone', 'npx', `--yes ${packageJson.packageManager} run src/index.ts`],
  ['Bun', 'bun', 'run src/index.ts'],
])('npm start works with %s', async (_name, command, words) => {
  const script = `${command}() { echo "$@"; }; ${packageJson.scripts.start}`;
  expect(await runToEnd(['/bin/sh', '-c', script], { PATH: '/nowhere' })).toMatchObject({ stdout: `${words}\n` });
});

test('with REUSE_PORT two instances share a port, and kill -9 of one leaves the other serving', async () => {
  const PORT = String(await freePort());
  const start = async () => {
    const service = await executableForm.start({ ...good, PORT, REUSE_PORT: 'true' });
    await until(() => service.output().includes('"Listening"'), 'this one to listen');
    return service;
  };
  const [killed, left] = [await start(), await start()];
  killed.process.signal('SIGKILL');
  await killed.process.finished;
  const request = async () => (await killed.fetch('/api/public')).status;
  expect(new Set(await Promise.all(Array.from({ length: 100 }, request)))).toEqual(new Set([200]));
  expect(await left.close()).toBe(0);
});

test('with --dev a process listens only on 127.0.0.1, and responds to bodies over 64 KiB with an empty 413', async () => {
  const { port, fetch: send, output, close } = await executableForm.start({ HOST: '' }, ['--dev']);
  await expect(fetch(`http://127.0.0.2:${port}/livez`)).rejects.toThrow();
  const post = async (path: string, body: string | ReadableStream) => {
    const response = await send(path, { method: 'POST', body, duplex: 'half' } as RequestInit);
    return [response.status, await response.text()];
  };
  const [fitting, tooLong] = ['x'.repeat(64 * 1024), 'x'.repeat(64 * 1024 + 1)];
  expect(await post('/oauth/token', fitting)).toEqual([400, expect.stringContaining('invalid_request')]);
  expect(await post('/oauth/token', tooLong)).toEqual([413, '']);
  expect(await post('/oauth/token', new Blob([tooLong]).stream())).toEqual([413, '']);
  expect(await post('/api/private', tooLong)).toEqual([413, '']);
  expect(output()).not.toContain('Cannot respond to a request');
  expect(await close()).toBe(0);
});

test.each([
  ['75 seconds, longer than by the proxies in deploy/', {}, 75],
  ['as long as IDLE_TIMEOUT_SECONDS says', { IDLE_TIMEOUT_SECONDS: '255' }, 255],
])('an idle connection is kept for %s', async (_name, settings, seconds) => {
  // Checked where it is passed to Bun, because waiting for it takes longer than the suite.
  const spy = 'Bun.serve = ({ idleTimeout }) => { console.log(idleTimeout); process.exit(); };';
  const [bun = '', runIt = '', file = ''] = await sourceForm.command();
  const command = [bun, runIt, '--preload', './spy.ts', file];
  const { stdout } = await runToEnd(command, { ...good, ...settings }, { 'spy.ts': spy });
  expect(Number(stdout)).toBe(seconds);
  const deployed = (await readText('deploy/nginx/protected-api.conf.template')) + (await readText('deploy/README.md'));
  const kept = [...deployed.matchAll(/keepalive_timeout (\d+)s|idle(?:_t|T)imeout: (\d+)s/g)].map((found) =>
    Number(found[1] ?? found[2]),
  );
  expect(kept.length).toBeGreaterThan(2);
  expect(kept.filter((proxySeconds) => proxySeconds > seconds - 10)).toEqual([]);
});

test.each([
  ['in .env is warned of', {}, ['NODE_EXTRA_CA_CERTS']],
  ['in the environment is not', { NODE_EXTRA_CA_CERTS: '/dev/null' }, []],
])('a certificate authority that is named %s', async (_name, environment, warned) => {
  const child = run(await sourceForm.command(), { ...good, ...environment }, { '.env': 'NODE_EXTRA_CA_CERTS=a.pem\n' });
  await until(() => child.stdout().includes('"Listening"'), 'a service that listens');
  child.signal('SIGTERM');
  const lines = readJsonLines((await child.finished).stdout);
  expect(lines.flatMap(({ level, settings }) => (level === 'warn' && settings) || [])).toEqual(warned);
});
