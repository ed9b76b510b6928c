import type { Base, Change, Forgery } from '../forge/forge.ts';
import { nowSeconds } from '../values/time.ts';

// Here are changes to a good token that rows of several topics have.

/** Returns a change for each value of a member of the header, or of a claim. */
export const headers = (name: string, ...values: readonly unknown[]): readonly Change[] =>
  values.map((value) => ({ header: { [name]: value } }));
export const claims = (name: string, ...values: readonly unknown[]): readonly Change[] =>
  values.map((value) => ({ claims: { [name]: value } }));
/** Returns a change for each value that a claim has instead of the right one. */
const insteadOf =
  (claim: string, right: (base: Base) => string) =>
  (values: (right: string) => readonly unknown[]): readonly Forgery[] =>
    values('').map((_, at) => (base) => ({ claims: { [claim]: values(right(base))[at] } }));
export const issuers = insteadOf('iss', ({ issuer }) => issuer);
export const audiences = insteadOf('aud', ({ audience }) => audience);
export const scopes = insteadOf('scope', ({ scope }) => scope);
/** Returns a change for each time of a claim, in seconds from now. */
export const at = (name: string, ...seconds: readonly number[]): readonly Forgery[] =>
  seconds.map((delta) => () => ({ claims: { [name]: nowSeconds() + delta } }));

/** Returns the claims of a token that expires so many seconds from now, and was issued an hour before that. */
export const expiring = (seconds: number) => {
  const exp = nowSeconds() + seconds;
  // Spring rejects a token for an iat after its exp, and an expiry that nobody checks would pass.
  return { claims: { exp, iat: Math.floor(exp) - 3600 } };
};

/** Returns a token with this text as the payload or the header, for what JSON.stringify cannot produce. */
export const payload =
  (write: (good: string, base: Base) => string | Uint8Array): Forgery =>
  (base) => ({ payloadText: write(JSON.stringify(base.claims()), base) });
export const headerText =
  (write: (good: string) => string | Uint8Array): Forgery =>
  ({ header }) => ({ headerText: write(JSON.stringify(header)) });
/** Returns a token with more text at the end of the claims. */
export const withMore = (more: string) => payload((good) => `${good.slice(0, -1)},${more}}`);

export const other = 'https://other.invalid/';
/** What is set against a fault of a parser. */
export const update = 'Update the library, or change it: how it reads a token is no setting';
/** For a type that no issuer writes: only one that is trusted could sign it, so it is no attack. */
export const oddType = {
  level: 'should',
  remedy: 'Read the claim as text, or as a list of texts, before it is compared: no list in it, and no object',
  ownCode: 'Check the type of a claim before you compare it',
} as const;
/** For a member that is there twice. */
export const repeated = {
  level: 'should',
  rule: 'RFC 7519 §4',
  remedy: update,
  ownCode: 'Reject JSON with a member that is there twice',
} as const;
