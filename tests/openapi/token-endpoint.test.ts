import { describe, expect, test } from 'bun:test';
import { createGuard, type GuardOptions } from '../../src/auth/guard.ts';
import { createTokenEndpoint } from '../../src/openapi/token-endpoint.ts';
import { ISSUER } from '../support/checked.ts';

const ASSUMED = `${ISSUER}oauth/token`;
const ENDPOINT = 'https://login.example.test/token';

/** Returns the look-up with a clock that stands still, and what it waited and fetched. */
function createLookUp(respond: () => Promise<Response>, options: Partial<GuardOptions> = {}) {
  const seen = { nowMs: 0, fetched: 0, waitedMs: [] as number[] };
  const fetch = (url: string) => {
    if (url.endsWith('/openid-configuration')) seen.fetched += 1;
    return respond();
  };
  const guard = createGuard({ issuer: ISSUER, audience: 'any', fetch, ...options });
  const find = createTokenEndpoint(guard, {
    now: () => seen.nowMs,
    wait(ms) {
      seen.waitedMs.push(ms);
      // Later than a response that is already there.
      return new Promise((done) => setImmediate(done));
    },
  });
  return { find, seen };
}

const metadata = async (token_endpoint?: string, issuer = ISSUER) => Response.json({ issuer, token_endpoint });

describe('createTokenEndpoint()', () => {
  const rows: [name: string, named: string | undefined, want: string | undefined, { issuer: string }?][] = [
    ['the one that the metadata name', ENDPOINT, ENDPOINT],
    ['the one in the specification if the metadata has none', undefined, ASSUMED],
    ['the one in the specification if that of the metadata is not allowed', 'http://sso/t', ASSUMED],
    ['none for an issuer without a slash', undefined, undefined, { issuer: ISSUER.slice(0, -1) }],
  ];
  test.each(rows)('returns %s', async (_name, named, want, options) => {
    const { find, seen } = createLookUp(() => metadata(named, options?.issuer), options);
    expect([await find(), await find()]).toEqual([want, want]);
    expect(seen.fetched).toBe(1);
  });

  test('waits one second for the metadata, and uses them once they arrive', async () => {
    const response = Promise.withResolvers<Response>();
    const { find, seen } = createLookUp(() => response.promise);
    expect([await find(), await find()]).toEqual([ASSUMED, ASSUMED]);
    expect(seen).toEqual({ nowMs: 0, fetched: 1, waitedMs: [1000, 1000] });
    response.resolve(await metadata(ENDPOINT));
    expect(await find()).toBe(ENDPOINT);
  });

  test('tries again after a failure, but not before the cooldown has passed', async () => {
    let isDown = true;
    const { find, seen } = createLookUp(async () =>
      isDown ? new Response(null, { status: 500 }) : metadata(ENDPOINT),
    );
    expect(await find()).toBe(ASSUMED);
    isDown = false;
    for (const nowMs of [29_999, 30_000, 90_000]) {
      const [endpoint, fetched] = nowMs < 30_000 ? [ASSUMED, 1] : [ENDPOINT, 2];
      seen.nowMs = nowMs;
      expect(await find()).toBe(endpoint);
      expect(seen.fetched).toBe(fetched);
    }
  });
});
