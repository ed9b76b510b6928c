/** The scope that `/api/private-scoped` asks for, as the rows spell it. */
export const SCOPE = 'read:messages';

/**
 * What a token comes to on `/api/private` and `/api/private-scoped`: `scope` is 200 and 200, `no scope` is 200 and 403, the others
 * are 401 with that code on both.
 */
export type Outcome = 'scope' | 'no scope' | 'invalid_header' | 'invalid_claims';

/** A token that the test signs; `iat` and `exp` are added when it is made. */
export interface SignedToken {
  readonly header: Readonly<Record<string, unknown>> & { readonly alg: string };
  readonly claims: Readonly<Record<string, unknown>>;
  readonly published: Published;
}

/** What an issuer serves, by the addresses that its documentation names. */
export interface Published {
  readonly jwksUri: string;
  /** Where its metadata are; nothing else answers but the key set. */
  readonly metadata?: string;
  /** Members laid over the published key; `undefined` takes one away. */
  readonly key?: Readonly<Record<string, unknown>>;
  /** Publishes an encryption key with the signing key. */
  readonly hasEncryptionKey?: true;
}

/** One of the forms in which an issuer hands out access tokens. */
export interface TokenForm {
  readonly name: string;
  /** The environment that a user pastes. */
  readonly settings: Readonly<Record<string, string>>;
  /** A token to sign, or the text of one that is no signed JWT. */
  readonly token: SignedToken | string;
  readonly outcome: Outcome;
  /** What to switch on at the issuer; where the form is refused, why, and what to use instead. */
  readonly advice: string;
}

export interface Issuer {
  readonly name: string;
  /** The pages of its documentation that the rows are taken from. */
  readonly sources: readonly string[];
  /** What a client sends for a token of the form that works. */
  readonly request?: string;
  readonly forms: readonly TokenForm[];
}

/** The day on which the sources were read. */
export const SOURCES_READ_ON = '2026-11-21';
