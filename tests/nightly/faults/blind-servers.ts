import { constants, createHmac, createPublicKey, verify as isSignedBy } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compactDecrypt, importJWK, importX509, type JWK, jwtVerify } from 'jose';
import * as faults from '../../probe/servers/faults.ts';
import { proofsWithout } from '../../probe/servers/proofs.ts';
import { audience, type Planted, scope } from '../../probe/servers/server.ts';
import type { BlindFault } from './blind-list.ts';

// The blind list as code: each fault stands in a server that is right otherwise, written as an application has it.

const { at, header, tokenOf, credentials, takes, opensIf, rejecting, rejection, bearer, adding } = faults;
type Members = Record<string, unknown>;
type Jwk = Readonly<JWK>;
export const now = () => Date.now() / 1000;

/** A token as an application reads it. */
interface Read {
  readonly head: Members;
  readonly claims: Members;
  /** The text that is signed. */
  readonly input: string;
  readonly signature: Buffer;
  readonly issuer: string;
}
const decoded = (text: string) => Buffer.from(text, 'base64url').toString();
export function read(text: string, keysUrl: string): Read {
  const [head = '', body = '', signature = ''] = text.split('.');
  return {
    head: JSON.parse(decoded(head)) as Members,
    claims: JSON.parse(decoded(body)) as Members,
    input: `${head}.${body}`,
    signature: Buffer.from(signature, 'base64url'),
    issuer: new URL('/', keysUrl).href,
  };
}
const publicKeyOf = (jwk: Jwk) => createPublicKey({ key: { ...jwk }, format: 'jwk' });
const isRs256 = ({ input, signature }: Read, jwk: Jwk) =>
  isSignedBy('sha256', Buffer.from(input), publicKeyOf(jwk), signature);
const isPs256 = ({ input, signature }: Read, jwk: Jwk) =>
  isSignedBy(
    'sha256',
    Buffer.from(input),
    { key: publicKeyOf(jwk), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 },
    signature,
  );
export const isHs256 = ({ input, signature }: Read, secret: string | Buffer) =>
  createHmac('sha256', secret).update(input).digest().equals(signature);

/** How keys are kept: until one is missing, and then fetched again, at most every 30 seconds. */
type Keys = (kid: unknown, keysUrl: string) => Promise<readonly Jwk[]>;
const load = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`The issuer responds ${response.status}`);
  const { keys } = (await response.json()) as { readonly keys: readonly Jwk[] };
  const read = keys.filter((key) => typeof key?.kty === 'string');
  if (read.length === 0) throw new Error('The issuer publishes no keys');
  return read;
};
const carefully = (url: string) => load(url, { redirect: 'error', signal: AbortSignal.timeout(2000) });
function cooled(fetchSet: (url: string) => Promise<readonly Jwk[]> = carefully, cooldown = 30): Keys {
  const kept = new Map<string, { readonly keys: readonly Jwk[]; readonly since: number }>();
  return async (kid, url) => {
    const found = kept.get(url);
    if (found && (found.keys.some((key) => key.kid === kid) || now() - found.since < cooldown)) return found.keys;
    const keys = await fetchSet(url).catch(() => found?.keys);
    if (!keys) throw new Error('No keys');
    kept.set(url, { keys, since: now() });
    return keys;
  };
}

/** Keeps keys until one is missing; if no others can be fetched, it has none. */
function losing(): Keys {
  const kept = new Map<string, readonly Jwk[]>();
  return async (kid, url) => {
    const found = kept.get(url);
    if (found?.some((key) => key.kid === kid)) return found;
    kept.delete(url);
    const keys = await carefully(url);
    kept.set(url, keys);
    return keys;
  };
}

