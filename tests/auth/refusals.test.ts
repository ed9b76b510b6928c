import { expect, test } from 'bun:test';
import { describeRejections } from '../../src/auth/guard.ts';
import { type RefusalReason, refusals } from '../../src/auth/refusals.ts';
import type { DpopMode } from '../../src/auth/schemes.ts';

test('every refusal has a description of its own', () => {
  const descriptions = Object.values(refusals).map(({ description }) => description);
  expect(new Set(descriptions).size).toBe(descriptions.length);
  for (const description of descriptions) expect(description).toMatch(/^[A-Z]\w+ .+\w$/);
});

const dpop = /^DPoP .*algs=/;
const invalid = /^Bearer error="invalid_token"/;
const rows: readonly (readonly [mode: DpopMode, want: RegExp | undefined, ...reasons: RefusalReason[]])[] = [
  ['off', undefined, 'dpop_required', 'proof_replayed'],
  ['off', undefined, 'scope_insufficient', 'authentication_insufficient', 'access_denied'],
  ['off', invalid, 'token_bound'],
  ['off', /^Bearer resource_metadata=/, 'credentials_missing'],
  ['on', undefined, 'dpop_required'],
  ['on', invalid, 'token_bound'],
  ['on', /^Bearer .*, DPoP algs=/, 'scheme_unsupported'],
  ['on', dpop, 'proof_replayed'],
  ['required', undefined, 'token_bound', 'scheme_unsupported'],
  ['required', dpop, 'dpop_required', 'token_expired'],
];
for (const [mode, want, ...reasons] of rows)
  test(`with DPoP ${mode}, the documentation shows ${want ?? 'nothing'} for ${reasons}`, () => {
    const options = { issuer: 'https://a.test/', audience: 'b', dpop: mode, publicUrl: 'https://c.test' };
    const described = describeRejections(options);
    for (const reason of reasons) {
      const challenge = described.find((each) => each.reason === reason)?.headers['www-authenticate'];
      if (want) expect(challenge).toMatch(want);
      else expect(challenge).toBeUndefined();
    }
  });
