import { base64url } from 'jose';
import { type Algorithm, algorithmOf } from './algorithm.ts';
import type { RefusalReason } from './refusal.ts';

/** What must be known of a token before its key is looked up. */
export interface TokenHeader {
  readonly algorithm: Algorithm;
  readonly kid: string;
}

/** A generous bound: access tokens are below 2 KiB, and common servers limit a header line to 8 KiB. */
const maxTokenLength = 8192;
const allowedTypes = new Set<unknown>([undefined, 'jwt', 'at+jwt', 'application/at+jwt']);

/**
 * Returns the header of a token in JWS compact serialization (RFC 7515 §7.1), or why it is refused: all that can be decided
 * without a key. Members such as `jwk`, `jku` and `x5u` are ignored: a token never brings its own key.
 */
export function readHeader(
  token: string,
  accepted: readonly Algorithm[],
): TokenHeader | { readonly refusal: RefusalReason } {
  if (token.length > maxTokenLength) return { refusal: 'token_oversized' };
  const parts = token.split('.', 6);
  // Some opaque tokens have a dot in them; a JWT that was cut off begins like a JWT: with `{"` in base64url.
  if (parts.length < 3 && !token.startsWith('eyJ')) return { refusal: 'token_opaque' };
  if (parts.length === 5) return { refusal: 'token_encrypted' };
  if (parts.length !== 3 || !parts.every(isCanonicalBase64Url)) return { refusal: 'token_malformed' };

  const header = parseJsonObject(base64url.decode(parts[0] ?? ''));
  if (!header) return { refusal: 'token_malformed' };
  const { alg, crit, kid, typ } = header;
  const algorithm = algorithmOf(alg);
  if (algorithm === undefined || !accepted.includes(algorithm)) return { refusal: 'algorithm_unsupported' };
  if (crit !== undefined) return { refusal: 'critical_header' };
  if (!allowedTypes.has(typeof typ === 'string' ? typ.toLowerCase() : typ)) return { refusal: 'type_unsupported' };
  if (typeof kid !== 'string' || kid === '') return { refusal: 'key_id_missing' };
  return { algorithm, kid };
}

/** Returns the `iss` that a token claims, not verified: good for choosing one of the configured issuers and for nothing else. */
export function readUnverifiedIssuer(token: string): unknown {
  return parseJsonObject(base64url.decode(token.split('.', 2)[1] ?? ''))?.iss;
}

/** Whole groups of four characters, then perhaps two or three, the last of which leaves no bit unused. */
const canonicalBase64Url = /^(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/** One spelling for each byte string (RFC 4648 §3.5): no padding, no spare bits, no white space, and not empty. */
export function isCanonicalBase64Url(text: string): boolean {
  return text !== '' && canonicalBase64Url.test(text);
}

/** Returns the JSON object in `bytes`; undefined for anything else, a byte order mark before it included. */
export function parseJsonObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
