import { describe, expect, test } from 'bun:test';
import packageJson from '../../package.json' with { type: 'json' };
import { findFault } from '../../src/cli.ts';
import { type Environment, runToEnd } from '../support/child-process.ts';
import { serve } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, mintToken } from '../support/mint.ts';

const FLAGS = ['--dev', '--explain', '--healthcheck', '--help', '--version'];

const command = await executableForm.command();
const runWith = (flags: readonly string[], environment?: Environment) => runToEnd([...command, ...flags], environment);

test.each(['--help', '-h'])('%s names every flag within 80 columns, with any settings', async (flag) => {
  const { status, stdout, stderr } = await runWith([flag], { PORT: 'nonsense', NODE_ENV: 'production' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  for (const flag of FLAGS) expect(stdout).toContain(flag);
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});

test.each([sourceForm, executableForm])('--version of $name prints the version of the package', async (form) => {
  const finished = await runToEnd([...(await form.command()), '--version']);
  expect(finished).toEqual({ status: 0, stdout: `${packageJson.version}\n`, stderr: '' });
});

const token = mintToken('https://issuer.example.test/');
test.each([
  ...['--nope', '-x', '--dev=yes', '--port=3011', 'serve', '-hx', '--'].map((word) => [word, '--dev', word] as const),
  ['a token', '--explain', token],
])('rejects %s behind a flag in one line that names it, but not all of a token', async (_name, flag, word) => {
  const named = word === token ? `${token.slice(0, 16)}...` : word;
  const stderr = `Cannot read flags: "${named}" is not a flag: see --help\n`;
  expect(await runWith([flag, word])).toEqual({ status: 1, stdout: '', stderr });
});

test('--explain reads a token from standard input, exits with 0 if it would get a 200, scope included, and does not listen', async () => {
  await using issuer = await startIssuer();
  await using taken = serve(() => new Response());
  const environment = { ISSUER: issuer.url, AUDIENCE, HOST: '127.0.0.1', PORT: String(taken.port) };
  for (const [claims, status, last] of [
    [{}, 0, '200: Token is accepted'],
    [{ scope: '' }, 1, 'Routes that require only a token return 200'],
    [{ exp: 1 }, 1, 'days ago: the client must request a new token'],
  ] as const) {
    const token = mintToken(issuer.url, { claims });
    const script = ['/bin/sh', '-c', 'echo "$INPUT" | exec "$@" --explain', 'sh', ...command];
    const input = { INPUT: ` Authorization: Bearer ${token}` };
    const { stdout, ...ended } = await runToEnd(script, { ...environment, ...input });
    expect(ended).toEqual({ status, stderr: '' });
    expect(stdout).toEndWith(`${last}\n`);
    expect(stdout).not.toContain(token.slice(-20));
  }
});

test('--explain says in one line that it got no token', async () => {
  const ended = await runWith(['--explain'], { ISSUER: 'http://127.0.0.1:9/', AUDIENCE });
  expect(ended).toEqual({ status: 1, stdout: '', stderr: 'Cannot explain a token: standard input is empty\n' });
});

test('--healthcheck exits with 0 while an instance responds on PORT, with any other settings, and otherwise with 1 and the reason', async () => {
  const service = await executableForm.start({}, ['--dev']);
  const settings = { PORT: String(service.port), NODE_ENV: 'production', ISSUER: 'nonsense', METRICS_PORT: 'nonsense' };
  expect(await runWith(['--healthcheck'], settings)).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(await service.close()).toBe(0);
  const expected = 'a whole number from 0 to 65535';
  for (const [PORT, stderr] of [
    [settings.PORT, `Not live: http://127.0.0.1:${settings.PORT}/livez cannot be reached: ECONNREFUSED\n`],
    ['nonsense', `Cannot read settings:\n  PORT must be ${expected}, got "nonsense"\n`],
  ] as const)
    expect(await runWith(['--healthcheck'], { PORT })).toEqual({ status: 1, stdout: '', stderr });
});

describe('findFault()', () => {
  test.each([
    [undefined, '200', () => new Response()],
    ['returned the status 500', '500', () => new Response(null, { status: 500 })],
    ['returned the status 404', '404', () => new Response(null, { status: 404 })],
    [
      'returned the status 302',
      'a redirect to a 200',
      () => new Response(null, { status: 302, headers: { location: '/' } }),
    ],
  ] as const)('is %s when /livez returns %s', async (fault, _name, respond) => {
    const fetch = ({ url }: Request) => (url.endsWith('/livez') ? respond() : new Response());
    await using server = serve(fetch);
    const expected = fault && `Not live: http://127.0.0.1:${server.port}/livez ${fault}`;
    // It listens on IPv4 only, as a listener on `::` does where IPv6 is off.
    for (const host of ['127.0.0.1', '0.0.0.0', ...(fault ? [] : ['::'])])
      expect(await findFault(host, server.port ?? 0)).toBe(expected);
  });

  test('names the URL, also of a port at which nothing can listen', async () =>
    expect(await findFault('::1', 0)).toMatch(/^Not live: http:\/\/\[::1\]:0\/livez cannot be reached: \w+$/));
});

test('the executable ignores .env and bunfig.toml of the folder it is started in', async () => {
  const files = {
    '.env': 'ISSUER=https://planted.example.test/\nAUDIENCE=planted\n',
    'bunfig.toml': 'preload = ["./preload.ts"]\n',
    'preload.ts': 'process.stdout.write("planted"); process.exit(0);\n',
  };
  const { status, stdout, stderr } = await runToEnd(command, { NODE_ENV: 'production', PORT: '0' }, files);
  expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: '' });
  expect(stderr).not.toContain('planted');
});