/** What an application checks by itself, by the name of what is checked. */
export const rules = {
  alg: ({ head }: Read) => head.alg === 'RS256',
  crit: ({ head }: Read) => head.crit === undefined && head.b64 === undefined,
  key: ({ kty, n, use = 'sig', alg = 'RS256', key_ops: ops = ['verify'] }: Jwk) =>
    kty === 'RSA' && String(n).length > 340 && use === 'sig' && alg === 'RS256' && ops.includes('verify'),
  signature: (token: Read, key: Jwk | undefined) => key !== undefined && isRs256(token, key),
  canonical: (text: string) => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text) && !text.includes('='),
  typ: ({ head }: Read) => head.typ === 'at+jwt',
  iss: ({ claims, issuer }: Read) => claims.iss === issuer,
  aud: ({ claims: { aud } }: Read) => [aud].flat().includes(audience),
  exp: ({ claims: { exp } }: Read) => typeof exp === 'number' && exp > now(),
  nbf: ({ claims: { nbf } }: Read) => nbf === undefined || (typeof nbf === 'number' && nbf <= now() + 5),
  cnf: ({ claims }: Read) => claims.cnf === undefined,
  scope: ({ claims }: Read) => typeof claims.scope === 'string' && claims.scope.split(' ').includes(scope),
} as const;
type Rules = typeof rules;
const ignored = () => true;
const forbidden = () => rejection(403, bearer(`error="insufficient_scope", scope="${scope}"`));
const claimRules = ['typ', 'iss', 'aud', 'exp', 'nbf', 'cnf'] as const;

/** An application that checks tokens by itself, with something else in the place of a rule or when it has no keys. */
function own(instead: Partial<Rules> = {}, keysOf: Keys = cooled(), inOutage?: Planted): Planted {
  const rule = { ...rules, ...instead };
  return async (request, right, parts) => {
    const { keysUrl, respond } = parts;
    const text = tokenOf(request);
    if (text === '' || faults.isDpop(request)) return right(request);
    try {
      if (!rule.canonical(text)) return rejection();
      const token = read(text, keysUrl);
      const keys = await keysOf(token.head.kid, keysUrl).catch((error) => {
        if (inOutage) return undefined;
        throw error;
      });
      if (!keys && inOutage) return inOutage(request, right, parts);
      const key = keys?.find(({ kid }) => kid === token.head.kid);
      if (!rule.alg(token) || !rule.crit(token) || (key && !rule.key(key)) || !rule.signature(token, key))
        return rejection();
      if (!claimRules.every((name) => rule[name](token))) return rejection();
      return rule.scope(token) ? respond(token.claims) : forbidden();
    } catch {
      return rejection();
    }
  };
}
/** Accepts what this verifies, if the claims are right, and leaves the rest to the right server. */
export const also =
  (isVerified: (token: Read, text: string, keysUrl: string, request: Request) => unknown): Planted =>
  async (request, right, { keysUrl, respond }) => {
    try {
      const token = read(tokenOf(request), keysUrl);
      const isRight = claimRules.every((name) => rules[name](token)) && rules.scope(token);
      if (isRight && (await isVerified(token, tokenOf(request), keysUrl, request))) return respond(token.claims);
    } catch {
      // It is for the right server.
    }
    return right(request);
  };
