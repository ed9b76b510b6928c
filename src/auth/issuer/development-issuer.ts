import { randomBytes } from 'node:crypto';
import { proofAlgorithms } from '../proof/proof-key.ts';
import { isText } from '../values/json.ts';
import { isLoopbackHost, isSecureUrl } from '../values/url.ts';
import { createSigner, type Signer } from './signer.ts';
import { renderTokenCommands } from './token-commands.ts';
import { type Client, createTokenEndpoint, json } from './token-endpoint.ts';

/** A client, and what it can be granted. */
export interface DevelopmentClient {
  /** Its identifier, `client_id`. */
  readonly id: string;
  /** Defaults to a random one. */
  readonly secret?: string | undefined;
  /** The scopes that it can be granted: separated by spaces, or a list. Defaults to none. */
  readonly scope?: string | readonly string[] | undefined;
}

/** The key pair of an issuer, and the random secrets of its clients. They are in memory only. */
export interface IssuerSecrets {
  /** Signs the tokens. */
  readonly signer: Signer;
  /** By client ID. */
  readonly clients: Map<string, string>;
}

/** The options of a development issuer. */
export interface DevelopmentIssuerOptions {
  /** The issuer identifier: a URL below which the endpoints are served, on a loopback host or one of `allowedHosts`. */
  readonly issuer: string;
  /** The API identifiers for which tokens are issued. The first is the default. */
  readonly audience: string | readonly string[];
  /** The clients, or a function that is called for each request. */
  readonly clients: readonly DevelopmentClient[] | (() => readonly DevelopmentClient[]);
  /** Hosts other than loopback at which clients get tokens, with their port unless it is the default. Defaults to none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** The keys and secrets of an earlier issuer, which keep its tokens valid. Defaults to new ones. */
  readonly secrets?: IssuerSecrets | undefined;
}

/** An authorization server for development. */
export interface DevelopmentIssuer {
  /**
   * Serves the paths in `endpoints`, with any prefix, because a proxy or framework can remove that of the issuer. Returns 404 for
   * any other path. Its token endpoint returns 421 for a Host that is not allowed.
   */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Returns the 421 for a request whose Host is neither a loopback host nor allowed, for a page that shows secrets. */
  readonly refuseHost: (request: Request) => Response | undefined;
  /** The clients with their secrets, at the time that they are read. */
  readonly clients: readonly Client[];
  /** The paths of the endpoints below the issuer. RFC 8414 §3.1 puts an issuer's path after the path of its metadata. */
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

const kid = 'development';

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
 * @throws {TypeError} an option is missing or mistyped, or the host of `issuer` is neither a loopback host nor allowed
 */
export function createDevelopmentIssuer(options: DevelopmentIssuerOptions): DevelopmentIssuer {
  const { issuer, audience, hosts } = readIssuerOptions(options);
  const { secrets = { signer: createSigner('RS256'), clients: new Map<string, string>() } } = options;
  const given = () => (typeof options.clients === 'function' ? options.clients() : options.clients);
  const clients = () => completeClients(given(), secrets);
  if (typeof options.clients !== 'function') clients();

  const base = issuer.replace(/\/$/, '');
  const url = base + endpoints.token;
  const respondToken = createTokenEndpoint({ issuer, url, audience, clients, signer: secrets.signer, kid });
  const keys = [{ ...secrets.signer.jwk, kid, use: 'sig', alg: 'RS256' }];
  const describe = () => ({
    issuer,
    // The clients of the MCP SDK require one to be named, whatever grant they use.
    authorization_endpoint: base + endpoints.authorization,
    token_endpoint: url,
    jwks_uri: base + endpoints.keySet,
    scopes_supported: [...new Set(clients().flatMap(({ scope }) => scope.split(' ').filter(Boolean)))],
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    dpop_signing_alg_values_supported: proofAlgorithms,
  });
  const refuseHost = (request: Request) => (isAllowedHost(request, hosts) ? undefined : respondMisdirected());

  return {
    endpoints,
    secrets,
    refuseHost,
    options: { issuer, audience, keys: { keys } },
    get clients() {
      return clients();
    },
    get tokenCommands() {
      return renderTokenCommands(url, audience[0], clients());
    },
    async fetch(request) {
      const [, path = ''] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)/i.exec(request.url) ?? [];
      if (path.endsWith(endpoints.token))
        return request.method === 'POST' ? (refuseHost(request) ?? respondToken(request)) : wrongMethod('POST');
      if (path.endsWith(endpoints.authorization)) return json(400, unsupported);
      const document = path.endsWith(endpoints.keySet)
        ? { keys }
        : `${path}/`.includes(`${endpoints.metadata}/`) && describe();
      if (!document) return json(404, { error: 'not_found' });
      return request.method === 'GET' || request.method === 'HEAD' ? json(200, document) : wrongMethod('GET, HEAD');
    },
  };
}

