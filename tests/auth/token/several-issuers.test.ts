import { describe, expect, test } from 'bun:test';
import { COOLDOWN_MS, createIssuers, type Issuers, MAX_AGE_MS, mintSigned } from '../../support/issuers.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { SIGNING_KID } from '../../support/mint.ts';

const A = 'https://a.example.test/';
const B = 'https://b.example.test';
const keyOf = (name: string, kid = SIGNING_KID) => publish(rsaKey(name), kid);

/** Lets A publish other keys from now on. */
const republish = ({ states }: Issuers, keys: readonly unknown[] | Error) => Object.assign(states[A] ?? {}, { keys });

describe('createVerifier() with several issuers', () => {
  const strangers: readonly unknown[] = [
    ...['https://c.example.test/', A.slice(0, -1), `${B}/`, A.toUpperCase(), ` ${A}`, '', '__proto__'],
    ...[undefined, null, [A], { 0: A }, 7],
  ];
  for (const overrides of [...strangers.map((iss) => ({ claims: { iss, issuer: A } })), { payloadText: `["${A}"]` }])
    test(`refuses ${JSON.stringify(overrides)} with any signature, without a fetch`, async () => {
      const { verify, states } = createIssuers({ [A]: [keyOf('a')], [B]: [keyOf('b')] });
      expect(await verify(mintSigned(A, { signer: 'a', overrides }))).toBe('issuer_mismatch');
      expect(Object.values(states)).toMatchObject([{ fetches: 0 }, { fetches: 0 }]);
    });

  test.each([
    ['drops', keyOf('other', 'other'), 'key_unknown'],
    // CVE-2025-22149.
    ['replaces', keyOf('successor'), 'signature_invalid'],
  ])('forgets a cached token when its own issuer %s the key that the other keeps', async (_, left, outcome) => {
    const shared = [keyOf('shared')];
    const issuers = createIssuers({ [A]: shared, [B]: shared });
    const [token, ofOther] = [mintSigned(A, { signer: 'shared' }), mintSigned(B, { signer: 'shared' })];
    for (const each of [token, ofOther, token]) expect(await issuers.verify(each)).toBe('accepted');
    expect(issuers.verifier.state().cacheHits).toBe(1);

    republish(issuers, [left]);
    issuers.clock.advance(COOLDOWN_MS);
    expect(await issuers.verify(mintSigned(A, { kid: 'unknown', signer: 'shared' }))).toBe('key_unknown');
    expect(await issuers.verify(token)).toBe(outcome);
    expect(await issuers.verify(ofOther)).toBe('accepted');
  });
});

test.each(['advance', 'pause'] as const)(
  'createVerifier() rejects a cached token with keys that expired, when time does this: %s',
  async (pass) => {
    const issuers = createIssuers({ [A]: [keyOf('a')], [B]: [keyOf('b')] });
    const token = mintSigned(A, { signer: 'a' });
    expect(await issuers.verify(token)).toBe('accepted');
    republish(issuers, new Error('down'));
    for (const outcome of ['accepted', 'keys_unavailable']) {
      issuers.clock[pass](MAX_AGE_MS);
      expect(await issuers.verify(token)).toBe(outcome);
    }
    expect(issuers.states[B]?.fetches).toBe(0);
  },
);
