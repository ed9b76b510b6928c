import { type Refusal, refuse } from '../refusals.ts';
import { acceptedSchemes, type DpopMode, type Scheme } from '../schemes.ts';

/** The content of an Authorization header: a scheme, with a token or why there is none. */
export interface Credentials {
  /** The scheme of the request, or the usual one. Challenges name it. */
  readonly scheme: Scheme;
  readonly token: string | Refusal;
}

/**
 * Returns a function that reads an Authorization header: one scheme and one token. Two headers arrive joined by a comma, so
 * they have too many parts.
 */
export function createCredentialsReader(dpop: DpopMode): (authorization: string | null) => Credentials {
  const schemes = acceptedSchemes(dpop);
  const [usual = 'Bearer'] = schemes;
  const missing = { scheme: usual, token: refuse('credentials_missing') };
  const unsupported = { scheme: usual, token: refuse(dpop === 'required' ? 'dpop_required' : 'scheme_unsupported') };

  return (authorization) => {
    if (authorization?.startsWith(`${usual} `)) {
      // The usual form, eight times as fast as the general one below.
      const token = authorization.slice(usual.length + 1);
      if (token !== '' && !token.includes(' ') && !token.includes('\t')) return { scheme: usual, token };
    }
    const [word, token, ...rest] = authorization?.match(/[^ \t]+/g) ?? [];
    if (word === undefined) return missing;
    const scheme = schemes.find((name) => name.toLowerCase() === word.toLowerCase());
    if (scheme === undefined) return unsupported;
    const isComplete = token !== undefined && rest.length === 0;
    return { scheme, token: isComplete ? token : refuse('credentials_malformed') };
  };
}
