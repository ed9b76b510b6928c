import { describe, expect, test } from 'bun:test';
import { version } from '../../package.json' with { type: 'json' };
import { type Environment, runToEnd, until } from '../support/child-process.ts';
import { startFixture } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE } from '../support/mint.ts';
import { open } from '../support/raw-http.ts';
import { readJsonLines } from '../support/recorded-log.ts';
import { readText } from '../support/repository.ts';

await executableForm.command();

/** Starts a service whose first fetch hangs, and with it every request that needs a key: none depends on time. */
const setUp = (settings: Environment = {}) =>
  startFixture(executableForm, { settings, prepare: (issuer) => void Object.assign(issuer.mode, { kind: 'hang' }) });

describe.concurrent('a signal', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    test(`${signal} ends a process with an idle connection with 0`, async () => {
      await using fixture = await setUp();
      const { port, process } = fixture.service;
      const socket = await open(port);
      process.signal(signal);
      expect((await process.finished).status).toBe(0);
      socket.destroy();
    });

  test.each<[name: string, expected: string, settings: Environment]>([
    // Longer than the second without requests after which the process exits.
    ['lets requests finish, the last of their connections,', '503, connection: close', { JWKS_TIMEOUT_SECONDS: '2' }],
    ['cuts them off at SHUTDOWN_TIMEOUT_SECONDS', 'cut off', { SHUTDOWN_TIMEOUT_SECONDS: '1' }],
  ])('%s before the process exits', async (_name, expected, settings) => {
    await using fixture = await setUp({ JWKS_TIMEOUT_SECONDS: '60', ...settings });
    const { service, get, mint } = fixture;
    const outcome = get('/api/private', mint()).then(
      ({ status, headers }) => `${status}, connection: ${headers.get('connection')}`,
      () => 'cut off',
    );
    // Requests are accepted in order, so the response to a later one shows that the slow one has arrived.
    await service.fetch('/livez');
    expect([await service.close(), await outcome]).toEqual([0, expected]);
  });

  test('makes /readyz 503 and each response the last of its connection for SHUTDOWN_DELAY_SECONDS, and a second one ends the process', async () => {
    await using fixture = await setUp({ SHUTDOWN_DELAY_SECONDS: '60' });
    const { service } = fixture;
    service.process.signal('SIGTERM');
    const readiness = async () => (await service.fetch('/readyz')).text();
    await until(async () => (await readiness()).includes('"shutting_down"'), 'the announcement');
    for (const path of ['/api/public', '/livez', '/api/private', '/nothing', '/readyz'])
      expect((await service.fetch(path)).headers.get('connection'), path).toBe('close');
    expect((await service.fetch('/api/public')).status).toBe(200);
    expect(await service.close()).toBe(1);
  });

  test('SIGHUP fetches the keys at once and logs the result', async () => {
    await using fixture = await startFixture(executableForm);
    const { service, issuer } = fixture;
    await until(() => issuer.fetches === 1 && service.output().includes('Key set fetched'), 'the first keys');
    const told = async (part: string) => {
      service.process.signal('SIGHUP');
      await until(() => service.output().includes(part), part);
      return readJsonLines(service.output()).at(-1);
    };
    const fetched = { level: 'info', issuers: [{ issuer: issuer.url, keys: 1 }] };
    expect(await told('Keys fetched on SIGHUP')).toMatchObject(fetched);
    issuer.mode = { kind: 'response', status: 500 };
    const failed = { level: 'error', issuers: [{ keys: 1, lastFailure: { failure: 'status', status: 500 } }] };
    expect(await told('Cannot fetch all keys on SIGHUP')).toMatchObject(failed);
    const page = await readText('docs/operations.md');
    const lines = readJsonLines(service.output()).slice(-3);
    for (const { msg } of lines) expect(page).toContain(`\`${String(msg).split(':')[0]}\``);
    expect(lines).toMatchObject([{ level: 'info' }, { level: 'warn' }, { level: 'error' }]);
    expect(await service.close()).toBe(0);
  });

  test('SIGHUP that reaches one of two issuers is an error that names both', async () => {
    await using other = await startIssuer();
    await using issuer = await startIssuer();
    await using fixture = await startFixture(executableForm, { settings: { ISSUER: `${issuer.url},${other.url}` } });
    const { service } = fixture;
    await until(() => issuer.fetches + other.fetches === 2, 'the first keys');
    other.mode = { kind: 'response', status: 500 };
    service.process.signal('SIGHUP');
    await until(() => service.output().includes('SIGHUP'), 'the result');
    const issuers = [
      { issuer: issuer.url, keys: 1 },
      { issuer: other.url, keys: 1, lastFailure: { status: 500 } },
    ];
    const told = readJsonLines(service.output()).find(({ msg }) => String(msg).includes('SIGHUP'));
    expect(told).toMatchObject({ level: 'error', msg: expect.stringMatching(/^Cannot fetch all keys/), issuers });
  });

  const end = "process.kill(process.pid, 'SIGTERM'); await Bun.sleep(60_000);";
  const onRead = `Bun.stdin.stream = () => new ReadableStream({ async pull() { ${end} } });`;
  const hangUp = `process.kill(process.pid, 'SIGHUP'); await Bun.sleep(50);
    return { contents: await Bun.file(path).text(), loader: 'ts' };`;
  const onLoad = (body: string) => `Bun.plugin({ name: 'plant', setup(build) {
    build.onLoad({ filter: /src.process\\.ts$/ }, async ({ path }) => { ${body} });
  } });`;
  test.each([
    ['SIGHUP before the settings are read does nothing', onLoad(hangUp), '--version', 0],
    ['ends a process that loads modules', onLoad(end), '--dev', 0],
    ['ends a process that waits for a token', onRead, '--explain', 1],
  ])('%s', async (_name, plant, flag, status) => {
    const command = (await sourceForm.command()).toSpliced(2, 0, '--preload', './plant.ts');
    const settings = { ISSUER: 'http://127.0.0.1:9/', AUDIENCE };
    const ended = await runToEnd([...command, flag], settings, { 'plant.ts': plant });
    const stdout = flag === '--version' ? `${version}\n` : '';
    expect(ended).toEqual({ status, stdout, stderr: '' });
  });
});
