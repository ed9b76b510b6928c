import { isLoopbackHost, isSecureUrl } from '../keys/url.ts';
import { type Client, createAuthorizationServer, misdirected } from './authorization-server.ts';
import { createSecret, createSigner } from './signer.ts';
import { isTrustedHost } from './trusted-host.ts';

/** A client, and what it can be granted. */
export interface DevelopmentClient {
  readonly id: string;
  /** Defaults to a random one. */
  readonly secret?: string | undefined;
  /** The scopes that it can be granted: separated by spaces, or a list. Defaults to none. */
  readonly scope?: string | readonly string[] | undefined;
}

export interface DevelopmentIssuerOptions {
  /** The issuer identifier: an address on a loopback host, below which the endpoints are served. */
  readonly issuer: string;
  /** The API identifiers for which tokens are issued. The first is the default. */
  readonly audience: string | readonly string[];
  readonly clients: readonly DevelopmentClient[];
}

/** An authorization server for development. */
export interface DevelopmentIssuer {
  /**
   * Answers requests to the token endpoint `/oauth/token`, the key set `/.well-known/jwks.json` and the metadata
   * `/.well-known/oauth-authorization-server`; any other path with 404, any Host but a loopback one with 421.
   */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The clients with their secrets. */
  readonly clients: readonly Client[];
  /** Options of a guard that accepts its tokens. With `keys`, a guard in the same process fetches nothing. */
  readonly options: {
    readonly issuer: string;
    readonly audience: readonly string[];
    readonly keys: { readonly keys: readonly object[] };
  };
}

/**
 * Returns an authorization server for the development of an application, with the client-credentials grant and DPoP. Keys and
 * secrets are in memory only. NOT for production: it has no rate limit, no revocation and no key rotation.
 * @example
 * const { fetch, clients, options } = createDevelopmentIssuer({
 *   issuer: 'http://localhost:3011/',
 *   audience: 'https://api.example.com',
 *   clients: [{ id: 'reader', scope: 'read:reports' }, { id: 'visitor' }],
 * });
 * Bun.serve({ hostname: '127.0.0.1', port: 3011, fetch });
 * @throws {TypeError} `issuer` is not an address on a loopback host, or another option is missing or mistyped
 */
export function createDevelopmentIssuer(options: DevelopmentIssuerOptions): DevelopmentIssuer {
  const { issuer, audience, clients } = checkOptions(options);
  const { fetch, keys } = createAuthorizationServer({
    issuer,
    audience,
    clients: () => clients,
    signer: createSigner('RS256'),
  });
  return {
    clients,
    options: { issuer, audience, keys: { keys } },
    fetch: async (request) => (isTrustedHost(request, issuer) ? fetch(request) : misdirected()),
  };
}

function checkOptions({ issuer, audience, clients }: DevelopmentIssuerOptions) {
  const must = (name: string, expected: string) =>
    new TypeError(`Cannot create a development issuer: ${name} must be ${expected}`);
  if (!isSecureUrl(issuer, true) || issuer.includes('?') || !isLoopbackHost(new URL(issuer).hostname))
    throw must('issuer', 'an address on a loopback host, without query, fragment or credentials');
  const audiences = [audience].flat();
  if (audiences.length === 0 || !audiences.every(isText)) throw must('audience', 'the API identifier');
  const ids = new Set(Array.isArray(clients) ? clients.map(({ id }) => id) : undefined);
  if (ids.size === 0 || ids.size !== clients.length || ![...ids].every(isText))
    throw must('clients', 'a list of clients, each with an id of its own');
  const complete = ({ id, secret = createSecret(), scope = [] }: DevelopmentClient): Client => {
    if (!isText(secret)) throw must(`the secret of ${JSON.stringify(id)}`, 'a text');
    return { id, secret, scope: [scope].flat().join(' ') };
  };
  return { issuer, audience: audiences, clients: clients.map(complete) };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';
