import { expect, test } from 'bun:test';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { createGuard, optionsFromEnvironment } from '../../../src/auth/index.ts';
import { freePort, run, runToEnd, until } from '../../support/child-process.ts';

const command = [process.execPath, join(import.meta.dir, '../../../src/auth/command.ts'), 'issuer'];

/** Starts the issuer, and returns what it printed once it listens, and what it prints later. */
async function start(...flags: readonly string[]) {
  const port = await freePort();
  const child = run([...command, '--port', String(port), ...flags]);
  await until(() => child.stdout().includes('audience: '), 'the issuer to listen');
  const stop = async () => {
    child.signal('SIGTERM');
    await child.finished;
  };
  return { ...child, url: `http://localhost:${port}/`, [Symbol.asyncDispose]: stop };
}

/** Pastes what was printed into bash, and returns the values of these variables. */
async function paste(text: string, names: readonly string[]): Promise<readonly string[]> {
  const script = `${text}\nprintf '%s\\n' ${names.map((name) => `"$${name}"`).join(' ')}`;
  const { stdout, stderr } = await runToEnd(['bash', '-euc', script]);
  expect(stderr).toBe('');
  return stdout.split('\n').slice(0, -1);
}

test('protected-api issuer prints commands and settings that belong together, and a line for each token', async () => {
  await using issuer = await start();
  const printed = issuer.stdout();
  for (const line of printed.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  const [token, plain, ISSUER = '', AUDIENCE = ''] = await paste(printed, ['TOKEN', 'PLAIN', 'ISSUER', 'AUDIENCE']);
  expect([ISSUER, AUDIENCE]).toEqual([issuer.url, 'https://api.example.com']);
  expect(printed).toContain(`: issuer: '${ISSUER}', audience: '${AUDIENCE}'\n`);
  const guard = createGuard(optionsFromEnvironment({ ISSUER, AUDIENCE }));
  const statusOf = async (bearer = '') => {
    const headers = { authorization: `Bearer ${bearer}` };
    const result = await guard.check(new Request('http://x.test/', { headers }), { scope: 'read:messages' });
    return result instanceof Response ? result.status : 200;
  };
  expect([await statusOf(token), await statusOf(plain)]).toEqual([200, 403]);
  expect(issuer.stdout().slice(printed.length)).toBe('Token for reader: read:messages\nToken for visitor: no scope\n');
});

test('protected-api issuer grants the clients, the audience and the lifetime that it is given', async () => {
  const clients = ['--client', 'ci:read:a,write:$(exit)', '--client', 'a.b:x', '--client=none'];
  await using issuer = await start('--audience', 'api', '--lifetime', '30', ...clients);
  const tokens = await paste(issuer.stdout(), ['TOKEN', 'TOKEN_A_B', 'PLAIN']);
  const claims = tokens.map((token) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()));
  const granted = claims.map(({ client_id, scope, aud, iat, exp }) => `${client_id} ${scope} ${aud} ${exp - iat}`);
  expect(granted).toEqual(['ci read:a write:$(exit) api 30', 'a.b x api 30', 'none undefined api 30']);
});

test('protected-api issuer gives tokens to loopback hosts only, and survives any method and body', async () => {
  await using issuer = await start();
  const statusOf = async (path: string, request: RequestInit) => (await fetch(issuer.url + path, request)).status;
  expect(await statusOf('oauth/token', { method: 'POST', headers: { host: 'evil.example' } })).toBe(421);
  expect(await statusOf('oauth/token', { method: 'POST', body: 'a'.repeat(70_000) })).toBe(400);
  expect(await statusOf('oauth/token', { method: 'PATCH' })).toBe(405);
  expect(await statusOf('x', { method: 'PROPFIND' })).toBe(405);
  expect(await statusOf('.well-known/jwks.json', { headers: { host: 'evil.example' } })).toBe(200);
});

const prints = expect.stringMatching;
test.each<[flags: string, status: number, stdout: unknown, stderr: unknown]>([
  ['--help', 0, prints(/^Usage: protected-api issuer /), ''],
  ['--prot 1', 1, '', prints(/^Cannot read flags: Unknown option '--prot': see .*\n$/)],
  ['extra', 1, '', prints(/^Cannot read flags: .*: see .*\n$/)],
  ['--port 0', 1, '', prints(/^Cannot read flags: --port must be .*\n$/)],
  ['--lifetime 0', 1, '', prints(/^Cannot read flags: --lifetime must be .*\n$/)],
  ['--lifetime 86401', 1, '', prints(/^Cannot read flags: --lifetime must be .*\n$/)],
  ['--lifetime 1h', 1, '', prints(/^Cannot read flags: --lifetime must be .*\n$/)],
  ['--port http', 1, '', prints(/^Cannot read flags: --port must be .*\n$/)],
  [`--audience a'b`, 1, '', prints(/^Cannot read flags: --audience must be .*\n$/)],
  ['--client a$b', 1, '', prints(/^Cannot read flags: --client must be .*\n$/)],
  ['--client a:"', 1, '', prints(/^Cannot read flags: --client must be .*\n$/)],
  ['--client a --client a:x', 1, '', prints(/^Cannot create a development issuer: clients must be .*\n$/)],
])('protected-api issuer %s ends with %d and one text', async (flags, status, stdout, stderr) =>
  expect(await runToEnd([...command, ...flags.split(' ')])).toEqual({ status, stdout, stderr } as never),
);

test('protected-api issuer listens on both addresses of localhost', async () => {
  await using issuer = await start();
  const hasIpv6 = Object.values(networkInterfaces())
    .flat()
    .some((each) => each?.address === '::1');
  for (const host of ['127.0.0.1', ...(hasIpv6 ? ['[::1]'] : [])]) {
    const response = await fetch(`${issuer.url.replace('localhost', host)}.well-known/jwks.json`);
    expect(response.status, host).toBe(200);
    // The page Explain a token reads it.
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  }
});

test('protected-api issuer names a port that is taken', async () => {
  using server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const stderr = `Cannot listen on port ${server.port}: it is taken. Choose another with --port\n`;
  const ended = await runToEnd([...command, '--port', String(server.port)]);
  expect(ended).toEqual({ status: 1, stdout: '', stderr });
});
