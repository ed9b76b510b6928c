import type { GuardRequest } from '../types.ts';

/**
 * Returns the credentials that the upgrade of a WebSocket offers as subprotocols, `bearer, TOKEN`, in the form of an
 * Authorization header: browsers cannot set that one. They are incomplete unless `bearer` is the first subprotocol, and
 * only that: a server selects the first, and so would send a token that stands there back.
 */
export function offeredCredentials({ method, headers }: GuardRequest): string | undefined {
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