const verifiedBy = async (text: string, key: CryptoKey | Uint8Array) => Boolean(await jwtVerify(text, key));
export async function verifiedByCertificate({ x5c, alg }: Members, text: string): Promise<boolean> {
  const [der = ''] = x5c as readonly string[];
  const pem = `-----BEGIN CERTIFICATE-----\n${der.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----`;
  return verifiedBy(text, await importX509(pem, String(alg)));
}
const knownKey = async ({ head }: Read, url: string) => (await load(url)).find(({ kid }) => kid === head.kid);
/** Serves what was kept under a name that is read from the request. */
function keeping(nameOf: (text: string) => unknown): Planted {
  const kept = new Map<unknown, Response>();
  return async (request, right) => {
    const text = tokenOf(request);
    if (text === '' || !faults.isBearer(request)) return right(request);
    let name: unknown;
    try {
      name = nameOf(text);
    } catch {
      return right(request);
    }
    const found = kept.get(name);
    if (found) return found.clone() as Response;
    const response = await right(request);
    if (response.ok && name !== undefined) kept.set(name, response.clone() as Response);
    return response;
  };
}
export const claimsOf = (text: string) => JSON.parse(decoded(text.split('.')[1] ?? '')) as Members;
const bearerRejection = bearer('error="invalid_token"');
const isUnknownType = ({ kty }: Jwk) => !['RSA', 'EC', 'OKP', 'oct'].includes(String(kty));
async function seenKeys(url: string, seen: Map<string, Jwk>) {
  for (const key of await carefully(url)) seen.set(String(key.kid), key);
  return [...seen.values()];
}
const withdrawn = () => {
  const seen = new Map<string, Jwk>();
  return cooled((url) => seenKeys(url, seen));
};
const proofsOfNone: Planted = (request, right, parts) => {
  const [head = ''] = (header(request, 'dpop') ?? '').split('.');
  const isNone = /"alg": *"none"/.test(decoded(head));
  return (isNone ? looseProofs : proofs)(request, right, parts);
};
const looseProofs = proofsWithout(['algorithm', 'signature']);
export const proofs = proofsWithout([]);
const bound = (member: string): Planted =>
  faults.unbound(
    (request) => faults.isBearer(request) && Object.hasOwn(Object(claimsOf(tokenOf(request)).cnf), member),
  );
const safe =
  (server: Planted): Planted =>
  async (request, right, parts) => {
    try {
      return await server(request, right, parts);
    } catch {
      return right(request);
    }
  };

/** What the servers below are right by: what is noticed of these alone is no fault that was planted. */
export const bases = {
  right: (request, right) => right(request),
  own: own(),
  proofs,
} as const satisfies Readonly<Record<string, Planted>>;
export type Based = readonly [keyof typeof bases, Planted];

export const right = (server: Planted): Based => ['right', safe(server)];
export const byOwn = (...changes: Parameters<typeof own>): Based => ['own', own(...changes)];
const byProof = (server: Planted): Based => ['proofs', server];

