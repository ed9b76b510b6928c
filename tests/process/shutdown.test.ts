import { afterEach, describe, expect, test } from 'bun:test';
import { freePort, type RunningProcess, run, until, untilItAnswers } from '../support/child-process.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';
import { open } from '../support/raw-http.ts';

interface Fixture {
  readonly origin: string;
  readonly port: number;
  readonly issuer: Issuer;
  readonly child: RunningProcess;
}

const issuers: Issuer[] = [];
afterEach(async () => {
  await Promise.all(issuers.splice(0).map((issuer) => issuer.close()));
});

async function setUp(command: readonly string[], settings: Record<string, string> = {}): Promise<Fixture> {
  const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
  issuers.push(issuer);
  // A first fetch that hangs, and with it every request that needs a key: what is under way can be told apart from time.
  issuer.mode = { kind: 'hang' };
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const child = run(command, { ISSUER: issuer.url, AUDIENCE, HOST: '127.0.0.1', PORT: String(port), ...settings });
  await untilItAnswers(origin, child);
  return { origin, port, issuer, child };
}

/** Begins a request that waits for the key set, and returns once the service has it. */
async function beginSlowRequest({ origin, issuer }: Fixture): Promise<{ outcome: Promise<number | 'cut off'> }> {
  const headers = { authorization: `Bearer ${mintToken(issuer.url)}` };
  const answer = fetch(`${origin}/api/private`, { headers }).then(
    ({ status }) => status,
    () => 'cut off' as const,
  );
  // Requests are taken in order, so the answer to a later one shows that the slow one has come in.
  await fetch(`${origin}/livez`);
  return { outcome: answer };
}

for (const form of [sourceForm, executableForm]) {
  describe(`SIGTERM to ${form.name}`, () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      test(`${signal} ends an idle process with 0, idle connections or not`, async () => {
        const fixture = await setUp(await form.command());
        const socket = await open(fixture.port);
        fixture.child.signal(signal);
        expect((await fixture.child.finished).status).toBe(0);
        socket.destroy();
      });
    }

    test('answers requests in flight before it exits', async () => {
      const fixture = await setUp(await form.command(), { JWKS_TIMEOUT_SECONDS: '1' });
      const slow = await beginSlowRequest(fixture);
      fixture.child.signal('SIGTERM');
      expect(await slow.outcome).toBe(503);
      expect((await fixture.child.finished).status).toBe(0);
    });

    test('exits after SHUTDOWN_TIMEOUT_SECONDS even with requests in flight', async () => {
      const fixture = await setUp(await form.command(), { JWKS_TIMEOUT_SECONDS: '60', SHUTDOWN_TIMEOUT_SECONDS: '1' });
      const slow = await beginSlowRequest(fixture);
      fixture.child.signal('SIGTERM');
      expect((await fixture.child.finished).status).toBe(0);
      expect(await slow.outcome).toBe('cut off');
    });

    test('says 503 on /readyz for SHUTDOWN_DELAY_SECONDS while requests are still taken', async () => {
      const fixture = await setUp(await form.command(), { SHUTDOWN_DELAY_SECONDS: '60' });
      fixture.child.signal('SIGTERM');
      await until(async () => (await fetch(`${fixture.origin}/readyz`)).status === 503, 'not ready');
      const readiness = await fetch(`${fixture.origin}/readyz`);
      expect(await readiness.json()).toEqual({ code: 'shutting_down', description: expect.any(String) });
      expect((await fetch(`${fixture.origin}/api/public`)).status).toBe(200);
      expect((await fetch(`${fixture.origin}/livez`)).status).toBe(200);

      fixture.child.signal('SIGTERM');
      expect((await fixture.child.finished).status).toBe(1);
    });
  });
}
