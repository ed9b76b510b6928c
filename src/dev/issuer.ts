import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Elysia } from 'elysia';
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, type JWK, SignJWT } from 'jose';
import { judgeProof } from '../auth/proof/proof.ts';
import { proofAlgorithms } from '../auth/proof/proof-key.ts';
import { Refusal, refusals } from '../auth/refusals.ts';
import { isTrustedHost, untrustedHost } from '../http/trusted-host.ts';
import type { Client } from '../openapi/authorization-dialog.ts';

export interface EmbeddedIssuerOptions {
  /** The issuer identifier with a trailing slash. The endpoints are below it. Its host can get tokens, as can loopback hosts. */
  readonly issuer: string;
  /** The only API identifier for which tokens are issued. */
  readonly audience: string;
  readonly secrets: IssuerSecrets;
}

/** The key pair of the issuer, and the secrets of its clients. */
export interface IssuerSecrets {
  readonly keyPair: GenerateKeyPairResult;
  readonly reader: string;
  readonly visitor: string;
}

interface TokenRequest {
  readonly parameters: ReadonlyMap<string, string>;
  readonly clientId: string;
  readonly clientSecret: string;
}

const kid = 'embedded';
const lifetimeSeconds = 3600;
const scopes = ['read:messages'];
const misdirected = { error: 'invalid_request', error_description: untrustedHost };

/** An error response of the token endpoint (RFC 6749 §5.2, RFC 8707 §2, RFC 9449 §5). */
class GrantError extends Error {
  constructor(
    readonly error:
      | 'invalid_request'
      | 'invalid_client'
      | 'unsupported_grant_type'
      | 'invalid_scope'
      | 'invalid_target'
      | 'invalid_dpop_proof',
    readonly error_description: string,
  ) {
    super(error);
  }
}

/** Returns new secrets. They are only ever in memory. */
export async function createIssuerSecrets(): Promise<IssuerSecrets> {
  const secret = () => randomBytes(16).toString('hex');
  return { keyPair: await generateKeyPair('RS256'), reader: secret(), visitor: secret() };
}

/**
 * Returns an authorization server for development, with two clients. NOT for production: it has no rate limit, no revocation
 * and no key rotation.
 */
export async function createEmbeddedIssuer({ issuer, audience, secrets }: EmbeddedIssuerOptions) {
  const tokenEndpoint = `${issuer}oauth/token`;
  const { privateKey, publicKey } = secrets.keyPair;
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' };
  const reader: Client = { id: 'reader', secret: secrets.reader, scope: 'read:messages' };
  const visitor: Client = { id: 'visitor', secret: secrets.visitor, scope: '' };

  async function grant(request: TokenRequest, thumbprint: string | undefined) {
    const client = authenticate([reader, visitor], request);
    const scope = grantScope(client, request.parameters, audience);
    const cnf = thumbprint && { jkt: thumbprint };
    const accessToken = await new SignJWT({ client_id: client.id, ...(scope && { scope }), ...(cnf && { cnf }) })
      .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid })
      .setIssuer(issuer)
      .setSubject(client.id)
      .setAudience(audience)
      .setJti(crypto.randomUUID())
      .setIssuedAt()
      .setExpirationTime(`${lifetimeSeconds}s`)
      .sign(privateKey);
    const type = cnf ? 'DPoP' : 'Bearer';
    return { access_token: accessToken, token_type: type, expires_in: lifetimeSeconds, ...(scope && { scope }) };
  }

  const routes = new Elysia({ detail: { hide: true } })
    .get('/.well-known/jwks.json', () => ({ keys: [jwk] }))
    .get('/.well-known/oauth-authorization-server', () => ({
      issuer,
      token_endpoint: tokenEndpoint,
      jwks_uri: `${issuer}.well-known/jwks.json`,
      scopes_supported: scopes,
      response_types_supported: [],
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      dpop_signing_alg_values_supported: proofAlgorithms,
    }))
    .post(
      '/oauth/token',
      async ({ request, set, status }) => {
        if (!isTrustedHost(request, issuer)) return status(421, misdirected);
        try {
          return await grant(await readTokenRequest(request), await readKeyOfClient(request, tokenEndpoint));
        } catch (error) {
          if (!(error instanceof GrantError)) throw error;
          const { error: code, error_description } = error;
          // After credentials in the body, a challenge would make browsers show their own password prompt.
          if (code === 'invalid_client' && request.headers.get('authorization'))
            set.headers['www-authenticate'] = 'Basic realm="token endpoint"';
          return status(code === 'invalid_client' ? 401 : 400, { error: code, error_description });
        }
      },
      { parse: 'none' },
    );

  return { routes, clients: { reader, visitor } };
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

/** Reads the client's credentials from the Authorization header or from the body, but never from both (RFC 6749 §2.3.1). */
async function readTokenRequest(request: Request): Promise<TokenRequest> {
  const parameters = await readParameters(request);
  const authorization = request.headers.get('authorization');
  if (!authorization) {
    return {
      parameters,
      clientId: parameters.get('client_id') ?? '',
      clientSecret: parameters.get('client_secret') ?? '',
    };
  }
  if (parameters.has('client_secret'))
    throw new GrantError('invalid_request', 'Client credentials must be in the header or in the body, not in both');
  const [, credentials] = /^basic +([a-z\d+/]+={0,2})$/i.exec(authorization) ?? [];
  if (credentials === undefined)
    throw new GrantError('invalid_client', 'Authorization header must have the Basic scheme and base64 credentials');
  // Only the first colon separates: the rest is part of the secret (RFC 7617 §2).
  const [, id = '', secret = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(credentials, 'base64').toString()) ?? [];
  return { parameters, clientId: decodeFormValue(id), clientSecret: decodeFormValue(secret) };
}

async function readParameters(request: Request): Promise<ReadonlyMap<string, string>> {
  const [mediaType] = (request.headers.get('content-type') ?? '').split(';');
  const text = await request.text();
  const entries =
    mediaType?.trim().toLowerCase() === 'application/json' ? readJson(text) : [...new URLSearchParams(text)];
  const parameters = new Map(entries);
  if (parameters.size !== entries.length) throw new GrantError('invalid_request', 'Parameters must not be repeated');
  return parameters;
}

function readJson(text: string): [string, string][] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new GrantError('invalid_request', 'Body is not valid JSON');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new GrantError('invalid_request', 'Body is not a JSON object');
  return Object.entries(body).map(([name, value]) => {
    if (typeof value !== 'string') throw new GrantError('invalid_request', 'Parameters must be strings');
    return [name, value];
  });
}

function decodeFormValue(value: string): string {
  return new URLSearchParams(`value=${value.replaceAll('&', '%26')}`).get('value') ?? '';
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

/** Returns the requested scopes, by default all that the client can be granted. */
function grantScope(client: Client, parameters: ReadonlyMap<string, string>, audience: string): string {
  const grantType = parameters.get('grant_type');
  if (!grantType) throw new GrantError('invalid_request', 'grant_type is missing');
  if (grantType !== 'client_credentials')
    throw new GrantError('unsupported_grant_type', 'Only client_credentials is supported');
  const target = parameters.get('audience') ?? parameters.get('resource') ?? audience;
  if (target !== audience) throw new GrantError('invalid_target', 'Unknown audience');

  const granted = client.scope.split(' ');
  const wanted = parameters.get('scope')?.split(' ').filter(Boolean) ?? granted;
  if (!wanted.every((scope) => granted.includes(scope)))
    throw new GrantError('invalid_scope', 'The client is not allowed to request this scope');
  return wanted.join(' ');
}
