import { describe, expect, test } from 'bun:test';
import { COOLDOWN_MS, createIssuers, MAX_AGE_MS, mintSigned } from '../../support/issuers.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { SIGNING_KID } from '../../support/mint.ts';

const A = 'https://a.example.test/';
const B = 'https://b.example.test';
const keyOf = (name: string, kid = SIGNING_KID) => publish(rsaKey(name), kid);

/** Two issuers that publish different keys under one `kid`. */
const setUp = () => createIssuers({ [A]: [keyOf('a')], [B]: [keyOf('b')] });

describe('createVerifier() with several issuers', () => {
  test('accepts the tokens of each, by its own key, though their kids are equal', async () => {
    const { verify, states } = setUp();
    expect(await verify(mintSigned(A, { signer: 'a' }))).toBe('accepted');
    expect(states[B]?.fetches).toBe(0);
    expect(await verify(mintSigned(B, { signer: 'b' }))).toBe('accepted');
  });

  for (const [name, issuer, signer] of [
    ['of the first by the key of the second', A, 'b'],
    ['of the second by the key of the first', B, 'a'],
  ] as const) {
    test(`refuses a token ${name}, before and after that issuer's own tokens`, async () => {
      const { verify } = setUp();
      const forged = mintSigned(issuer, { signer });
      expect(await verify(forged)).toBe('signature_invalid');
      expect(await verify(mintSigned(A, { signer: 'a' }))).toBe('accepted');
      expect(await verify(mintSigned(B, { signer: 'b' }))).toBe('accepted');
      expect(await verify(forged)).toBe('signature_invalid');
    });
  }

  const strangers: readonly unknown[] = [
    ...['https://c.example.test/', A.slice(0, -1), `${B}/`, A.toUpperCase(), ` ${A}`, '', '__proto__'],
    ...[undefined, null, [A], { 0: A }, 7],
  ];
  for (const iss of strangers) {
    test(`refuses the issuer ${JSON.stringify(iss)} without any fetch, with any signature`, async () => {
      const { verify, states } = setUp();
      const token = mintSigned(A, { signer: 'a', overrides: { claims: { iss } } });
      expect(await verify(token)).toBe('issuer_mismatch');
      expect(Object.values(states).map(({ fetches }) => fetches)).toEqual([0, 0]);
    });
  }

  test('reads the issuer from no other member, and rejects a payload that is not an object', async () => {
    const { verify } = setUp();
    expect(await verify(mintSigned(A, { signer: 'a', overrides: { claims: { iss: undefined, issuer: A } } }))).toBe(
      'issuer_mismatch',
    );
    expect(await verify(mintSigned(A, { signer: 'a', overrides: { payloadText: `["${A}"]` } }))).toBe(
      'issuer_mismatch',
    );
  });

  test('answers an outage of one issuer to that issuer alone', async () => {
    const { verify } = createIssuers({ [A]: new Error('down'), [B]: [keyOf('b')] });
    expect(await verify(mintSigned(A, { signer: 'a' }))).toBe('keys_unavailable');
    expect(await verify(mintSigned(B, { signer: 'b' }))).toBe('accepted');
  });

  test('spends the cooldown of one issuer on a flood of its unknown kids, and none of the other', async () => {
    const { verify, states, clock } = setUp();
    await verify(mintSigned(A, { signer: 'a' }));
    await verify(mintSigned(B, { signer: 'b' }));
    clock.advance(COOLDOWN_MS);
    for (let index = 0; index < 100; index += 1) {
      expect(await verify(mintSigned(A, { signer: 'a', kid: `unknown ${index}` }))).toBe('key_unknown');
    }
    expect([states[A]?.fetches, states[B]?.fetches]).toEqual([2, 1]);
    const state = states[B];
    if (state) state.keys = [keyOf('b'), keyOf('b rotated', 'rotated')];
    expect(await verify(mintSigned(B, { kid: 'rotated', signer: 'b rotated' }))).toBe('accepted');
  });

  test('forgets a cached token when its own issuer drops the key, even where the other publishes that very key', async () => {
    const shared = [keyOf('shared'), keyOf('other', 'other')];
    const { verify, states, clock, cache } = createIssuers({ [A]: shared, [B]: shared });
    const token = mintSigned(A, { signer: 'shared' });
    expect(await verify(token)).toBe('accepted');
    expect(await verify(mintSigned(B, { signer: 'shared' }))).toBe('accepted');
    expect(await verify(token)).toBe('accepted');
    expect(cache().cacheHits).toBe(1);

    const state = states[A];
    if (state) state.keys = shared.slice(1);
    clock.advance(COOLDOWN_MS);
    expect(await verify(mintSigned(A, { kid: 'unknown', signer: 'shared' }))).toBe('key_unknown');
    expect(await verify(token)).toBe('key_unknown');
    expect(await verify(mintSigned(B, { signer: 'shared' }))).toBe('accepted');
  });
});

describe('createVerifier() with one issuer', () => {
  for (const [name, keys] of [
    ['was replaced', [keyOf('successor')]],
    ['may no longer verify', [{ ...keyOf('a'), use: 'enc' }, keyOf('b', 'other')]],
  ] as const) {
    test(`rejects a cached token once its key ${name} (CVE-2025-22149)`, async () => {
      const { verify, states, clock } = createIssuers({ [A]: [keyOf('a')] });
      const token = mintSigned(A, { signer: 'a' });
      for (const _ of [1, 2]) expect(await verify(token)).toBe('accepted');
      const state = states[A];
      if (state) state.keys = keys;
      clock.advance(COOLDOWN_MS);
      expect(await verify(mintSigned(A, { signer: 'a', kid: 'unknown' }))).toBe('key_unknown');
      expect(await verify(token)).toMatch(/key_unknown|signature_invalid/);
    });
  }

  for (const pass of ['advance', 'pause'] as const) {
    test(`accepts no cached token with keys that expired during an outage, when time does this: ${pass}`, async () => {
      const { verify, states, clock } = createIssuers({ [A]: [keyOf('a')] });
      const token = mintSigned(A, { signer: 'a' });
      for (const _ of [1, 2]) expect(await verify(token)).toBe('accepted');
      const state = states[A];
      if (state) state.keys = new Error('down');
      clock[pass](MAX_AGE_MS);
      expect(await verify(token)).toBe('accepted');
      clock[pass](MAX_AGE_MS);
      expect(await verify(token)).toBe('keys_unavailable');
    });
  }

  test('verifies the signature before it rejects the issuer', async () => {
    const { verify } = createIssuers({ [A]: [keyOf('a')] });
    expect(await verify(mintSigned(B, { signer: 'a' }))).toBe('issuer_mismatch');
    expect(await verify(mintSigned(B, { signer: 'b' }))).toBe('signature_invalid');
  });
});
