import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { checkProof } from '../proof/check-proof.ts';
import { defaultProofAlgorithms } from '../proof/proof-algorithms.ts';
import { Rejected, rejections } from '../rejections.ts';
import { nowSeconds, type Signer } from './signer.ts';
import { GrantError, readTokenRequest, type TokenRequest } from './token-request.ts';

/** A client that uses the client-credentials grant (RFC 6749 §4.4). */
export interface Client {
  /** Its identifier, `client_id`. */
  readonly id: string;
  /** Its secret. */
  readonly secret: string;
  /** The scopes that it can be granted, separated by spaces. Empty for none. */
  readonly scope: string;
}

interface TokenEndpointOptions {
  readonly issuer: string;
  /** The URL of the endpoint, which proofs must name. */
  readonly url: string;
  /** The API identifiers for which tokens are issued, the default first. */
  readonly audience: readonly string[];
  /** Called for each request. */
  readonly clients: () => readonly Client[];
  readonly lifetimeSeconds: number;
  readonly signer: Signer;
}

/** Returns the token endpoint of an authorization server, as a function of POST requests. */
export function createTokenEndpoint(options: TokenEndpointOptions) {
  const { issuer, url, audience, clients, lifetimeSeconds, signer } = options;
  async function grant(request: Request) {
    const tokenRequest = await readTokenRequest(request);
    const { parameters } = tokenRequest;
    const jkt = await readKeyOfClient(request, url);
    const client = authenticateClient(clients(), tokenRequest);
    const grantType = parameters.get('grant_type');
    if (!grantType) throw new GrantError('invalid_request', 'grant_type is missing');
    if (grantType !== 'client_credentials')
      throw new GrantError('unsupported_grant_type', 'Only client_credentials is supported');
    const aud = readTarget(parameters, audience);
    const scope = grantScope(client, parameters);
    const iat = nowSeconds();
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
      access_token: signer.sign({ typ: 'at+jwt', kid: signer.kid }, claims),
      token_type: jkt ? 'DPoP' : 'Bearer',
      expires_in: lifetimeSeconds,
      // A client assumes the scopes that it requested, unless the response says others (RFC 6749 §5.1).
      ...((scope || parameters.has('scope')) && { scope }),
    };
  }

  return async (request: Request): Promise<Response> => {
    try {
      return json(200, await grant(request), { 'cache-control': 'no-store' });
    } catch (error) {
      if (error instanceof GrantError) return respondError(error, request);
      throw error;
    }
  };
}

export function json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
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
 * Returns the thumbprint of the key in the proof of the request, if there is one, to which the token will be bound (RFC
 * 9449 §5). Does NOT check whether the proof was used before.
 */
async function readKeyOfClient(request: Request, url: string): Promise<string | undefined> {
  const text = request.headers.get('dpop');
  if (text === null) return undefined;
  const expected = {
    method: 'POST',
    url,
    token: undefined,
    nowMs: Date.now(),
    algorithms: defaultProofAlgorithms,
    maxAgeSeconds: 60,
  };
  const proof = await checkProof(text, expected);
  if (proof instanceof Rejected) throw new GrantError('invalid_dpop_proof', rejections[proof.reason].description);
  return proof.thumbprint;
}

function authenticateClient(clients: readonly Client[], { clientId, clientSecret }: TokenRequest): Client {
  const client = clients.find(({ id }) => id === clientId);
  if (!client || !isSameSecret(client.secret, clientSecret))
    throw new GrantError('invalid_client', 'Client authentication failed');
  return client;
}

function isSameSecret(a: string, b: string): boolean {
  const digest = (value: string) => createHash('sha256').update(value).digest();
  return timingSafeEqual(digest(a), digest(b));
}

/** Returns the requested API identifier, by default the first. RFC 8707 calls the parameter `resource`. */
function readTarget(parameters: ReadonlyMap<string, string>, audience: readonly string[]): string | undefined {
  const [target = audience[0], other = target] = ['audience', 'resource'].flatMap((name) => parameters.get(name) ?? []);
  if (other !== target || !audience.some((known) => known === target))
    throw new GrantError('invalid_target', `Tokens are issued for ${audience.join(', ')} only`);
  return target;
}

/** Returns those of the requested scopes that the client can be granted, by default all (RFC 6749 §3.3). */
function grantScope(client: Client, parameters: ReadonlyMap<string, string>): string {
  const requested = parameters.get('scope')?.split(/ +/);
  const granted = client.scope.split(' ');
  return granted.filter((scope) => requested?.includes(scope) ?? true).join(' ');
}
