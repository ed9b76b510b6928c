import { afterAll, describe, expect, setSystemTime, test } from 'bun:test';
import { createHmac, createPublicKey } from 'node:crypto';
import {
  compactVerify,
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  importJWK,
  importX509,
  type JWTPayload,
  jwtVerify,
} from 'jose';
import * as faults from '../probe/servers/faults.ts';
import { audience, type Planted, scope } from '../probe/servers/server.ts';
import { tried } from './faults/run.ts';

// Faults as they stand in code, each in a server that is right otherwise. What the probe notices of them is counted
// with all of its rows, as a user runs it: no row is named.

const { at, header, tokenOf, credentials, opensIf, opensAt, opensTo, rejecting, rejection, bearer } = faults;
const part = (token: string, index: number): JWTPayload & Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString()) as JWTPayload;
const safely =
  (server: Planted): Planted =>
  async (request, right, parts) => {
    try {
      return await server(request, right, parts);
    } catch {
      return right(request);
    }
  };
/** Responds to tokens for which this holds, whoever signed them. */
const trusts = (test: (head: Record<string, unknown>, claims: JWTPayload, request: Request) => unknown): Planted =>
  safely((request, right, { respond }) => {
    const token = tokenOf(request);
    const [head, claims] = [part(token, 0), part(token, 1)];
    return test(head, claims, request) && Number(claims.exp) > Date.now() / 1000 ? respond(claims) : right(request);
  });
const keysAt = async (url: string) => createLocalJWKSet(await faults.fetchKeys(url));
const sets = new Map<string, ReturnType<typeof keysAt>>();
const keysOnce = (url: string) => {
  const found = sets.get(url) ?? keysAt(url);
  sets.set(url, found);
  return found;
};
/** Verifies the signature, and then only what is given. */
const checks =
  (test: (claims: Record<string, unknown>, request: Request) => unknown): Planted =>
  async (request, right, { keysUrl, respond }) => {
    if (!tokenOf(request)) return right(request);
    const claims = await keysOnce(keysUrl)
      .then((keys) => compactVerify(tokenOf(request), keys))
      .then(({ payload }) => JSON.parse(new TextDecoder().decode(payload)) as Record<string, unknown>)
      .catch(() => undefined);
    return claims && typeof claims === 'object' && test(claims, request) ? respond(claims) : rejection();
  };
const now = () => Date.now() / 1000;
const isTimely = ({ exp, nbf = 0 }: Record<string, unknown>) =>
  typeof exp === 'number' && Number(exp) > now() - 5 && Number(nbf) < now() + 5;
const isOurs = ({ aud }: Record<string, unknown>) => [aud].flat().includes(audience);
const hasScope = ({ scope: granted }: Record<string, unknown>) => String(granted).split(' ').includes(scope);
const all = (claims: Record<string, unknown>) => isTimely(claims) && isOurs(claims) && hasScope(claims);
/** Fetches the keys for each token, and takes an outage for a bad token. */
const fetchingKeys: Planted = async (request, right, { keysUrl, respond }) => {
  if (!tokenOf(request)) return right(request);
  const keys = await fetch(keysUrl, { redirect: 'manual' })
    .then(async (response) => createLocalJWKSet((await response.json()) as Parameters<typeof createLocalJWKSet>[0]))
    .catch(() => undefined);
  const claims =
    keys &&
    (await jwtVerify(tokenOf(request), keys).then(
      ({ payload }) => payload,
      () => undefined,
    ));
  return claims && all(claims) ? respond(claims) : rejection();
};
/** A cache of verified tokens that forgets to look at exp again. */
const cached = new Set<string>();

