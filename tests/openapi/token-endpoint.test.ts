import { afterEach, beforeEach, describe, expect, jest, test } from 'bun:test';
import { createGuard, type GuardOptions } from '../../src/auth/index.ts';
import { createTokenUrlFinder } from '../../src/openapi/token-endpoint.ts';
import { ISSUER } from '../support/checked.ts';

const ASSUMED = `${ISSUER}oauth/token`;
const ENDPOINT = 'https://login.example.test/token';

/** Returns the look-up, and how often it fetched metadata. */
function createLookUp(respond: () => Promise<Response>, options: Partial<GuardOptions> = {}) {
  const seen = { fetched: 0 };
  const fetch = (url: string) => {
    if (url.endsWith('/openid-configuration')) seen.fetched += 1;
    return respond();
  };
  return { find: createTokenUrlFinder(createGuard({ issuer: ISSUER, audience: 'any', fetch, ...options })), seen };
}

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Moves the clock, and then lets everything happen that is now possible. */
async function pass(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  for (let turn = 0; turn < 50; turn += 1) await undefined;
}

const metadata = async (token_endpoint?: string, issuer = ISSUER) => Response.json({ issuer, token_endpoint });

describe('createTokenUrlFinder()', () => {
  type Options = Partial<GuardOptions> & { issuer: string };
  const rows: [name: string, named: string | undefined, want: string | undefined, Options?, fetched?: number][] = [
    ['the one that the metadata name', ENDPOINT, ENDPOINT],
    ['the one in the specification if the metadata has none', undefined, ASSUMED],
    ['the one in the specification if that of the metadata is not allowed', 'http://sso/t', ASSUMED],
    ['none for an issuer without a slash', undefined, undefined, { issuer: ISSUER.slice(0, -1) }],
    ['none for an issuer that is no URL', undefined, undefined, { issuer: 'stytch.com/', jwksUri: ISSUER }, 0],
  ];
  test.each(rows)('returns %s', async (_name, named, want, options, fetched = 1) => {
    const { find, seen } = createLookUp(() => metadata(named, options?.issuer), options);
    expect([await find(), await find()]).toEqual([want, want]);
    expect(seen.fetched).toBe(fetched);
  });

  test('waits one second for the metadata, and uses them once they arrive', async () => {
    const response = Promise.withResolvers<Response>();
    const { find, seen } = createLookUp(() => response.promise);
    const found: unknown[] = [];
    void find().then((endpoint) => found.push(endpoint));
    await pass(999);
    expect(found).toEqual([]);
    await pass(1);
    expect(found).toEqual([ASSUMED]);
    response.resolve(await metadata(ENDPOINT));
    expect(await find()).toBe(ENDPOINT);
    expect(seen.fetched).toBe(1);
  });

  test('tries again after a failure, but not before the cooldown has passed', async () => {
    let isDown = true;
    const { find, seen } = createLookUp(async () => (isDown ? Response.error() : metadata(ENDPOINT)));
    expect(await find()).toBe(ASSUMED);
    isDown = false;
    await pass(29_999);
    expect([await find(), seen.fetched]).toEqual([ASSUMED, 1]);
    await pass(1);
    expect([await find(), seen.fetched]).toEqual([ENDPOINT, 2]);
    await pass(60_000);
    expect([await find(), seen.fetched]).toEqual([ENDPOINT, 2]);
  });
});
