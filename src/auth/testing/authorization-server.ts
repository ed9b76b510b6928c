import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { judgeProof } from '../proof/proof.ts';
import { proofAlgorithms } from '../proof/proof-key.ts';
import { Refusal, refusals } from '../refusals.ts';
import type { Signer } from './signer.ts';
import { GrantError, readTokenRequest, type TokenRequest } from './token-request.ts';
import { isTrustedHost, untrustedHost } from './trusted-host.ts';

/** A client that uses the client-credentials grant (RFC 6749 §4.4). */
export interface Client {
  readonly id: string;
  readonly secret: string;
  /** The scopes that it can be granted, separated by spaces. Empty for none. */
  readonly scope: string;
}

export interface AuthorizationServerOptions {
  /** The issuer identifier. The endpoints are below it. Its host can get tokens, as can loopback hosts. */
  readonly issuer: string;
  /** The API identifiers for which tokens are issued, the default first. */
  readonly audience: readonly string[];
  /** Called for each request. */
  readonly clients: () => readonly Client[];
  readonly signer: Signer;
}

/** The paths of the endpoints below the issuer. RFC 8414 §3.1 puts the path of an issuer behind that of its metadata. */
export const endpoints = {
  token: '/oauth/token',
  keySet: '/.well-known/jwks.json',
  metadata: '/.well-known/oauth-authorization-server',
} as const;

const lifetimeSeconds = 3600;
const kid = 'development';

/**
 * Returns an authorization server for development, as a function of Web-standard requests. The paths of its endpoints may have any
 * prefix, because a proxy or framework can remove that of the issuer. Only its token endpoint requires a trusted Host. NOT for
 * production: it has no rate limit, no revocation and no key rotation.
 */
export function createAuthorizationServer({ issuer, audience, clients, signer }: AuthorizationServerOptions) {
  const base = issuer.replace(/\/$/, '');
  const tokenEndpoint = base + endpoints.token;
  const keys = [{ ...signer.jwk, kid, use: 'sig', alg: 'RS256' }];

  const describe = () => ({
    issuer,
    token_endpoint: tokenEndpoint,
    jwks_uri: base + endpoints.keySet,
    scopes_supported: [...new Set(clients().flatMap(({ scope }) => scope.split(' ').filter(Boolean)))],
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    dpop_signing_alg_values_supported: proofAlgorithms,
  });

  async function grant(request: Request) {
    const tokenRequest = await readTokenRequest(request);
    const { parameters } = tokenRequest;
    const jkt = await readKeyOfClient(request, tokenEndpoint);
    const client = authenticate(clients(), tokenRequest);
    checkGrantType(parameters.get('grant_type'));
    const aud = readTarget(parameters, audience);
    const scope = grantScope(client, parameters);
    const iat = Math.floor(Date.now() / 1000);
    const claims = {
      iss: issuer,
      sub: client.id,
      aud,
      client_id: client.id,
      jti: randomUUID(),
      iat,
      exp: iat + lifetimeSeconds,
      ...(scope && { scope }),
      ...(jkt && { cnf: { jkt } }),
    };
    return {
      access_token: signer.sign({ typ: 'at+jwt', kid }, claims),
      token_type: jkt ? 'DPoP' : 'Bearer',
      expires_in: lifetimeSeconds,
      ...(scope && { scope }),
    };
  }

  async function respondToken(request: Request): Promise<Response> {
    if (!isTrustedHost(request, issuer)) return misdirected();
    try {
      return json(200, await grant(request), { 'cache-control': 'no-store' });
    } catch (error) {
      if (error instanceof GrantError) return respondError(error, request);
      throw error;
    }
  }

  return {
    keys,
    async fetch(request: Request): Promise<Response> {
      const [, path = ''] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)/i.exec(request.url) ?? [];
      const isRead = request.method === 'GET' || request.method === 'HEAD';
      if (path.endsWith(endpoints.token)) return request.method === 'POST' ? respondToken(request) : notAllowed('POST');
      const document = path.endsWith(endpoints.keySet)
        ? { keys }
        : `${path}/`.includes(`${endpoints.metadata}/`) && describe();
      if (!document) return json(404, { error: 'not_found' });
      return isRead ? json(200, document) : notAllowed('GET, HEAD');
    },
  };
}

/** Returns the response to a request with a Host that is not trusted. */
export const misdirected = () => json(421, { error: 'invalid_request', error_description: untrustedHost });

const notAllowed = (allow: string) => json(405, { error: 'invalid_request' }, { allow });

function json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });
}

function respondError({ error, description }: GrantError, request: Request): Response {
  const isForClient = error === 'invalid_client';
  // After credentials in the body, a challenge would make browsers show their own password prompt.
  const hasChallenge = isForClient && request.headers.has('authorization');
  return json(
    isForClient ? 401 : 400,
    { error, error_description: description },
    { 'cache-control': 'no-store', ...(hasChallenge && { 'www-authenticate': 'Basic realm="token endpoint"' }) },
  );
}

/**
 * Returns the thumbprint of the key in the proof of the request, to which the token will be bound (RFC 9449 §5), or undefined
 * without a proof. Does NOT check whether the proof was used before.
 */
async function readKeyOfClient(request: Request, url: string): Promise<string | undefined> {
  const text = request.headers.get('dpop');
  if (text === null) return undefined;
  const proof = await judgeProof(text, { method: 'POST', url, token: undefined, nowMs: Date.now() });
  if (proof instanceof Refusal) throw new GrantError('invalid_dpop_proof', refusals[proof.reason].description);
  return proof.thumbprint;
}

function authenticate(clients: readonly Client[], { clientId, clientSecret }: TokenRequest): Client {
  const client = clients.find(({ id }) => id === clientId);
  if (!client || !isSameSecret(client.secret, clientSecret))
    throw new GrantError('invalid_client', 'Client authentication failed');
  return client;
}

function isSameSecret(a: string, b: string): boolean {
  const digest = (value: string) => createHash('sha256').update(value).digest();
  return timingSafeEqual(digest(a), digest(b));
}

function checkGrantType(grantType: string | undefined): void {
  if (!grantType) throw new GrantError('invalid_request', 'grant_type is missing');
  if (grantType !== 'client_credentials')
    throw new GrantError('unsupported_grant_type', 'Only client_credentials is supported');
}

/** Returns the requested API identifier, by default the first. RFC 8707 calls the parameter `resource`. */
function readTarget(parameters: ReadonlyMap<string, string>, audience: readonly string[]): string | undefined {
  const [target = audience[0], other = target] = ['audience', 'resource'].flatMap((name) => parameters.get(name) ?? []);
  if (other !== target || !audience.some((known) => known === target))
    throw new GrantError('invalid_target', 'Unknown audience');
  return target;
}

/** Returns the requested scopes, by default all that the client can be granted. */
function grantScope(client: Client, parameters: ReadonlyMap<string, string>): string {
  const granted = client.scope.split(' ');
  const wanted = parameters.get('scope')?.split(' ').filter(Boolean) ?? granted;
  if (!wanted.every((scope) => granted.includes(scope)))
    throw new GrantError('invalid_scope', 'The client is not allowed to request this scope');
  return wanted.join(' ');
}
