import { describe, expect, test } from 'bun:test';
import { type Environment, until } from '../support/child-process.ts';
import { bearer } from '../support/fixture.ts';
import { executableForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, mintToken } from '../support/mint.ts';
import { open } from '../support/raw-http.ts';

await executableForm.command();

async function setUp(settings: Environment = {}) {
  const issuer = await startIssuer();
  // A first fetch that hangs, and with it every request that needs a key: what is under way can be told apart from time.
  issuer.mode = { kind: 'hang' };
  const service = await executableForm.start({ ISSUER: issuer.url, AUDIENCE, ...settings });
  return {
    ...service,
    async [Symbol.asyncDispose]() {
      service.process.signal('SIGKILL');
      await Promise.all([service.process.finished, issuer.close()]);
    },
    /** Begins a request that waits for the key set, and returns once the service has it. */
    async beginSlowRequest() {
      const outcome = service.fetch('/api/private', { headers: bearer(mintToken(issuer.url)) }).then(
        ({ status }) => status,
        () => 'cut off',
      );
      // Requests are taken in order, so the answer to a later one shows that the slow one has come in.
      await service.fetch('/livez');
      return { outcome };
    },
  };
}

describe.concurrent('a signal', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    test(`${signal} ends a process with an idle connection with 0`, async () => {
      await using service = await setUp();
      const socket = await open(service.port);
      service.process.signal(signal);
      expect((await service.process.finished).status).toBe(0);
      socket.destroy();
    });

  test.each<[name: string, expected: number | string, settings: Environment]>([
    ['lets requests in flight be answered', 503, { JWKS_TIMEOUT_SECONDS: '1' }],
    ['cuts them off at SHUTDOWN_TIMEOUT_SECONDS', 'cut off', { SHUTDOWN_TIMEOUT_SECONDS: '1' }],
  ])('%s before the process exits', async (_name, expected, settings) => {
    await using service = await setUp({ JWKS_TIMEOUT_SECONDS: '60', ...settings });
    const { outcome } = await service.beginSlowRequest();
    expect([await service.close(), await outcome]).toEqual([0, expected]);
  });

  test('makes /readyz 503 for SHUTDOWN_DELAY_SECONDS while requests are still taken, and a second one ends the process', async () => {
    await using service = await setUp({ SHUTDOWN_DELAY_SECONDS: '60' });
    service.process.signal('SIGTERM');
    const readiness = async () => (await service.fetch('/readyz')).text();
    await until(async () => (await readiness()).includes('"shutting_down"'), 'the announcement');
    for (const path of ['/api/public', '/livez']) expect((await service.fetch(path)).status).toBe(200);
    expect(await service.close()).toBe(1);
  });
});
