import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { mintToken, SIGNING_KID } from '../support/mint.ts';
import { createTestApp } from '../support/test-app.ts';

/** The time stands still here unless a test moves it. */
const NOW_SECONDS = 1_800_000_000;
let nowMs = NOW_SECONDS * 1000;

let issuer: Issuer;

beforeAll(async () => {
  issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
});

afterAll(() => issuer.close());

/** Returns how the private endpoint answers a token at the time that stands. */
function serviceWith(clockToleranceSeconds: number): (claims: Readonly<Record<string, number>>) => Promise<Response> {
  const { app } = createTestApp({
    options: { issuer: issuer.url, clockToleranceSeconds, tokenCacheSize: 100 },
    environment: { fetch, now: () => nowMs },
  });
  return async (claims) => {
    const token = mintToken(issuer.url, { claims: { iat: NOW_SECONDS, ...claims } });
    return app.fetch(new Request('http://localhost/api/private', { headers: bearer(token) }));
  };
}

const later = NOW_SECONDS + 1000;

const accepted = [
  { name: 'an exp one second ahead', tolerance: 0, claims: { exp: NOW_SECONDS + 1 } },
  { name: 'an exp half a second ahead', tolerance: 0, claims: { exp: NOW_SECONDS + 0.5 } },
  { name: 'an nbf at this second', tolerance: 0, claims: { exp: later, nbf: NOW_SECONDS } },
  { name: 'an exp less long ago than the tolerance', tolerance: 5, claims: { exp: NOW_SECONDS - 4 } },
  { name: 'an nbf as far ahead as the tolerance', tolerance: 5, claims: { exp: later, nbf: NOW_SECONDS + 5 } },
  { name: 'an exp within the widest tolerance', tolerance: 300, claims: { exp: NOW_SECONDS - 299 } },
] as const;

const refused = [
  { name: 'an exp at this second', tolerance: 0, claims: { exp: NOW_SECONDS }, code: 'token_expired' },
  { name: 'an exp one second ago', tolerance: 0, claims: { exp: NOW_SECONDS - 1 }, code: 'token_expired' },
  {
    name: 'an nbf one second ahead',
    tolerance: 0,
    claims: { exp: later, nbf: NOW_SECONDS + 1 },
    code: 'invalid_header',
  },
  {
    name: 'an exp as long ago as the tolerance',
    tolerance: 5,
    claims: { exp: NOW_SECONDS - 5 },
    code: 'token_expired',
  },
  {
    name: 'an nbf beyond the tolerance',
    tolerance: 5,
    claims: { exp: later, nbf: NOW_SECONDS + 6 },
    code: 'invalid_header',
  },
] as const;

describe('a token with', () => {
  for (const { name, tolerance, claims } of accepted) {
    test(`${name} is accepted with a tolerance of ${tolerance} s`, async () => {
      await expectMessage(await serviceWith(tolerance)(claims));
    });
  }

  for (const { name, tolerance, claims, code } of refused) {
    test(`${name} is refused with a tolerance of ${tolerance} s: ${code}`, async () => {
      await expectError(await serviceWith(tolerance)(claims), 401, code);
    });
  }
});

for (const tolerance of [0, 5]) {
  test(`a token accepted before is refused from its exp second on, with a tolerance of ${tolerance} s`, async () => {
    const get = serviceWith(tolerance);
    const claims = { exp: NOW_SECONDS + 10 };
    const statuses: [number, number][] = [];
    for (const seconds of [0, 9 + tolerance, 10 + tolerance, 9 + tolerance]) {
      nowMs = (NOW_SECONDS + seconds) * 1000;
      statuses.push([seconds, (await get(claims)).status]);
    }
    nowMs = NOW_SECONDS * 1000;
    expect(statuses).toEqual([
      [0, 200],
      [9 + tolerance, 200],
      [10 + tolerance, 401],
      [9 + tolerance, 200],
    ]);
  });
}
