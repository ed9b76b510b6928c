import * as base64url from 'jose/base64url';
import { algorithmOf } from '../keys/algorithms.ts';
import { maxTokenLength, type Rejected, rejectFor } from '../rejections.ts';
import type { Algorithm, TokenType } from '../types.ts';
import { isCanonicalBase64Url } from '../values/base64url.ts';
import { parseJsonObject } from '../values/json.ts';

/** The part of a token's header that selects its key. */
export interface TokenHeader {
  readonly algorithm: Algorithm;
  readonly kid: string;
}

const accessTokenTypes = ['at+jwt', 'application/at+jwt'];
/** RFC 7515 §4.1.9: `application/` can be left out. */
const allowedTypes: Readonly<Record<TokenType, ReadonlySet<unknown>>> = {
  jwt: new Set([undefined, 'jwt', 'application/jwt', ...accessTokenTypes]),
  'at+jwt': new Set(accessTokenTypes),
};

/** Whether a token may have this `typ` in its header. */
export const allowsType = (tokenType: TokenType, typ: unknown) =>
  allowedTypes[tokenType].has(typeof typ === 'string' ? typ.toLowerCase() : typ);

/**
 * Returns a function that reads the header of a token in JWS compact serialization (RFC 7515 §7.1), or returns why the
 * token is rejected, as far as this can be decided without a key. A token never supplies its own key: `jwk`, `jku` and
 * `x5u` are ignored.
 */
export function createHeaderReader(accepted: readonly Algorithm[], tokenType: TokenType) {
  // An issuer's tokens mostly have the same header.
  let last: { readonly text: string; readonly header: TokenHeader } | undefined;
  const otherAlgorithm = rejectFor('algorithm_unsupported', { algorithms: accepted });
  const otherType = rejectFor('type_unsupported', { tokenType });

  return (token: string): TokenHeader | Rejected => {
    if (token.length > maxTokenLength) return rejectFor('token_oversized');
    const parts = token.split('.', 6);
    // Some opaque tokens contain a dot. A truncated JWT begins with `eyJ`, which is `{"` in base64url.
    if (parts.length < 3 && !token.startsWith('eyJ')) return rejectFor('token_opaque');
    // Two tokens joined by a comma have five parts too.
    if (parts.length === 5 && /^[\w.-]+$/.test(token)) return rejectFor('token_encrypted');
    if (parts.length !== 3 || !parts.every(isCanonicalBase64Url)) return rejectFor('token_malformed');

    const [text = ''] = parts;
    if (text === last?.text) return last.header;
    const header = parseJsonObject(base64url.decode(text));
    if (!header) return rejectFor('token_malformed');
    const { alg, crit, kid, typ } = header;
    const algorithm = algorithmOf(alg);
    if (algorithm === undefined || !accepted.includes(algorithm)) return otherAlgorithm;
    if (crit !== undefined) return rejectFor('critical_header');
    if (!allowsType(tokenType, typ)) return otherType;
    if (typeof kid !== 'string' || kid === '') return rejectFor('key_id_missing');
    last = { text, header: { algorithm, kid } };
    return last.header;
  };
}

/** Returns the unverified `iss` of a token. Use it only to select one of the configured issuers. */
export function readUnverifiedIssuer(token: string): unknown {
  return parseJsonObject(base64url.decode(token.split('.', 2)[1] ?? ''))?.iss;
}