const planted: Readonly<Record<string, Planted>> = {
  'X-Internal: 1': opensIf((request) => header(request, 'x-internal') === '1'),
  'X-Internal: true': opensIf((request) => header(request, 'x-internal') === 'true'),
  'X-Debug: 1': opensIf((request) => header(request, 'x-debug') === '1'),
  'X-Forwarded-For: 127.0.0.1': opensIf((request) => header(request, 'x-forwarded-for') === '127.0.0.1'),
  'a user from a gateway': opensIf((request) => header(request, 'x-forwarded-user')),
  'an overridden method': opensIf((request) => header(request, 'x-http-method-override') === 'OPTIONS'),
  'a list of paths by X-Forwarded-Uri': opensIf((request) => header(request, 'x-forwarded-uri') === '/health'),
  'a list of paths by X-Original-URL': opensIf((request) => header(request, 'x-original-url') === '/login'),
  'a path behind /./': opensIf((request) => header(request, 'x-url')?.startsWith('/./')),
  'a path behind /x/../': opensIf((request) => header(request, 'x-url')?.startsWith('/x/../')),
  'a path behind two slashes': opensIf((request) => header(request, 'x-url')?.startsWith('//')),
  'an encoded separator within': opensIf(({ url }) => url.includes('messages%2fsecret')),
  'a backslash within': opensIf(({ url }) => url.includes('messages%5csecret')),
  'a parameter of a segment': opensIf(({ url }) => url.includes('messages;x=1/secret')),
  'two slashes within': opensIf(({ url }) => url.includes('messages//secret')),
  'a slash at the end': opensAt('/messages/secret/'),
  'a path in upper case': opensAt('/MESSAGES/SECRET'),
  'an ending of a file': opensAt('/messages/secret.json'),
  'a forgotten route that names its user': (request, right) =>
    at(request).pathname === '/messages/secret/' ? Response.json({ hello: 'anonymous' }) : right(request),
  'HEAD without a token': opensTo('HEAD', false),
  'OPTIONS with a body': opensTo('OPTIONS', false),
  'pages for browsers': opensIf((request) => header(request, 'accept')?.includes('text/html')),
  'an upgrade': opensIf((request) => header(request, 'upgrade')),
  'a range': (request, right) => (header(request, 'range') ? new Response('{', { status: 206 }) : right(request)),
  'alg none': trusts(({ alg }) => String(alg).toLowerCase() === 'none'),
  'alg none for HEAD': trusts(({ alg }, _, { method }) => alg === 'none' && method === 'HEAD'),
  'alg none with typ JWT': trusts(({ alg, typ }) => alg === 'none' && typ === 'JWT'),
  'alg none without typ': trusts(({ alg, typ }) => alg === 'none' && typ === undefined),
  'no check of the signature': trusts((_, claims) => all(claims)),
  'no check of an empty signature': trusts((_, claims, request) => tokenOf(request).endsWith('.') && all(claims)),
  'r and s of zero': trusts(
    ({ alg }, _, request) =>
      alg === 'ES256' && Buffer.from(tokenOf(request).split('.')[2] ?? '', 'base64url').every((byte) => byte === 0),
  ),
  'HMAC by the public key': safely(async (request, right, { keysUrl, respond }) => {
    const [head = '', body = '', signature] = tokenOf(request).split('.');
    const { keys } = await faults.fetchKeys(keysUrl);
    const [jwk] = keys;
    const pem = createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    const sum = createHmac('sha256', pem).update(`${head}.${body}`).digest('base64url');
    return sum === signature ? respond(part(tokenOf(request), 1)) : right(request);
  }),
  'HMAC by a word of an example': safely((request, right, { respond }) => {
    const [head = '', body = '', signature] = tokenOf(request).split('.');
    const sum = createHmac('sha256', 'secret').update(`${head}.${body}`).digest('base64url');
    return sum === signature ? respond(part(tokenOf(request), 1)) : right(request);
  }),
  'a key in jwk': safely(async (request, right, { respond }) => {
    const { jwk, alg } = decodeProtectedHeader(tokenOf(request));
    return jwk ? respond((await jwtVerify(tokenOf(request), await importJWK(jwk, alg))).payload) : right(request);
  }),
  'x5c without kid': safely(async (request, right, { respond }) => {
    const { x5c: [der] = [], kid, alg = '' } = decodeProtectedHeader(tokenOf(request));
    if (!der || kid !== undefined) return right(request);
    const key = await importX509(
      `-----BEGIN CERTIFICATE-----\n${der.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----`,
      alg,
    );
    return respond((await jwtVerify(tokenOf(request), key)).payload);
  }),
  'keys from jku': safely(async (request, right, { respond }) => {
    const { jku } = decodeProtectedHeader(tokenOf(request));
    return jku ? respond((await jwtVerify(tokenOf(request), await keysAt(jku))).payload) : right(request);
  }),
  'two tokens, the first verified and the second used': safely(async (request, right, { verify, respond }) => {
    const [, first = '', second] = /^Bearer ([^,]+),(\S+)$/.exec(credentials(request) ?? '') ?? [];
    return second ? verify(first).then(() => respond(decodeJwt(second))) : right(request);
  }),
  'no check of aud': checks((claims) => isTimely(claims) && hasScope(claims)),
  'aud compared only if it is there': checks(
    (claims) => isTimely(claims) && hasScope(claims) && (claims.aud === undefined || isOurs(claims)),
  ),
  'the beginning of aud': checks(
    (claims) => isTimely(claims) && hasScope(claims) && String(claims.aud).startsWith(audience),
  ),
  'aud within a text': checks(
    (claims) => isTimely(claims) && hasScope(claims) && String(claims.aud).includes(audience),
  ),
  'azp in the place of aud': checks(
    (claims) => isTimely(claims) && hasScope(claims) && (isOurs(claims) || claims.azp === audience),
  ),
  'no check of exp': checks((claims) => isOurs(claims) && hasScope(claims)),
  'exp as text': checks(
    (claims) => isOurs(claims) && hasScope(claims) && (typeof claims.exp === 'string' || isTimely(claims)),
  ),
  'no check of nbf': checks((claims) => isOurs(claims) && hasScope(claims) && Number(claims.exp) > now()),
  'an hour of clock skew': checks((claims) => isOurs(claims) && hasScope(claims) && Number(claims.exp) > now() - 3700),
  'a scope within another': checks(
    (claims) => isOurs(claims) && isTimely(claims) && String(claims.scope).includes(scope),
  ),
  'no scope at all': checks(
    (claims) => isOurs(claims) && isTimely(claims) && (claims.scope === undefined || hasScope(claims)),
  ),
  'a scope in any case': checks(
    (claims) => isOurs(claims) && isTimely(claims) && hasScope({ scope: String(claims.scope).toLowerCase() }),
  ),
  'the header of a request as its token': faults.takes(/^(\S+)$/),
  'a token in the query': faults.inQuery('access_token'),
  'a token in a cookie': faults.takes(/token=([^;\s]+)/, (request) => header(request, 'cookie')),
  'a cache by the URL': faults.cachedBy(({ url }) => url),
  'a cache by the claims': faults.cachedBy((request) => tokenOf(request).split('.').slice(0, 2).join('.')),
  'a cache that outlives exp': safely(async (request, right) => {
    const response = cached.has(tokenOf(request)) && tokenOf(request) ? faults.open() : await right(request);
    if (response.ok && tokenOf(request)) cached.add(tokenOf(request));
    return response;
  }),
  'a lock for whoever is named': faults.lockingOut(),
  'anybody while keys cannot be fetched': faults.failingOpen,
  'a redirect to other keys': faults.fetching,
  'a rejection with the resource': rejecting((rejected, request) =>
    tokenOf(request)
      ? rejection(rejected.status, bearer(), 'Denied. {"hello":"probe-control"} was withheld')
      : rejected,
  ),
  'a trace in a rejection': rejecting(({ status }) => rejection(status, bearer(), String(new Error('x').stack))),
  'a server error for garbage': faults.failsIf((request) => tokenOf(request).startsWith('bnVsbA')),
  'a challenge that cannot be parsed': faults.challenging('Bearer error="invalid_token'),
};

afterAll(() => void setSystemTime());
const faultsOf = async (server: Planted) => (await tried(server)).noticed;

describe('the probe', () => {
  test(`notices ${Object.keys(planted).length} faults, and none in the right server`, async () => {
    expect(await faultsOf((request, right) => right(request))).toEqual([]);
    // What these two have in common with the faults that are made of them is no fault that was noticed.
    const usual = new Set([...(await faultsOf(checks(all))), ...(await faultsOf(fetchingKeys))]);
    const missed: string[] = [];
    for (const [name, server] of Object.entries(planted)) {
      cached.clear();
      const found = (await faultsOf(server)).filter((id) => !usual.has(id));
      if (process.env.SHOW_FAULTS) console.log(`${name}: ${found.join(', ')}`);
      if (found.length === 0) missed.push(name);
    }
    expect(missed).toEqual([]);
  }, 1_200_000);
});