export const blindServers: Readonly<Record<BlindFault, Based>> = {
  'takes the token from the query too (access_token=)': right(faults.inQuery('access_token')),
  'takes the token from a cookie named access_token': right(
    takes(/(?:^|; *)access_token=([^;\s]+)/, (request) => header(request, 'cookie')),
  ),
  'takes the token from the header X-Access-Token': right(
    takes(/(.+)/, (request) => header(request, 'x-access-token')),
  ),
  'takes a token without a scheme (Authorization: eyJ…)': right(takes(/^([^\s.]+\.\S+)$/)),
  'takes the token behind any scheme (Token, JWT)': right(takes(/^(?!DPoP)\w+ (\S+)$/i)),
  'takes the token as the password of Basic credentials': right(
    takes(/^[^:]*:(\S+)$/, (request) => {
      const [, basic] = /^Basic (\S+)$/i.exec(credentials(request) ?? '') ?? [];
      return basic && Buffer.from(basic, 'base64').toString();
    }),
  ),
  'finds "Bearer " anywhere in the header': right(takes(/Bearer (\S+)/)),
  'reads the last of two Authorization headers joined by a comma': right(takes(/, *Bearer (\S+)$/)),
  'serves when the header is Bearer without a token': right(
    opensIf((request) => /^Bearer *$/i.test(credentials(request) ?? '')),
  ),
  'serves for the words "undefined" and "null" as token': right(
    opensIf((request) => ['undefined', 'null'].includes(tokenOf(request))),
  ),
  'sends a 401 without WWW-Authenticate': right(
    rejecting((rejected) => (rejected.status === 401 ? rejection(401, {}) : rejected)),
  ),
  'names error="invalid_token" although no token was sent': right(
    rejecting((rejected, request) => (credentials(request) ? rejected : rejection(401, bearerRejection))),
  ),
  'sends 403 for an expired token': right(
    rejecting((rejected, request) => {
      const text = tokenOf(request);
      const isExpired = text.split('.').length === 3 && Number(claimsOf(text).exp) < now();
      return isExpired ? rejection(403, bearerRejection) : rejected;
    }),
  ),
  'sends 401 for a token without the scope': right(
    rejecting((rejected) => (rejected.status === 403 ? rejection(401, bearerRejection) : rejected)),
  ),
  'sends 500 for a token that is no JWT': [
    'right',
    (request, next) => {
      if (tokenOf(request) === '') return next(request);
      try {
        read(tokenOf(request), audience);
      } catch {
        return new Response('Internal Server Error', { status: 500 });
      }
      return next(request);
    },
  ],
  'sends 200 with an error in the body for a bad token': right(
    rejecting((rejected, request) => (credentials(request) ? Response.json({ error: 'invalid_token' }) : rejected)),
  ),
  'redirects to a login page without a token': right((request, next) =>
    credentials(request) || faults.isMetadata(request) ? next(request) : Response.redirect(`${audience}/login`),
  ),
  'writes the token into the body of the rejection': right(
    rejecting(({ status, headers }, request) =>
      rejection(status, Object.fromEntries(headers), `Invalid token: ${tokenOf(request)}`),
    ),
  ),
  'writes an exception with file names into the body of the rejection': right(
    rejecting(({ status, headers }) =>
      rejection(status, Object.fromEntries(headers), String(new Error('jwt malformed').stack)),
    ),
  ),
  'lets shared caches store the protected response (public, max-age)': right(
    adding({ 'cache-control': 'public, max-age=600' }, faults.isGood),
  ),
  'decodes only, and never verifies a signature': byOwn({ alg: ignored, signature: ignored, key: ignored }),
  'accepts alg none, in any case of letters': right(also(({ head }) => String(head.alg).toLowerCase() === 'none')),
  'accepts any token whose signature part is empty': right(also(({ signature }) => signature.length === 0)),
  'verifies HS256 with the PEM text of the public key': right(
    also(async (token, _, url) => {
      const key = await knownKey(token, url);
      const pem = key && publicKeyOf(key).export({ type: 'spki', format: 'pem' });
      return token.head.alg === 'HS256' && pem && isHs256(token, pem);
    }),
  ),
  'verifies HS256 with an empty secret': right(also((token) => token.head.alg === 'HS256' && isHs256(token, ''))),
  'verifies with the key in the header jwk': right(
    also(async ({ head }, text) => verifiedBy(text, await importJWK(head.jwk as Jwk, String(head.alg)))),
  ),
  'fetches the key set that the header jku names': right(
    also(async (token) => {
      const keys = await load(String(token.head.jku));
      return keys.some((key) => key.kty === 'RSA' && isRs256(token, key));
    }),
  ),
  'verifies with the certificate in the header x5c': right(also(({ head }, text) => verifiedByCertificate(head, text))),
  'reads the key from a file that kid names (../../dev/null)': right(
    also(
      (token) => token.head.alg === 'HS256' && isHs256(token, readFileSync(join('/var/keys', String(token.head.kid)))),
    ),
  ),
  'uses any key of the set if kid is unknown, and accepts when none fits': byOwn({
    signature: (token, key) => key === undefined || isRs256(token, key),
  }),
  'ignores crit': byOwn({ crit: ({ head }) => head.b64 === undefined }),
  'accepts b64 false without crit': byOwn({ crit: ({ head }) => head.crit === undefined }),
  'verifies with a key whose use is enc': byOwn({ key: (key) => rules.key({ ...key, use: 'sig' }) }),
  'verifies PS256 with a key whose alg is RS256': byOwn({
    alg: ({ head }) => head.alg === 'RS256' || head.alg === 'PS256',
    signature: (token, key) =>
      key !== undefined && (token.head.alg === 'PS256' ? isPs256(token, key) : isRs256(token, key)),
  }),
  'trusts a symmetric key (kty oct) in the key set': byOwn({
    alg: ({ head }) => head.alg === 'RS256' || head.alg === 'HS256',
    key: (key) => key.kty === 'oct' || rules.key(key),
    signature: (token, key) =>
      key?.kty === 'oct' ? isHs256(token, Buffer.from(String(key.k), 'base64url')) : rules.signature(token, key),
  }),
  'verifies ES256 by a library that accepts r = s = 0': right(
    also(
      ({ head, signature }) => head.alg === 'ES256' && signature.length > 0 && signature.every((byte) => byte === 0),
    ),
  ),
  'decrypts a JWE to its public key and trusts a plain JWT inside': right(async (request, next, parts) => {
    const text = tokenOf(request);
    if (text.split('.').length !== 5) return next(request);
    const { plaintext } = await compactDecrypt(text, await importJWK(parts.privateJwk, 'RSA-OAEP-256'));
    const inner = new TextDecoder().decode(plaintext);
    return parts.respond(claimsOf(inner));
  }),
  'decodes base64url leniently: padding, line breaks and + /': byOwn({ canonical: ignored }),
  'ignores exp': byOwn({ exp: ignored }),
  'accepts a token without exp': byOwn({ exp: (token) => token.claims.exp === undefined || rules.exp(token) }),
  'compares exp with milliseconds, as if it were in the future for ever': byOwn({
    exp: ({ claims: { exp } }) => typeof exp === 'number' && exp * 1e6 > Date.now(),
  }),
  'accepts an exp that is a string that is no number': byOwn({
    exp: ({ claims: { exp } }) => exp !== undefined && !(Number(exp) < now()),
  }),
  'grants a day of clock skew': byOwn({
    exp: ({ claims: { exp } }) => typeof exp === 'number' && exp > now() - 86_400,
  }),
  'ignores nbf': byOwn({ nbf: ignored }),
  'ignores aud': byOwn({ aud: ignored }),
  'accepts a token without aud': byOwn({ aud: (token) => token.claims.aud === undefined || rules.aud(token) }),
  'compares aud by the beginning of its text': byOwn({ aud: ({ claims }) => String(claims.aud).startsWith(audience) }),
  'rejects a token whose aud is a list that has the API': byOwn({ aud: ({ claims }) => claims.aud === audience }),
  'ignores iss': byOwn({ iss: ignored }),
  'compares iss by the beginning of its text': byOwn({
    iss: ({ claims, issuer }) => String(claims.iss).startsWith(issuer),
  }),
  'fetches the keys of whatever issuer the token names': right(async (request, next, { respond }) => {
    const { iss, exp } = claimsOf(tokenOf(request));
    const configuration = await fetch(`${String(iss).replace(/\/$/, '')}/.well-known/openid-configuration`);
    const { jwks_uri: url } = (await configuration.json()) as { readonly jwks_uri: string };
    const token = read(tokenOf(request), url);
    const key = await knownKey(token, url);
    const isRight =
      key &&
      rules.key(key) &&
      rules.alg(token) &&
      rules.crit(token) &&
      isRs256(token, key) &&
      rules.aud(token) &&
      Number(exp) > now();
    return isRight && rules.scope(token) && rules.cnf(token) ? respond(token.claims) : next(request);
  }),
  'accepts an ID token, by not looking at typ or scope': byOwn({ typ: ignored, scope: ignored }),
  'accepts the kind logout+jwt': byOwn({ typ: (token) => token.head.typ === 'logout+jwt' || rules.typ(token) }),
  'finds the scope inside other words (read:messages in xread:messagesx)': byOwn({
    scope: ({ claims }) => String(claims.scope).includes(scope),
  }),
  'compares scopes without regard to case': byOwn({
    scope: ({ claims }) => String(claims.scope).toLowerCase().split(' ').includes(scope),
  }),
  'takes the last of two members with one name in the claims': right(
    also(async (token, text, url) => {
      const names = [...decoded(text.split('.')[1] ?? '').matchAll(/"(\w+)":/g)].map(([, name]) => name);
      const key = await knownKey(token, url);
      return new Set(names).size < names.length && key && rules.key(key) && isRs256(token, key);
    }),
  ),
  'falls over claims that are no object (500 for "null")': right(async (request, next, { keysUrl }) => {
    const token = read(tokenOf(request), keysUrl);
    const key = await knownKey(token, keysUrl);
    const isOdd = typeof token.claims !== 'object' || token.claims === null;
    return isOdd && key && isRs256(token, key) ? new Response('fault', { status: 500 }) : next(request);
  }),
  'serves from a cache after exp': right(keeping((text) => text)),
  'caches accepted tokens by their last 16 characters': right(keeping((text) => text.slice(-16))),
  'caches accepted tokens by jti, read before the signature is verified': right(keeping((text) => claimsOf(text).jti)),
  'fetches the key set for every unknown kid': byOwn({}, cooled(carefully, 0)),
  'never fetches the key set again': byOwn({}, cooled(carefully, Number.POSITIVE_INFINITY)),
  'trusts a withdrawn key for ever': byOwn({}, withdrawn()),
  'serves everybody while the key set cannot be fetched': byOwn({}, losing(), (request, _, { respond }) =>
    respond(claimsOf(tokenOf(request))),
  ),
  'loses all keys when one key of the set has an unknown type': byOwn(
    {},
    cooled(async (url) => {
      const keys = await carefully(url);
      return keys.some(isUnknownType) ? [] : keys;
    }),
  ),
  'follows a redirect of the key set to another host': byOwn(
    {},
    cooled((url) => load(url, { signal: AbortSignal.timeout(2000) })),
  ),
  'waits without limit for a key set that hangs': byOwn(
    {},
    cooled((url) => load(url, { redirect: 'error' })),
  ),
  'sends 401 for good tokens while the key set cannot be fetched': byOwn({}, losing()),
  'accepts a DPoP-bound token as a Bearer token': right(bound('jkt')),
  'accepts a certificate-bound token without a certificate': right(bound('x5t#S256')),
  'takes any proof without comparing its key with cnf.jkt': byProof(proofsWithout(['binding'])),
  'ignores htm of a proof': byProof(proofsWithout(['method'])),
  'compares htu by its host only': byProof(
    proofsWithout([], { url: ({ request, claims }) => new URL(String(claims.htu)).host === new URL(request.url).host }),
  ),
  'accepts a proof of yesterday': byProof(proofsWithout(['old'])),
  'accepts a proof twice': byProof(proofsWithout(['replay'])),
  'ignores ath of a proof': byProof(proofsWithout(['ath'])),
  'verifies a proof whose alg is none': byProof(proofsOfNone),
  'guards GET only, and serves HEAD': right(faults.opensTo('HEAD', false)),
  'serves OPTIONS with the resource to a stranger': right(faults.opensTo('OPTIONS', false)),
  'skips the check for paths that end in .css': right(
    opensIf((request) => /^\/messages\/secret.*\.css$/.test(at(request).pathname)),
  ),
  'compares the path exactly, and routes without regard to case': right(
    opensIf((request) => {
      const { pathname } = at(request);
      return pathname.toLowerCase() === '/messages/secret' && pathname !== '/messages/secret';
    }),
  ),
  'compares the path exactly, and routes with a slash at the end': right(faults.opensAt('/messages/secret/')),
  'skips the check for X-Forwarded-For: 127.0.0.1': right(
    opensIf((request) => header(request, 'x-forwarded-for') === '127.0.0.1'),
  ),
  'skips the check for X-Original-URL that names a public path': right(
    opensIf((request) => ['/', '/health', '/login'].includes(header(request, 'x-original-url') ?? '')),
  ),
  'skips the check when the user agent is a health check': right(
    opensIf((request) => /kube-probe|ELB-HealthChecker|GoogleHC/.test(header(request, 'user-agent') ?? '')),
  ),
  'responds 304 to If-None-Match: * without a token': right((request, next) =>
    header(request, 'if-none-match') === '*' && !credentials(request)
      ? new Response(null, { status: 304 })
      : next(request),
  ),
  'allows any origin with credentials': right(async (request, next) => {
    const response = await next(request);
    response.headers.set('access-control-allow-origin', header(request, 'origin') ?? '*');
    response.headers.set('access-control-allow-credentials', 'true');
    return response;
  }),
};
