import { type Rejected, rejectFor } from '../rejections.ts';
import type { CheckedOptions, GuardRequest, Scheme } from '../types.ts';
import { acceptedSchemes } from './rejection.ts';

/**
 * Returns a function that reads the Authorization header: its scheme, or the first accepted one, which challenges name,
 * and its token, or why there is none. Two headers arrive joined by a comma, so they have too many parts.
 */
export function createCredentialsReader({ dpop, webSocketProtocol }: CheckedOptions) {
  const schemes = acceptedSchemes(dpop);
  const [first = 'Bearer'] = schemes;
  const missing = { scheme: first, token: rejectFor('credentials_missing') };
  const unsupported = {
    scheme: first,
    token: rejectFor(dpop === 'required' ? 'scheme_not_dpop' : 'scheme_unsupported'),
  };
  const bearer = { scheme: first, token: rejectFor('dpop_required') };

  const read = (
    authorization: string | null | undefined,
    request?: GuardRequest,
  ): { readonly scheme: Scheme; readonly token: string | Rejected } => {
    if (authorization?.startsWith(`${first} `)) {
      // The common form, eight times as fast as the general one below.
      const token = authorization.slice(first.length + 1);
      if (token !== '' && !token.includes(' ') && !token.includes('\t')) return { scheme: first, token };
    }
    const [word, token, ...rest] = authorization?.match(/[^ \t]+/g) ?? [];
    if (word === undefined)
      return webSocketProtocol !== undefined && request ? read(offeredCredentials(request)) : missing;
    const scheme = schemes.find((name) => name.toLowerCase() === word.toLowerCase());
    if (scheme === undefined) return dpop === 'required' && word.toLowerCase() === 'bearer' ? bearer : unsupported;
    const isComplete = token !== undefined && rest.length === 0;
    return { scheme, token: isComplete ? token : rejectFor('credentials_malformed') };
  };
  return (request: GuardRequest) => read(request.headers.get('authorization'), request);
}

/**
 * Returns the credentials that the upgrade of a WebSocket offers as subprotocols, `bearer, TOKEN`, in the form of an
 * Authorization header: browsers cannot set that one. They are incomplete unless `bearer` is the first subprotocol, and
 * only that: a server selects the first, and so would send a token that stands there back.
 */
function offeredCredentials({ method, headers }: GuardRequest): string | undefined {
  if (method !== 'GET' || headers.get('upgrade')?.toLowerCase() !== 'websocket') return undefined;
  const offers =
    headers
      .get('sec-websocket-protocol')
      ?.split(',')
      .map((offer) => offer.trim()) ?? [];
  const isBearer = offers.map((offer) => offer.toLowerCase() === 'bearer');
  if (!isBearer.includes(true)) return undefined;
  const [first, token = ''] = offers;
  return first === 'bearer' && isBearer.lastIndexOf(true) === 0 ? `bearer ${token}` : 'bearer';
}
