import { defaultProofAlgorithms } from '../proof/proof-algorithms.ts';
import { createSigner } from './create-signer.ts';
import type { DevelopmentIssuerOptions, IssuerSecrets } from './development-options.ts';
import { completeClients, isAllowedHost, readDevelopmentOptions } from './development-options.ts';
import { renderTokenCommands } from './token-commands.ts';
import { type Client, createTokenEndpoint, json } from './token-endpoint.ts';

/** An authorization server for development. */
export interface DevelopmentIssuer {
  /**
   * Serves the paths in `endpoints` below any prefix, because a proxy or framework can remove that of the issuer; 404
   * for any other path, and 421 from the token endpoint for a Host that is not allowed.
   */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Returns the 421 for a request whose Host is neither a loopback host nor allowed, for a page that shows secrets. */
  readonly rejectHost: (request: Request) => Response | undefined;
  /** The clients with their secrets, at the time that they are read. */
  readonly clients: readonly Client[];
  /** The paths below the issuer. RFC 8414 §3.1 puts an issuer's path after that of its metadata. */
  readonly endpoints: Readonly<Record<'token' | 'keySet' | 'metadata' | 'authorization', string>>;
  /** What a successor needs to accept the same tokens. */
  readonly secrets: IssuerSecrets;
  /** Shell commands that get a token of each client, for people to paste. They contain the secrets. */
  readonly tokenCommands: string;
  /** Options of a guard that accepts its tokens. With `keys`, a guard in the same process fetches nothing. */
  readonly options: {
    readonly issuer: string;
    readonly audience: readonly [string, ...string[]];
    readonly keys: { readonly keys: readonly object[] };
  };
}

const endpoints = {
  token: '/oauth/token',
  keySet: '/.well-known/jwks.json',
  metadata: '/.well-known/oauth-authorization-server',
  authorization: '/oauth/authorize',
} as const;

/**
 * Returns an authorization server for the development of an application, with the client-credentials grant and DPoP.
 * Keys and secrets are in memory only. NOT for production: it has no rate limit, no revocation and no key rotation.
 * @example
 * const { fetch, clients, options } = createDevelopmentIssuer({
 *   issuer: 'http://localhost:3011/',
 *   audience: 'https://api.example.com',
 *   clients: [{ id: 'reader', scope: 'read:messages' }, { id: 'visitor' }],
 * });
 * Bun.serve({ hostname: '127.0.0.1', port: 3011, fetch });
 * @throws {TypeError} an option is missing or mistyped, or the host of `issuer` is neither a loopback host nor allowed
 */
export function createDevelopmentIssuer(options: DevelopmentIssuerOptions): DevelopmentIssuer {
  const { issuer, audience, hosts, lifetimeSeconds } = readDevelopmentOptions(options);
  const { secrets = { signer: createSigner('RS256'), clients: new Map<string, string>() } } = options;
  const { signer } = secrets;
  const given = () => (typeof options.clients === 'function' ? options.clients() : options.clients);
  const clients = () => completeClients(given(), secrets);
  if (typeof options.clients !== 'function') clients();

  const base = issuer.replace(/\/$/, '');
  const url = base + endpoints.token;
  const respondToken = createTokenEndpoint({ issuer, url, audience, clients, lifetimeSeconds, signer });
  const keys = [{ ...signer.jwk, kid: signer.kid, use: 'sig', alg: 'RS256' }];
  const describe = () => ({
    issuer,
    // The clients of MCP SDKs require these, whatever grant they use: the second one those of the Go SDK.
    authorization_endpoint: base + endpoints.authorization,
    code_challenge_methods_supported: ['S256'],
    token_endpoint: url,
    jwks_uri: base + endpoints.keySet,
    scopes_supported: [...new Set(clients().flatMap(({ scope }) => scope.split(' ').filter(Boolean)))],
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    dpop_signing_alg_values_supported: defaultProofAlgorithms,
  });
  const rejectHost = (request: Request) => (isAllowedHost(request, hosts) ? undefined : json(421, misdirected));

  return {
    endpoints,
    secrets,
    rejectHost,
    options: { issuer, audience, keys: { keys } },
    get clients() {
      return clients();
    },
    get tokenCommands() {
      return renderTokenCommands(url, audience[0], clients());
    },
    async fetch(request) {
      if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers: preflightHeaders });
      const response = await respond(request);
      response.headers.set('access-control-allow-origin', '*');
      return response;
    },
  };

  function respond(request: Request): Response | Promise<Response> {
    const [, path = ''] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)/i.exec(request.url) ?? [];
    if (path.endsWith(endpoints.token))
      return request.method === 'POST' ? (rejectHost(request) ?? respondToken(request)) : wrongMethod('POST');
    if (path.endsWith(endpoints.authorization)) return json(400, unsupported);
    const document = path.endsWith(endpoints.keySet)
      ? { keys }
      : `${path}/`.includes(`${endpoints.metadata}/`) && describe();
    if (!document) return json(404, { error: 'not_found' });
    return request.method === 'GET' || request.method === 'HEAD' ? json(200, document) : wrongMethod('GET, HEAD');
  }
}

/** Pages of every origin may use it: a token needs a secret, the rest is public. Swagger UI sends the last header. */
const preflightHeaders = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, POST',
  'access-control-allow-headers': 'Authorization, Content-Type, DPoP, X-Requested-With',
  'access-control-max-age': '86400',
};

const wrongMethod = (allow: string) => json(405, { error: 'invalid_request' }, { allow });

/** No client has a redirect URI, so the error is not sent to one (RFC 6749 §4.1.2.1). */
const unsupported = {
  error: 'unsupported_response_type',
  error_description: 'Only the client-credentials grant is supported, which needs no authorization',
};

const misdirected = {
  error: 'invalid_request',
  error_description: 'Host must be localhost, a loopback address or an allowed host',
};
