import { afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { type Environment, freePort, run, until, untilItAnswers } from '../support/child-process.ts';
import { bearer } from '../support/fixture.ts';
import { executableForm } from '../support/forms.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(30_000);
beforeAll(async () => void (await executableForm.command()), executableForm.startTimeoutMs);

let issuer: Issuer;
afterEach(() => issuer.close());

async function startOn(port: number, settings: Environment) {
  const environment = { ISSUER: issuer.url, AUDIENCE, HOST: '127.0.0.1', PORT: String(port), ...settings };
  const service = run(await executableForm.command(), environment);
  await until(() => service.stdout().includes('Key set fetched'), 'keys are held');
  return service;
}

test('kill -9 of one of two instances that share a port leaves the other answering', async () => {
  issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
  const port = await freePort();
  const services = [await startOn(port, { REUSE_PORT: 'true' }), await startOn(port, { REUSE_PORT: 'true' })];
  const [killed, left] = services;
  killed?.signal('SIGKILL');
  await killed?.finished;

  const headers = bearer(mintToken(issuer.url));
  const request = () => fetch(`http://127.0.0.1:${port}/api/private`, { headers, keepalive: false });
  const answers = await Promise.all(Array.from({ length: 100 }, request));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 200));
  left?.signal('SIGTERM');
  expect((await left?.finished)?.status).toBe(0);
});

test('a process that was stopped trusts no expired key, not even for a cached token', async () => {
  issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
  const port = await freePort();
  const times = { JWKS_MAX_AGE_SECONDS: '2', JWKS_MAX_STALE_SECONDS: '0', JWKS_COOLDOWN_SECONDS: '1' };
  const service = await startOn(port, times);
  const origin = `http://127.0.0.1:${port}`;
  await untilItAnswers(origin, service);
  const headers = bearer(mintToken(issuer.url));
  const request = async () => (await fetch(`${origin}/api/private`, { headers })).status;
  expect(await request()).toBe(200);

  await issuer.goDown();
  service.signal('SIGSTOP');
  // The time of a stopped process cannot be moved but by waiting.
  await Bun.sleep(2100);
  const answers = Promise.all(Array.from({ length: 10 }, request));
  service.signal('SIGCONT');
  expect(new Set(await answers)).toEqual(new Set([503]));

  await issuer.comeBack();
  await until(async () => (await request()) === 200, 'keys are fetched again');
  service.signal('SIGTERM');
  expect((await service.finished).status).toBe(0);
});