const wrongMethod = (allow: string) => json(405, { error: 'invalid_request' }, { allow });

/** No client has a redirect URI, so the error is not sent to one (RFC 6749 §4.1.2.1). */
const unsupported = {
  error: 'unsupported_response_type',
  error_description: 'Only the client-credentials grant is supported, which needs no authorization',
};

const respondMisdirected = () =>
  json(421, {
    error: 'invalid_request',
    error_description: 'Host must be localhost, a loopback address or an allowed host',
  });

const must = (name: string, expected: string) =>
  new TypeError(`Cannot create a development issuer: ${name} must be ${expected}`);

function readIssuerOptions({ issuer, audience, allowedHosts = [] }: DevelopmentIssuerOptions) {
  if (!isSecureUrl(issuer, true) || issuer.includes('?'))
    throw must('issuer', 'a URL without query, fragment or credentials');
  const { protocol, host, hostname } = new URL(issuer);
  if (!Array.isArray(allowedHosts) || !allowedHosts.every((each) => isText(each) && readHost(each, protocol)))
    throw must('allowedHosts', 'a list of hosts, such as dev.example.com or dev.example.com:8443');
  const allowed = new Set(allowedHosts.map((each) => readHost(each, protocol)?.host));
  if (!isLoopbackHost(hostname) && !allowed.has(host))
    throw must('issuer', 'a URL on a loopback host, or on an allowed host');
  const [first, ...others] = [audience].flat();
  if (!isText(first) || !others.every(isText)) throw must('audience', 'the API identifier');
  return { issuer, audience: [first, ...others] as const, hosts: { protocol, allowed } };
}

function completeClients(
  clients: readonly DevelopmentClient[],
  { clients: secrets }: IssuerSecrets,
): readonly Client[] {
  const ids = new Set(Array.isArray(clients) ? clients.map(({ id }) => id) : undefined);
  if (ids.size === 0 || ids.size !== clients.length || ![...ids].every(isText))
    throw must('clients', 'a list of clients, each with a different id');
  return clients.map(({ id, secret = secrets.get(id) ?? randomBytes(16).toString('hex'), scope = [] }) => {
    if (!isText(secret)) throw must(`the secret of ${JSON.stringify(id)}`, 'a non-empty string');
    secrets.set(id, secret);
    return { id, secret, scope: [scope].flat().join(' ') };
  });
}

/**
 * Returns whether the Host of a request is a loopback host (any port) or allowed. A website that points its own name at this
 * machine (DNS rebinding) sends that name. Without a Host header, the URL of the request is checked.
 */
function isAllowedHost(
  request: Request,
  { protocol, allowed }: ReturnType<typeof readIssuerOptions>['hosts'],
): boolean {
  // On Bun, the URL of a request with an invalid Host cannot be parsed.
  const sent = request.headers.get('host') ?? /^https?:\/\/([^/?#]*)/i.exec(request.url)?.[1] ?? '';
  const url = readHost(sent, protocol);
  return url !== undefined && (allowed.has(url.host) || isLoopbackHost(url.hostname));
}

function readHost(host: string, protocol: string): URL | undefined {
  const isHost = /^[\w.-]+(:\d+)?$|^\[[\da-f:]+\](:\d+)?$/i.test(host) && URL.canParse(`${protocol}//${host}`);
  return isHost ? new URL(`${protocol}//${host}`) : undefined;
}
