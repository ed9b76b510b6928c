import { describe, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { $ } from 'bun';
import { createGuard, type GuardOptions } from '../../src/auth/index.ts';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { optionsOfFlags, readFlags } from '../../src/probe/command/flags.ts';
import { runProbe } from '../../src/probe/run/probe.ts';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import {
  probeCommand as command,
  type Environment,
  freePort,
  run,
  runToEnd,
  untilProcess,
} from '../support/child-process.ts';
import { serve } from '../support/fixture.ts';
import { AUDIENCE } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { listen } from '../support/raw-http.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const scope = 'read:messages';
const bare = { 'www-authenticate': 'Bearer' };

/** Serves an API on loopback, and remembers who asked. `dead` becomes its response after so many requests. */
function api(options: (origin: string) => Partial<GuardOptions>, deadAfter = Number.POSITIVE_INFINITY) {
  const agents: string[] = [];
  const server = serve(async (request) => {
    agents.push(request.headers.get('user-agent') ?? '');
    if (agents.length > deadAfter) return new Response('bad gateway', { status: 502 });
    const result = guard.metadata(request) ?? (await guard.check(request, { scope }));
    return result instanceof Response ? result : Response.json({ hello: result.claims.sub });
  });
  const origin = server.url.origin;
  const guard = createGuard({
    issuer: 'https://issuer.invalid/',
    audience: origin,
    onKeySetEvent() {},
    ...options(origin),
  });
  return { url: `${origin}/messages`, agents, [Symbol.asyncDispose]: () => server.stop(true) };
}

const probeWith = (args: readonly string[], input = '', environment: Environment = {}, files = {}) =>
  runToEnd(
    ['/bin/sh', '-c', 'printf %s "$INPUT" | exec "$@"', 'sh', ...command, ...args],
    { INPUT: input, ...environment },
    files,
  );

/** Runs the command with each of these arguments in one process, and returns what each printed, its status last. */
async function probeInTurn(lists: readonly (readonly string[])[], environment: Environment = {}) {
  const turns = command.with(-1, join(import.meta.dir, 'servers/in-turn.ts'));
  const { stdout, stderr } = await runToEnd([...turns, JSON.stringify(lists)], environment);
  const [shown = [], said = []] = [stdout, stderr].map((text) => text.split(/(?<=^status \d\n)/m));
  return lists.map((_, index) => ({ stdout: shown[index], stderr: said[index] }));
}

describe('protected-api-probe', () => {
  test('starts an issuer, and tries an API that trusts it, keys and outages included', async () => {
    const port = await freePort();
    await using target = api(() => ({ issuer: `http://127.0.0.1:${port}/` }));
    // By day, the other rows are tried in this process only.
    const only = isNight ? [] : 'control audience signature kid fetch'.split(' ').flatMap((id) => ['--only', id]);
    const found = await probeWith([target.url, '--scope', scope, '--serve-issuer', String(port), ...only]);
    expect(found.stderr).toContain(`ISSUER=http://127.0.0.1:${port}/ AUDIENCE=${new URL(target.url).origin}`);
    expect(found).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        isNight ? /\n[23]\d\d passed, 0 failed, \d warnings?,/ : /\n\d\d passed, 0 failed, 0 warnings/,
      ),
    });
    expect(target.agents).toContain('protected-api-probe (row audience-other)');
  });

  test.each([
    ['the resource of its metadata', '/messages', '/messages'],
    ['its origin, if the resource could be a command', '/$(reboot)', ''],
  ])('gives tokens of its issuer the audience of an API that runs: %s', async (_, resource, path) => {
    const issuer = `http://127.0.0.1:${await freePort()}/`;
    const server = serve(async (request) => {
      if (request.url.includes('/.well-known/')) return Response.json({ resource: server.url.origin + resource });
      const result = await guard.check(request);
      return result instanceof Response ? result : new Response();
    });
    const { origin } = server.url;
    const guard = createGuard({ issuer, audience: origin + path, onKeySetEvent() {} });
    const { port } = new URL(issuer);
    const found = await probeWith([`${origin}/messages`, '--serve-issuer', port, '--only', 'control']);
    expect(found.stderr).toContain(` AUDIENCE=${origin}${path} JWKS_URI`);
    expect(found.status).toBe(0);
    await server.stop(true);
  });

  test('takes a token from standard input and shows it nowhere; the file of known deviations and others from files', async () => {
    const issuer = await createTestIssuer();
    await using target = api(() => ({ ...issuer.options }));
    const token = await issuer.token({ scope });
    const expired = await issuer.token({ scope }, { expired: true });
    const args = [
      target.url,
      '--token',
      'expired=expired.txt',
      '--known',
      'known.txt',
      '--json',
      '--junit',
      'report.xml',
      ...'given altered elsewhere credentials'.split(' ').flatMap((id) => ['--only', id]),
      '--skip',
      'credentials',
    ];
    const files = { 'expired.txt': expired, 'known.txt': '# deviations\nelsewhere-query  we know\n' };
    const script = `printf %s "$INPUT" | "$@"; echo "status $?"; cat report.xml`;
    const { stdout, stderr } = await runToEnd(
      ['/bin/sh', '-c', script, 'sh', ...command, ...args],
      { INPUT: `Bearer ${token}\n` },
      files,
    );
    const [json = '', junit = ''] = stdout.split('status 1\n');
    const { rows, isComplete } = JSON.parse(json) as { rows: { id: string; verdict: string }[]; isComplete: boolean };
    const verdicts = Object.fromEntries(rows.map(({ id, verdict }) => [id, verdict]));
    expect(verdicts).toMatchObject({
      control: 'passed',
      'given-expired': 'passed',
      'altered-alg-none': 'passed',
      'elsewhere-query': 'failed',
    });
    expect([isComplete, verdicts['credentials-alone']]).toEqual([true, undefined]);
    expect(junit).toMatch(
      /tests="\d+" failures="1" errors="0" skipped="\d+">[\s\S]+<failure message="failed: 401 Bearer: it passes again, /,
    );
    expect(stdout + stderr).not.toContain(token.split('.')[2]);
  });

  test('gets a token of oidc-provider with the metadata of the API and of its issuer', async () => {
    const server = await startAuthorizationServer([AUDIENCE, 'RS256', scope]);
    await using target = api((origin) => ({ issuer: server.issuer, audience: origin, publicUrl: origin }));
    const { id, secret } = server.clients.reader;
    const args = [target.url, '--client-id', id, '--issuer', server.issuer];
    const flags = ['--scope', scope, '--only', 'altered', '--only', 'hmac', '--only', 'scope'];
    const found = await probeWith([...args, ...flags], '', { CLIENT_SECRET: secret });
    expect(found).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/\n[2-9]\d passed, 0 failed/) });
    const wrong = await probeWith(args, '', { CLIENT_SECRET: 'loud' });
    const stderr = 'Cannot get a token: the token endpoint responded with 401 invalid_client\n';
    expect(wrong).toEqual({ status: 2, stdout: '', stderr });
    const near = await probeWith([...args, '--issuer', `${server.issuer}/`], '', { CLIENT_SECRET: secret });
    expect(near.stderr).toMatch(/^Cannot get a token: \S+ names the issuer \S+, for --issuer \S+\n$/);
    await server.close();
  });

  test('exits with 3 if the API falls over', async () => {
    const issuer = await createTestIssuer();
    await using fallen = api(() => issuer.options, 20);
    expect(await probeWith([fallen.url], await issuer.token({ scope }))).toMatchObject({
      status: 3,
      stdout: expect.stringContaining('\nThe run is incomplete'),
    });
  });

  test.each([
    ['tries rows', [], 8],
    ['waits for the API to trust its issuer', ['--serve-issuer', '0'], 4],
  ])('reports what it has when it is interrupted while it %s', async (_, flags, requests) => {
    let asked = 0;
    const server = serve(async () => {
      asked += 1;
      await Bun.sleep(50);
      return new Response(null, { status: 401, headers: bare });
    });
    const child = run([...command, server.url.href, ...flags]);
    await untilProcess(child, () => asked > requests, 'it has sent some requests');
    child.signal('SIGINT');
    const { status, stdout } = await child.finished;
    expect(status).toBe(3);
    expect(stdout).toContain('The run was interrupted');
    expect(stdout).toContain('\nThe run is incomplete');
    await server.stop(true);
  });

  test('sends to another machine through the proxy, follows no redirect, and stops after five server errors', async () => {
    const hosts: string[] = [];
    const proxy = serve((request) => {
      hosts.push(new URL(request.url).host);
      const headers = { location: 'http://other.example.test/' };
      return new Response(null, { status: hosts.length > 2 ? 502 : 401, headers });
    });
    const found = await probeWith(['http://api.example.test/x'], '', { HTTP_PROXY: proxy.url.href });
    expect(found).toMatchObject({ status: 3, stdout: expect.stringContaining('5 server errors') });
    expect(hosts).toEqual(Array(7).fill('api.example.test'));
    await proxy.stop(true);
  });

  test('exits with a status that depends on its flags', async () => {
    const rows: readonly [flags: string, status: number, stdout: RegExp][] = [
      ['--only challenge-status-no-token', 0, /\n2 passed, 0 failed, 1 warnings/],
      ['--only challenge-status-no-token --fail-on should', 1, /\n2 passed, 0 failed, 1 warnings/],
      ['--only challenge-status-no-token --header X-Key:a', 0, /\n3 passed, 0 failed, 0 warnings/],
      ['--only metadata-present --profile mcp', 1, /\nfailed +metadata-present /],
      ['--only error-huge', 3, /\nskipped +1: A header over 8 KiB: --intrusive/],
      ['--only error-huge --intrusive', 0, /\n3 passed, 0 failed/],
    ];
    const server = serve(({ headers }) => new Response(null, { status: headers.get('x-key') === 'a' ? 401 : 403 }));
    const lists = rows.map(([flags]) => ['http://api.example.test/x', ...flags.split(' ')]);
    const found = await probeInTurn(lists, { HTTP_PROXY: server.url.href });
    for (const [index, [flags, status, stdout]] of rows.entries()) {
      const shown = expect.stringMatching(new RegExp(`${stdout.source}[\\s\\S]*\\nstatus ${status}\\n$`));
      expect({ flags, ...found[index] }).toEqual({ flags, stdout: shown, stderr: `status ${status}\n` });
    }
    await server.stop(true);
  });

  test('reaches https through the proxy, and trusts the authority of NODE_EXTRA_CA_CERTS', async () => {
    const folder = temporaryFolder();
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(folder, name)) as [string, string];
    const about = ['-subj', '/CN=api.example.test', '-addext', 'subjectAltName=DNS:api.example.test'];
    await $`openssl req -x509 -newkey rsa:2048 -nodes -keyout ${key} -out ${cert} ${about}`.quiet();
    const tls = { key: Bun.file(key), cert: Bun.file(cert) };
    const target = Bun.serve({ port: 0, tls, fetch: () => new Response(null, { status: 401, headers: bare }) });
    const proxy = createServer().on('connect', (_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(connect(Number(target.port), 'localhost')).pipe(socket);
    });
    const HTTPS_PROXY = `http://127.0.0.1:${await listen(proxy)}`;
    const args = ['https://api.example.test/x', '--only', 'challenge-present'];
    const trusting = { HTTPS_PROXY, NODE_EXTRA_CA_CERTS: cert };
    expect(await probeWith(args, '', trusting)).toMatchObject({ status: 0, stderr: '' });
    const { status, stdout } = await probeWith(args, '', { HTTPS_PROXY });
    expect([status, stdout]).toEqual([3, expect.stringMatching(/no response: self.signed certificate/)]);
    proxy.close();
    await target.stop(true);
  });

  test('lists what it would send, and tries the operations of a document', async () => {
    const dry = await probeWith(['http://api.example.test/x', '--dry-run']);
    expect(String(dry.stdout)).not.toContain('audience-other');
    const limit = /^Depth: standard, \d+ of \d+ rows, at most 900 requests in all to other machines\n/;
    expect(String(dry.stdout)).toMatch(limit);
    expect([dry.status, dry.stdout]).toEqual([
      0,
      expect.stringMatching(/\nTarget: GET \S+x\n[\s\S]*\nnone-empty-signature, 1 request: a token/),
    ]);
    const paths = { '/messages': { get: { security: [{ bearer: [scope] }] } }, '/health': { get: {} } };
    const server = serve(({ url }) =>
      url.endsWith('/openapi.json') ? Response.json({ paths }) : new Response(null, { status: 401, headers: bare }),
    );
    const found = await probeWith(['--openapi', `${server.url}openapi.json`]);
    expect(found).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/Target: GET \S+\/messages\n[\s\S]*not tried +GET \/health is public/),
    });
    await server.stop(true);
  });

  test('ends with one line and exit status 2 if it cannot begin', async () => {
    const rows: readonly [args: readonly string[], line: string][] = [
      [['http://x.test', '--eyJhbGciOiJSUzI1NiJ9.e30.AA'], 'Cannot read flags: see'],
      [['http://127.0.0.1:1', '--junit', 'none/x.xml'], 'Cannot write the file that --junit'],
      [['http://x.test', '--serve-issuer', 'x'], 'Cannot read flags: --serve-issuer must be a port'],
      [['http://x.test', '--client-id', 'ci', '--issuer', 'https://x.test'], 'Cannot get a token: set CLIENT_SECRET'],
    ];
    const found = await probeInTurn(rows.map(([args]) => args));
    for (const [index, [, line]] of rows.entries()) {
      const stderr = expect.stringMatching(/^.+\nstatus 2\n$/);
      expect(found[index]).toEqual({ stdout: 'status 2\n', stderr });
      expect(found[index]?.stderr).toStartWith(line);
    }
  });

  test.each<[what: string, args: string[], line: string]>([
    ['no URL', [], 'Cannot probe: targets must name'],
    ['no http URL', ['api.example.com'], 'Cannot read flags: a target must be'],
    [
      'an unknown flag',
      ['http://x.test', '--scop'],
      'Cannot read flags: --scop is no flag, or its value is missing; see',
    ],
    ['a flag without its value', ['http://x.test', '--scope'], 'Cannot read flags: --scope is no flag, or its value'],
    ['an issuer without its client', ['http://x.test', '--issuer', 'https://x.test'], 'Cannot read flags: --issuer is'],
    [
      'two issuers',
      ['http://x.test', '--serve-issuer', '0', '--client-id', 'ci', '--issuer', 'https://x.test'],
      'Cannot read flags: use either --serve-issuer or --client-id',
    ],
    [
      'a file as a document',
      ['--openapi', './openapi.json'],
      'Cannot read flags: --openapi must be an http or https URL',
    ],
    [
      'a document that is not there',
      ['--openapi', 'http://127.0.0.1:1/openapi.json'],
      'Cannot read the OpenAPI document: no response: ',
    ],
    ['an unknown row', ['http://x.test', '--only', 'audiense'], 'Cannot probe: no row is called audiense'],
    ['rows of a profile', ['http://x.test', '--only', 'mcp'], 'Cannot probe: the rows of mcp need the profile mcp'],
    ['an unknown profile', ['http://x.test', '--profile', 'x'], 'Cannot probe: x is no profile'],
    ['an unknown depth', ['http://x.test', '--depth', 'x'], 'Cannot probe: x is no depth'],
    ['another level', ['http://x.test', '--fail-on', 'must'], 'Cannot read flags: --fail-on must be should'],
    ['no file', ['http://x.test', '--known', 'none'], 'Cannot read a file that --known'],
    ['claims that are none', ['http://x.test', '--claims', '/dev/null'], 'Cannot read claims: the file must be'],
    ['a token that is no file', ['http://x.test', '--token', 'eyJ'], 'Cannot read flags: --token must be'],
    ['a header without a colon', ['http://x.test', '--header', 'x'], 'Cannot read flags: --header must be'],
    [
      'credentials in a header',
      ['http://x.test', '--header', 'authorization: Bearer x'],
      'Cannot probe: headers must not have Authorization',
    ],
  ])('names the fault of %s', async (_, args, line) => {
    const tried = async () => runProbe(await optionsOfFlags(readFlags(args)));
    await expect(tried()).rejects.toThrow(line);
  });

  test('does not take the rest of a script for a token', async () => {
    const stderr = 'Cannot read a token: standard input has more than one word\n';
    expect(await probeWith(['http://x.test'], 'npm test\nnpm run deploy\n')).toEqual({ status: 2, stdout: '', stderr });
    await using target = api(() => ({}));
    expect(await probeWith([target.url, '--only', 'control'], 'Bearer e30.e30.e30\n')).toMatchObject({ status: 3 });
  });

  const probeFile = (url: string, text: string) => {
    const redirected = ['/bin/sh', '-c', 'exec "$@" < token.txt', 'sh', ...command, url, '--only', 'control'];
    return runToEnd(redirected, {}, { 'token.txt': text });
  };
  test('does not take a blank standard input for a run without a token', async () => {
    const stderr = 'Cannot read a token: standard input is blank\n';
    expect(await probeWith(['http://x.test'], ' \n')).toEqual({ status: 2, stdout: '', stderr });
    expect(await probeFile('http://x.test', '')).toEqual({ status: 2, stdout: '', stderr });
  });

  test('reads a token from a file in UTF-16, as Windows PowerShell writes it', async () => {
    await using target = api(() => ({}));
    const text = `\ufffd\ufffd${'Bearer e30.e30.e30\r\n'.replace(/./gs, '$&\0')}`;
    expect(await probeFile(target.url, text)).toMatchObject({ status: 3 });
  });

  test('exits with 3 if all that it was asked to try was skipped', async () => {
    await using target = api(() => ({}));
    const { status, stdout } = await probeWith([target.url, '--only', 'audience']);
    expect(stdout).toContain('First: give what was missing, because nothing else was');
    expect(stdout).toEndWith('\nThe run is incomplete: every row was skipped\n');
    expect(status).toBe(3);
  });

  test('describes itself, in 80 columns', async () => {
    const { status, stdout } = await probeWith(['--help']);
    expect([status, stdout.split('\n').filter((line) => line.length > 80)]).toEqual([0, []]);
    expect(stdout).toStartWith('Usage: protected-api-probe <url>...');
  });
});
