import type { Base, Change, Forgery } from '../forge/forge.ts';
import { nowSeconds } from '../values/time.ts';

// Here are changes to a good token that rows of several topics have.

/** Returns a change for each value of a member of the header, or of a claim. */
export const headers = (name: string, ...values: readonly unknown[]): readonly Change[] =>
  values.map((value) => ({ header: { [name]: value } }));
export const claims = (name: string, ...values: readonly unknown[]): readonly Change[] =>
  values.map((value) => ({ claims: { [name]: value } }));
/** Returns a change for each function from the right issuer, audience or scope to what its claim has instead. */
export const issuers = (...values: readonly ((issuer: string) => unknown)[]): readonly Forgery[] =>
  values.map((value) => ({ issuer }) => ({ claims: { iss: value(issuer) } }));
export const audiences = (...values: readonly ((audience: string) => unknown)[]): readonly Forgery[] =>
  values.map((value) => ({ audience }) => ({ claims: { aud: value(audience) } }));
export const scopes = (...values: readonly ((scope: string) => unknown)[]): readonly Forgery[] =>
  values.map((value) => ({ scope }) => ({ claims: { scope: value(scope) } }));
/** Returns a change for each time of a claim, in seconds from now. */
export const at = (name: string, ...seconds: readonly number[]): readonly Forgery[] =>
  seconds.map((delta) => () => ({ claims: { [name]: nowSeconds() + delta } }));

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
/** The rule for a member that is there twice. */
export const repeated = 'RFC 7519 §4';
