import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { until } from '../support/child-process.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { mintToken, SIGNING_KID, type TokenOverrides } from '../support/mint.ts';
import { createTarget, KEY_SET_TIMES, SCOPED, type Target } from './target.ts';

const NOW_SECONDS = 1_900_000_000;
const LETTERS = 'AQgw_';

describe('a token that was accepted and remembered', () => {
  let issuer: Issuer;
  let target: Target;
  beforeAll(async () => {
    issuer = await startIssuer();
  });
  afterAll(() => issuer.close());
  beforeEach(async () => {
    issuer.keys = [publish(rsaKey(SIGNING_KID), SIGNING_KID), publish(rsaKey('other'), 'other')];
    issuer.mode = { kind: 'keys' };
    target = createTarget({ issuer: issuer.url, nowMs: NOW_SECONDS * 1000 });
    target.guard.start();
  });

  const mint = (claims: Record<string, unknown> = {}, overrides: TokenOverrides = {}) =>
    mintToken(issuer.url, { ...overrides, claims: { iat: NOW_SECONDS - 10, exp: NOW_SECONDS + 300, ...claims } });

  async function remember(token: string): Promise<void> {
    await expectMessage(await target.show(token));
    const { cacheHits } = target.cache();
    await expectMessage(await target.show(token));
    expect(target.cache().cacheHits).toBe(cacheHits + 1);
  }

  test('does not let a token in that differs from it in any one letter (CVE-2026-35039)', async () => {
    const token = mint();
    await remember(token);
    for (let at = 0; at < token.length; at += 1) {
      const letter = LETTERS.charAt((LETTERS.indexOf(token.charAt(at)) + 1) % LETTERS.length);
      const altered = `${token.slice(0, at)}${letter}${token.slice(at + 1)}`;
      const { status } = await target.show(altered);
      expect({ at, status }).toEqual({ at, status: 401 });
    }
  });

  test('does not let a token in that only begins or ends like it (CVE-2026-35039)', async () => {
    const token = mint();
    await remember(token);
    for (const altered of [
      `${token}A`,
      `${token}.`,
      `A${token}`,
      token.slice(0, -1),
      token.slice(1),
      token.toLowerCase(),
    ]) {
      await expectError(await target.show(altered), 401, 'invalid_header');
    }
  });

  test('does not lend its claims to another token with the same audience, times and signer (CVE-2026-35039)', async () => {
    const [alice, bob] = ['alice', 'bob'].map((sub) => mint({ sub, jti: 'the same' }));
    for (const [token, sub] of [
      [alice, 'alice'],
      [bob, 'bob'],
      [alice, 'alice'],
      [bob, 'bob'],
    ]) {
      await expectMessage(await target.show(token ?? ''));
      expect(target.lastClaims()?.sub).toBe(sub);
    }
  });

  test('does not lend its scope to a token without one', async () => {
    await remember(mint());
    const unscoped = mint({ scope: undefined });
    await remember(unscoped);
    await expectError(await target.show(unscoped, SCOPED), 403, 'Unauthorized');
  });

  for (const [name, times, lastSecond] of [
    ['with iat', {}, NOW_SECONDS + 300],
    ['without iat', { iat: undefined }, NOW_SECONDS + 300],
    ['of one second', { exp: NOW_SECONDS + 1 }, NOW_SECONDS + 1],
    ['of half a second', { exp: NOW_SECONDS + 0.5 }, NOW_SECONDS + 0.5],
  ] as const) {
    test(`does not outlive its exp: one ${name} (CVE-2026-107719)`, async () => {
      const token = mint(times);
      await remember(token);
      target.nowMs = lastSecond * 1000 - 1;
      await expectMessage(await target.show(token));
      target.nowMs = lastSecond * 1000;
      await expectError(await target.show(token), 401, 'token_expired');
      target.nowMs += 400;
      await expectError(await target.show(token), 401, 'token_expired');
    });
  }

  test('is not what makes a token of fractions expire: one never seen before does too (RFC 7519 §4.1.4)', async () => {
    const token = mint({ exp: NOW_SECONDS + 0.5 });
    target.nowMs = NOW_SECONDS * 1000 + 500;
    await expectError(await target.show(token), 401, 'token_expired');
  });

  test('is not good before its nbf when the clock is set back', async () => {
    const token = mint({ nbf: NOW_SECONDS });
    await remember(token);
    target.nowMs -= 1000;
    await expectError(await target.show(token), 401, 'invalid_header');
  });

  /** Lets time pass to the next attempt and waits for its end. */
  async function fetchKeysAgain(afterMs: number = KEY_SET_TIMES.maxAgeMs): Promise<void> {
    target.clock.advance(afterMs);
    await until(() => target.guard.state().issuers.every(({ nextAttemptMs }) => nextAttemptMs > 0), 'the fetch ends');
  }

  test('is refused once its key has left the set (CVE-2025-22149)', async () => {
    const token = mint();
    await remember(token);
    issuer.keys = [publish(rsaKey('other'), 'other')];
    await fetchKeysAgain();
    await expectError(await target.show(token), 401, 'invalid_header');
  });

  test('is refused once its key has been replaced under the same kid (CVE-2025-22149)', async () => {
    const token = mint();
    await remember(token);
    issuer.keys = [publish(rsaKey('successor'), SIGNING_KID)];
    await fetchKeysAgain();
    await expectError(await target.show(token), 401, 'invalid_header');
    await expectMessage(await target.show(mint({}, { key: rsaKey('successor') })));
  });

  test('is refused once its key may no longer verify', async () => {
    const token = mint();
    await remember(token);
    issuer.keys = [publish(rsaKey(SIGNING_KID), SIGNING_KID, { use: 'enc' }), publish(rsaKey('other'), 'other')];
    await fetchKeysAgain();
    await expectError(await target.show(token), 401, 'invalid_header');
  });

  for (const pass of ['advance', 'pause'] as const)
    test(`does not stay valid forever during an outage: its keys expire while time does this: ${pass} (503, not 401)`, async () => {
      target = createTarget({ issuer: issuer.url, nowMs: NOW_SECONDS * 1000, maxStaleMs: KEY_SET_TIMES.cooldownMs });
      const token = mint();
      await remember(token);
      issuer.mode = { kind: 'answer', status: 500 };
      await fetchKeysAgain();
      await expectMessage(await target.show(token));
      target.clock[pass](KEY_SET_TIMES.cooldownMs);
      await expectError(await target.show(token), 503, 'key_set_unavailable');
    });

  test('gives its place to another once it has expired, though there is only one', async () => {
    target = createTarget({ issuer: issuer.url, nowMs: NOW_SECONDS * 1000, cacheSize: 1 });
    await remember(mint());
    target.nowMs += 300_000;
    await remember(mint({ exp: NOW_SECONDS + 600 }));
    expect(target.cache().cacheEntries).toBe(1);
  });

  test('caches no rejected token, however many are sent', async () => {
    await remember(mint());
    const refused = [{ exp: 1 }, { aud: 'other' }, { iss: 'other' }, { cnf: {} }, { nbf: NOW_SECONDS + 60 }];
    for (const claims of refused) await target.show(mint(claims));
    for (let at = 0; at < 500; at += 1) await target.show(`e30.${at}AAA.AAAA`);
    await target.show(mint({}, { key: rsaKey('stranger') }));
    expect(target.cache().cacheEntries).toBe(1);
  });
});
