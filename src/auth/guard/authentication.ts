import type { VerifiedToken } from '../token/verifier.ts';
import type { Anonymous, Authentication, Claims } from '../types.ts';
import { accept } from './decision.ts';

/*
 * What a request is accepted with, as the application gets it. Whether it is accepted is decided in decide.ts.
 */

/** What a token says of its client. */
type Client = Pick<Authentication, 'clientId' | 'scopes'>;

/**
 * Returns a function that makes what a request is accepted with. The scopes of a token are read once for as long as it
 * is cached, and are values: on Node.js, an object with getters takes a microsecond.
 */
export function createAuthentication(scopesOf: (claims: Claims) => readonly string[]) {
  const clients = new WeakMap<VerifiedToken, Client>();
  const clientOf = (verified: VerifiedToken): Client => {
    const known = clients.get(verified);
    if (known) return known;
    const client = { clientId: clientIdOf(verified.claims), scopes: scopesOf(verified.claims) };
    clients.set(verified, client);
    return client;
  };
  /** @param claims those of the token, or the output of a schema */
  return (verified: VerifiedToken, claims: Claims, token: string, dpopNonce: string | undefined): Authentication => {
    const { clientId, scopes } = clientOf(verified);
    return accept({ claims, token, clientId, scopes, dpopNonce }, verified.claims);
  };
}

/** RFC 9068 §2.2 names it client_id; Auth0 and Keycloak azp, Okta cid, Entra azp or appid. */
const clientIdOf = ({ client_id, azp, cid, appid }: Claims): string | undefined =>
  [client_id, azp, cid, appid].find((client) => typeof client === 'string');

/** Returns what a request without credentials is accepted with, where a token is optional. */
export const createAnonymous = (): Anonymous =>
  Object.freeze(
    accept({
      claims: undefined,
      token: undefined,
      scopes: Object.freeze([]),
      clientId: undefined,
      dpopNonce: undefined,
    }),
  );
