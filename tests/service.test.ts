import { describe, expect, test } from 'bun:test';
import { createLog } from '../src/observe/log.ts';
import { createService } from '../src/service.ts';
import { type Environment, readSettings } from '../src/settings.ts';
import { bearer } from './support/fixture.ts';
import { publish, rsaKey } from './support/keys.ts';
import { AUDIENCE, SIGNING_KID } from './support/mint.ts';

const GOOD = 'https://good.example.test/';
const BAD = 'https://bad.example.test/';

/** Answers for the issuer GOOD. No other can be reached. */
async function fetchKeys(url: string): Promise<Response> {
  if (url === `${GOOD}.well-known/jwks.json`)
    return Response.json({ keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID)] });
  throw new TypeError('unreachable');
}

/** Returns a service without a process, and the messages that it logs. */
function create(environment: Environment) {
  const messages: string[] = [];
  const destination = {
    write: (line: string) => void messages.push(JSON.parse(line).msg),
    flush() {},
    droppedLines: () => 0,
    onRecovered() {},
  };
  const log = createLog('info', { isTerminal: false, hasColour: false }, destination);
  const settings = readSettings({ AUDIENCE, ...environment }, false);
  const service = createService({ settings, log, droppedLogLines: () => 0, fetch: fetchKeys });
  const get = (path: string, init?: RequestInit) => service.fetch(new Request(`http://localhost${path}`, init));
  return { service, messages, get };
}

/** Returns the status of `/readyz` once the fetches of the start have been answered. */
async function readinessOf(environment: Environment): Promise<number> {
  const { service, get } = create(environment);
  service.start();
  await new Promise((done) => setImmediate(done));
  const { status } = await get('/readyz');
  service.stop();
  return status;
}

describe('/readyz', () => {
  for (const [issuers, status] of [
    [GOOD, 200],
    [BAD, 503],
    [`${GOOD},${BAD}`, 200],
    [`${BAD},${GOOD}`, 200],
    [`${BAD},https://other.example.test/`, 503],
  ] as const) {
    test(`is ${status} when the issuers are ${issuers} and only ${GOOD} answers`, async () => {
      expect(await readinessOf({ ISSUER: issuers })).toBe(status);
    });
  }

  test('is 503 with a reason from the announcement of a shutdown, while requests are answered', async () => {
    const { service, get } = create({ ISSUER: GOOD });
    service.announceShutdown();
    const response = await get('/readyz');
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: 'shutting_down' });
    expect((await get('/api/public')).status).toBe(200);
  });
});

describe('the log of the service', () => {
  const shared = /each process that shares the port accepts a DPoP proof once/;
  const dpop = { PUBLIC_URL: 'https://api.example.test', DPOP: 'on' };

  for (const [name, environment, warning, isExpected] of [
    ['plain http is allowed', { JWKS_ALLOW_HTTP: 'true' }, /JWKS_ALLOW_HTTP is set/, true],
    ['plain http is not allowed', {}, /JWKS_ALLOW_HTTP is set/, false],
    ['processes share a port and no replay store', { ...dpop, REUSE_PORT: 'true' }, shared, true],
    ['one process has the port', dpop, shared, false],
    ['processes share a port without DPoP', { REUSE_PORT: 'true' }, shared, false],
  ] as const) {
    test(`${isExpected ? 'warns' : 'does not warn'} when ${name}`, () => {
      const { service, messages } = create({ ISSUER: GOOD, ...environment });
      service.start();
      service.stop();
      expect(messages.some((message) => warning.test(message))).toBe(isExpected);
    });
  }

  for (const [name, token, hint] of [
    ['opaque', 'c2VjcmV0', /^A client sent an opaque access token/],
    ['encrypted', 'a.b.c.d.e', /^A client sent an encrypted access token/],
  ] as const) {
    test(`has one hint about tokens that are ${name}, whose text it does not repeat`, async () => {
      const { messages, get } = create({ ISSUER: GOOD });
      for (let count = 0; count < 3; count += 1)
        expect((await get('/api/private', { headers: bearer(token) })).status).toBe(401);
      expect(messages.filter((message) => hint.test(message))).toHaveLength(1);
      expect(messages.join()).not.toContain(token);
    });
  }
});

test('an issuer over plain http starts with JWKS_ALLOW_HTTP and PUBLIC_URL, and is in the metadata', async () => {
  const issuer = 'http://sso.internal/';
  const { get } = create({ ISSUER: issuer, JWKS_ALLOW_HTTP: 'true', PUBLIC_URL: 'https://api.example.test' });
  const response = await get('/.well-known/oauth-protected-resource');
  expect(await response.json()).toMatchObject({ authorization_servers: [issuer] });
});

test('the page and the document contain no password of Redis', async () => {
  const redis = { DPOP: 'on', REDIS_URL: 'redis://:hunter2@redis.example.test' };
  const { get } = create({ ISSUER: GOOD, PUBLIC_URL: 'https://api.example.test', ...redis });
  for (const path of ['/openapi', '/openapi/json']) {
    const response = await get(path);
    expect(response.status).toBe(200);
    expect(await response.text()).not.toContain('hunter2');
  }
});
