import { describe, expect, test } from 'bun:test';
import { createTokenEndpoint } from '../../src/openapi/token-endpoint.ts';

const ISSUER = 'https://issuer.example.test/';
const ENDPOINT = 'https://login.example.test/token';

interface Given {
  readonly issuer?: string;
  readonly allowHttp?: boolean;
  readonly fetch: () => Promise<Response>;
}

/** Returns the look-up with a clock that stands still, and what it waited and fetched. */
function createLookUp({ issuer = ISSUER, allowHttp = false, fetch }: Given) {
  const seen = { nowMs: 0, fetched: 0, waitedMs: [] as number[] };
  const find = createTokenEndpoint({
    issuer,
    allowHttp,
    timeoutMs: 5000,
    cooldownMs: 30_000,
    fetch(url) {
      if (url.endsWith('/openid-configuration')) seen.fetched += 1;
      return fetch();
    },
    now: () => seen.nowMs,
    wait(ms) {
      seen.waitedMs.push(ms);
      // Later than an answer that is already there.
      return new Promise((done) => setImmediate(done));
    },
  });
  return { find, seen };
}

const metadata = (issuer: string, token_endpoint: unknown) => async () => Response.json({ issuer, token_endpoint });

describe('createTokenEndpoint()', () => {
  for (const { name, issuer = ISSUER, allowHttp, named, want } of [
    { name: 'the one that the metadata name', named: ENDPOINT, want: ENDPOINT },
    {
      name: 'one on the machine of an issuer on this machine',
      issuer: 'http://localhost:1/',
      named: 'http://localhost:2/t',
      want: 'http://localhost:2/t',
    },
    { name: 'one over plain http where that is allowed', allowHttp: true, named: 'http://sso/t', want: 'http://sso/t' },
    { name: 'that of the specification without one in the metadata', named: undefined, want: `${ISSUER}oauth/token` },
    { name: 'that of the specification instead of no address', named: 'token', want: `${ISSUER}oauth/token` },
    {
      name: 'that of the specification instead of one over plain http',
      named: 'http://sso/t',
      want: `${ISSUER}oauth/token`,
    },
    {
      name: 'that of the specification instead of one on this machine',
      named: 'https://127.0.0.1/t',
      want: `${ISSUER}oauth/token`,
    },
    {
      name: 'that of the specification instead of one on this machine, over plain http',
      allowHttp: true,
      named: 'http://localhost/t',
      want: `${ISSUER}oauth/token`,
    },
    { name: 'none for an issuer without a slash', issuer: ISSUER.slice(0, -1), named: undefined, want: undefined },
  ]) {
    test(`returns ${name}`, async () => {
      const { find, seen } = createLookUp({ issuer, allowHttp: allowHttp ?? false, fetch: metadata(issuer, named) });
      expect([await find(), await find()]).toEqual([want, want]);
      expect(seen.fetched).toBe(1);
    });
  }

  test('waits one second for the metadata, and names them once they arrive', async () => {
    const response = Promise.withResolvers<Response>();
    const { find, seen } = createLookUp({ fetch: () => response.promise });
    expect(await find()).toBe(`${ISSUER}oauth/token`);
    expect(await find()).toBe(`${ISSUER}oauth/token`);
    expect(seen).toEqual({ nowMs: 0, fetched: 1, waitedMs: [1000, 1000] });
    response.resolve(await metadata(ISSUER, ENDPOINT)());
    expect(await find()).toBe(ENDPOINT);
  });

  test('asks again after a failure, but not before the cooldown has passed', async () => {
    let isDown = true;
    const { find, seen } = createLookUp({
      fetch: async () => (isDown ? new Response(null, { status: 500 }) : metadata(ISSUER, ENDPOINT)()),
    });
    expect(await find()).toBe(`${ISSUER}oauth/token`);
    isDown = false;
    seen.nowMs = 29_999;
    expect(await find()).toBe(`${ISSUER}oauth/token`);
    expect(seen.fetched).toBe(1);
    seen.nowMs = 30_000;
    expect(await find()).toBe(ENDPOINT);
    seen.nowMs = 90_000;
    expect(await find()).toBe(ENDPOINT);
    expect(seen.fetched).toBe(2);
  });
});
