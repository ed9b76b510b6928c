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
const rows: readonly (readonly [mode: DpopMode, reason: RefusalReason, want: RegExp | undefined])[] = [
  ['off', 'token_bound', /^Bearer error="invalid_token"/],
  ['off', 'credentials_missing', /^Bearer resource_metadata=/],
  ['off', 'dpop_required', undefined],
  ['off', 'proof_replayed', undefined],
  ['off', 'scope_insufficient', undefined],
  ['off', 'authentication_insufficient', undefined],
  ['off', 'access_denied', undefined],
  ['on', 'token_bound', /^Bearer error="invalid_token"/],
  ['on', 'scheme_unsupported', /^Bearer .*, DPoP algs=/],
  ['on', 'dpop_required', undefined],
  ['on', 'proof_replayed', dpop],
  ['required', 'token_bound', undefined],
  ['required', 'scheme_unsupported', undefined],
  ['required', 'dpop_required', dpop],
  ['required', 'token_expired', dpop],
];
for (const [mode, reason, want] of rows) {
  test(`with DPoP ${mode}, the documentation shows ${want ?? 'nothing'} for ${reason}`, () => {
    const options = { issuer: 'https://a.test/', audience: 'b', dpop: mode, publicUrl: 'https://c.test' };
    const rejection = describeRejections(options).find((described) => described.reason === reason);
    const challenge = rejection?.headers['www-authenticate'];
    if (want) expect(challenge).toMatch(want);
    else expect(challenge).toBeUndefined();
  });
}
