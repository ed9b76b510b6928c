import { type KeyObject, sign } from 'node:crypto';
import { rsaKey } from './keys.ts';

export const AUDIENCE = 'https://api.example.test/';
export const SCOPE = 'read:messages';
/** The `kid` and the name of the key that signs a token unless a row says otherwise. */
export const SIGNING_KID = 'signing-key';

export interface TokenOverrides {
  /** Members laid over the header; `undefined` takes one away. */
  readonly header?: Readonly<Record<string, unknown>>;
  /** Members laid over the claims; `undefined` takes one away. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly key?: KeyObject;
  /** The header's or the payload's text instead of the JSON of its members, for what JSON.stringify cannot say. */
  readonly headerText?: string | Uint8Array;
  readonly payloadText?: string | Uint8Array;
  /** Changes an encoded part before it is signed, so that its spelling is the only fault. */
  readonly respell?: { readonly part: 'header' | 'payload'; readonly as: (encoded: string) => string };
  /** Another signature scheme over the signing input. */
  readonly signWith?: (input: Buffer) => Uint8Array;
  /** Changes the finished token. */
  readonly reshape?: (token: string) => string;
}

export const nowSeconds = () => Math.floor(Date.now() / 1000);

export const base64url = (text: string | Uint8Array) => Buffer.from(text).toString('base64url');

/** Returns the header and the claims of a token that is accepted everywhere, `read:messages` included. */
export function goodParts(issuer: string): { header: Record<string, unknown>; claims: Record<string, unknown> } {
  const now = nowSeconds();
  return {
    header: { alg: 'RS256', typ: 'JWT', kid: SIGNING_KID },
    claims: { iss: issuer, aud: AUDIENCE, sub: 'client-1', iat: now, exp: now + 300, scope: SCOPE },
  };
}

/** Returns an access token of this issuer, valid but for what the overrides change, with a real signature over whatever they left. */
export function mintToken(issuer: string, overrides: TokenOverrides = {}): string {
  const good = goodParts(issuer);
  const header = overrides.headerText ?? JSON.stringify({ ...good.header, ...overrides.header });
  const payload = overrides.payloadText ?? JSON.stringify({ ...good.claims, ...overrides.claims });
  const { respell } = overrides;
  const spell = (part: 'header' | 'payload', text: string | Uint8Array) =>
    respell?.part === part ? respell.as(base64url(text)) : base64url(text);
  const input = Buffer.from(`${spell('header', header)}.${spell('payload', payload)}`);
  const signature = overrides.signWith?.(input) ?? sign('RSA-SHA256', input, overrides.key ?? rsaKey(SIGNING_KID));
  const token = `${input}.${base64url(signature)}`;
  return overrides.reshape?.(token) ?? token;
}
