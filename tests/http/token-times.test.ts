import { afterAll, beforeAll, expect, test } from 'bun:test';
import { bearer } from '../support/fixture.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { mintToken, SIGNING_KID } from '../support/mint.ts';
import { createTestApp } from '../support/test-app.ts';

/** A clock that changes only when a test sets it. */
const NOW_SECONDS = 1_800_000_000;
let nowMs = NOW_SECONDS * 1000;

let issuer: Issuer;

beforeAll(async () => {
  issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
});

afterAll(() => issuer.close());

/** Returns the response of the private endpoint to a token at the time of the frozen clock. */
function serviceWith(clockToleranceSeconds: number): (claims: Readonly<Record<string, number>>) => Promise<Response> {
  const { app } = createTestApp({
    options: { issuer: issuer.url, clockToleranceSeconds, tokenCacheSize: 100, fetch },
    environment: { now: () => nowMs },
  });
  return async (claims) => {
    const token = mintToken(issuer.url, { claims: { iat: NOW_SECONDS, ...claims } });
    return app.fetch(new Request('http://localhost/api/private', { headers: bearer(token) }));
  };
}

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
