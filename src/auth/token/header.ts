import { base64url } from 'jose';
import { type Algorithm, algorithmOf } from '../jose/algorithms.ts';
import type { RefusalReason } from '../refusals.ts';

/** The part of a token's header that selects its key. */
export interface TokenHeader {
  readonly algorithm: Algorithm;
  readonly kid: string;
}

/** Generous: access tokens are usually below 2 KiB, and common servers limit a header line to 8 KiB. */
const maxTokenLength = 8192;
const allowedTypes = new Set<unknown>([undefined, 'jwt', 'at+jwt', 'application/at+jwt']);

/**
 * Returns the header of a token in JWS compact serialization (RFC 7515 §7.1), or why the token is rejected, as far as that can
 * be decided without a key. Members such as `jwk`, `jku` and `x5u` are ignored: a token never supplies its own key.
 */
export function readHeader(
  token: string,
  accepted: readonly Algorithm[],
): TokenHeader | { readonly refusal: RefusalReason } {
  if (token.length > maxTokenLength) return { refusal: 'token_oversized' };
  const parts = token.split('.', 6);
  // Some opaque tokens contain a dot. A truncated JWT begins with `eyJ`, which is `{"` in base64url.
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

/** Returns the unverified `iss` of a token. Use it only to select one of the configured issuers. */
export function readUnverifiedIssuer(token: string): unknown {
  return parseJsonObject(base64url.decode(token.split('.', 2)[1] ?? ''))?.iss;
}

/** The characters that the last group may end with, by its length: those without unused bits. */
const lastCharacters = [undefined, '', 'AQgw', 'AEIMQUYcgkosw048'];

/** Whether the text is canonical base64url (RFC 4648 §3.5): not empty, without padding, unused bits or white space. */
export function isCanonicalBase64Url(text: string): boolean {
  // One expression for all of it takes twice as long.
  const allowed = lastCharacters[text.length % 4];
  return /^[\w-]+$/.test(text) && (allowed === undefined || allowed.includes(text.slice(-1)));
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns the JSON object in `bytes`, or undefined for anything else, including an object after a byte order mark. */
export function parseJsonObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(strictUtf8.decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
