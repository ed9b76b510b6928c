import { expect, test } from 'bun:test';
import { createCredentialsReader } from '../../../src/auth/guard/credentials.ts';
import { Refusal } from '../../../src/auth/refusals.ts';
import type { DpopMode } from '../../../src/auth/schemes.ts';

const rows: readonly (readonly [dpop: DpopMode, authorization: string | null, want: string])[] = [
  ['off', 'Bearer t', 'Bearer t'],
  ['off', ' bearer \t t ', 'Bearer t'],
  ['off', null, 'Bearer credentials_missing'],
  ['off', ' \t', 'Bearer credentials_missing'],
  ['off', 'Bearer', 'Bearer credentials_malformed'],
  ['off', 'Bearer ', 'Bearer credentials_malformed'],
  ['off', 'Bearer a b', 'Bearer credentials_malformed'],
  ['off', 'Bearer a\tb', 'Bearer credentials_malformed'],
  ['off', 'Bearer\vt', 'Bearer scheme_unsupported'],
  ['off', 'DPoP t', 'Bearer scheme_unsupported'],
  ['on', 'Bearer t', 'Bearer t'],
  ['on', 'dpop t', 'DPoP t'],
  ['on', 'DPoP', 'DPoP credentials_malformed'],
  ['on', 'Basic t', 'Bearer scheme_unsupported'],
  ['required', 'DPoP t', 'DPoP t'],
  ['required', 'Bearer t', 'DPoP dpop_required'],
  ['required', null, 'DPoP credentials_missing'],
];

for (const [dpop, authorization, want] of rows)
  test(`createCredentialsReader() with DPoP ${dpop} reads ${JSON.stringify(authorization)} as ${want}`, () => {
    const { scheme, token } = createCredentialsReader(dpop)(authorization);
    expect(`${scheme} ${token instanceof Refusal ? token.reason : token}`).toBe(want);
  });
