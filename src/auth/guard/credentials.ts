import { acceptedSchemes, type DpopMode, type Scheme } from '../proof/schemes.ts';
import type { RefusalReason } from '../refusals.ts';

/** The content of an Authorization header, or why it is rejected. */
export type Credentials =
  | { readonly scheme: Scheme; readonly token: string }
  | { readonly scheme: Scheme; readonly refusal: RefusalReason };

/**
 * Returns a function that reads an Authorization header: one scheme and one token. Two headers arrive joined by a comma, so
 * they have too many parts.
 */
export function createCredentialsReader(dpop: DpopMode): (authorization: string | null) => Credentials {
  const schemes = acceptedSchemes(dpop);
  const [usual = 'Bearer'] = schemes;

  return (authorization) => {
    if (authorization?.startsWith(`${usual} `)) {
      // The usual form, eight times as fast as the general one below.
      const token = authorization.slice(usual.length + 1);
      if (token !== '' && !token.includes(' ') && !token.includes('\t')) return { scheme: usual, token };
    }
    const [word, token, ...rest] = authorization?.match(/[^ \t]+/g) ?? [];
    if (word === undefined) return { scheme: usual, refusal: 'credentials_missing' };
    const scheme = schemes.find((name) => name.toLowerCase() === word.toLowerCase());
    if (scheme === undefined)
      return { scheme: usual, refusal: dpop === 'required' ? 'dpop_required' : 'scheme_unsupported' };
    if (token === undefined || rest.length > 0) return { scheme, refusal: 'credentials_malformed' };
    return { scheme, token };
  };
}
