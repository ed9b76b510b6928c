import type { KeyObject } from 'node:crypto';
import { publish, rsaKey, signingKey } from './keys.ts';
import { signAs } from './signatures.ts';

export const AUDIENCE = 'https://api.example.test/';
export const SCOPE = 'read:messages';
/** The `kid`, and the name, of the key that signs a token by default. */
export const SIGNING_KID = 'signing-key';
export const signingKeys = () => [publish(rsaKey(SIGNING_KID), SIGNING_KID)];

export interface TokenOverrides {
  /** Replaces members of the header. `undefined` removes one. */
  readonly header?: Readonly<Record<string, unknown>>;
  /** Replaces members of the claims. `undefined` removes one. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly key?: KeyObject;
  /** The algorithm of the signature, whatever the header says: by default RS256. */
  readonly signedAs?: string;
  /** The text of the header or the payload, for JSON that JSON.stringify cannot produce. */
  readonly headerText?: string | Uint8Array;
  readonly payloadText?: string | Uint8Array;
  /** Changes an encoded part before it is signed, so that only its encoding is wrong. */
  readonly respell?: { readonly part: 'header' | 'payload'; readonly as: (encoded: string) => string };
  readonly signWith?: (input: Buffer) => Uint8Array;
  readonly reshape?: (token: string) => string;
}

export const nowSeconds = () => Math.floor(Date.now() / 1000);

export const base64url = (text: string | Uint8Array) => Buffer.from(text).toString('base64url');

/** Returns an access token that is accepted on all paths, with the given changes and a real signature. */
export function mintToken(issuer: string, overrides: TokenOverrides = {}): string {
  const now = nowSeconds();
  const header = { alg: 'RS256', typ: 'JWT', kid: SIGNING_KID };
  const claims = { iss: issuer, aud: AUDIENCE, sub: 'client-1', iat: now, exp: now + 300, scope: SCOPE };
  return assemble({ header, claims }, overrides);
}

/** Returns the headers of a request with this token. */
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Returns the JWT of a header and claims with the given changes. */
export function assemble(good: Readonly<Record<'header' | 'claims', object>>, overrides: TokenOverrides): string {
  const header = overrides.headerText ?? JSON.stringify({ ...good.header, ...overrides.header });
  const payload = overrides.payloadText ?? JSON.stringify({ ...good.claims, ...overrides.claims });
  const { respell } = overrides;
  const spell = (part: 'header' | 'payload', text: string | Uint8Array) =>
    respell?.part === part ? respell.as(base64url(text)) : base64url(text);
  const input = Buffer.from(`${spell('header', header)}.${spell('payload', payload)}`);
  const { signedAs = 'RS256', key = signingKey(signedAs, SIGNING_KID) } = overrides;
  const signature = overrides.signWith?.(input) ?? signAs(signedAs, key, input);
  const token = `${input}.${base64url(signature)}`;
  return overrides.reshape?.(token) ?? token;
}
