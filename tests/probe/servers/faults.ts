import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, type JWK, jwtVerify } from 'jose';
import type { Planted } from './server.ts';

// What planted servers are made of: each of these is right but for one thing.

export const at = ({ url }: Request) => new URL(url);
export const header = ({ headers }: Request, name: string) => headers.get(name) ?? undefined;
export const credentials = (request: Request) => header(request, 'authorization');
export const tokenOf = (request: Request) => /^\w+ (\S+)$/.exec(credentials(request) ?? '')?.[1] ?? '';
export const isMetadata = (request: Request) => at(request).pathname.startsWith('/.well-known/');

/** The protected response, for anybody. */
export const open = () => Response.json({ hello: 'probe-control' });
export const opensIf =
  (test: (request: Request) => unknown): Planted =>
  (request, right) =>
    test(request) ? open() : right(request);
export const opensFor = (name: string, value: string) =>
  opensIf((request) => header(request, name)?.toLowerCase().startsWith(value));
export const opensAt = (pathname: string) => opensIf((request) => at(request).pathname === pathname);
export const opensTo = (method: string, isWithToken: boolean) =>
  opensIf((request) => request.method === method && isWithToken === (credentials(request) !== undefined));

export const withToken = ({ url, method, body }: Request, token: string) =>
  new Request(url, { method, body, headers: { authorization: `Bearer ${token}` } });
/** Takes the first group as the token. */
export const takes =
  (pattern: RegExp, from: (request: Request) => string | undefined = credentials): Planted =>
  (request, right) => {
    const [, token] = pattern.exec(from(request) ?? '') ?? [];
    return right(token === undefined ? request : withToken(request, token));
  };
export const inQuery = (...names: readonly string[]) =>
  takes(/(.+)/, (request) => names.flatMap((name) => at(request).searchParams.get(name) ?? [])[0]);

export const bearer = (parameters = '') => ({ 'www-authenticate': `Bearer ${parameters}`.trim() });
export const rejection = (
  status = 401,
  headers: Readonly<Record<string, string>> = bearer('error="invalid_token"'),
  text = '',
) => new Response(text, { status, headers });
export const rejectsIf =
  (test: (request: Request) => unknown): Planted =>
  (request, right) =>
    test(request) ? rejection() : right(request);
/** Changes what is rejected. */
export const rejecting =
  (change: (rejected: Response, request: Request) => Response): Planted =>
  async (request, right) => {
    const response = await right(request);
    return response.status >= 400 && !isMetadata(request) ? change(response, request) : response;
  };
export const challenging = (challenge: string) =>
  rejecting((rejected) => rejection(rejected.status, { 'www-authenticate': challenge }));
export const failsIf =
  (test: (request: Request) => unknown): Planted =>
  (request, right) => {
    try {
      return test(request) ? new Response('fault', { status: 500 }) : right(request);
    } catch {
      return right(request);
    }
  };
const changing =
  (change: (response: Response) => Response): Planted =>
  async (request, right) =>
    change(await right(request));
export const adding = (headers: Readonly<Record<string, string>>, isFor: (response: Response) => boolean) =>
  changing((response) => {
    if (isFor(response)) for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  });
export const isGood = ({ ok }: Response) => ok;

/** Remembers the protected response by what is taken for the same request. */
export function cachedBy(keyOf: (request: Request) => string, isBehind = false): Planted {
  const kept = new Map<string, Response>();
  return async (request, right) => {
    const found = kept.get(keyOf(request))?.clone() as Response | undefined;
    const response = found && !isBehind ? found : await right(request);
    if (!response.ok || isMetadata(request)) return response;
    if (!found) kept.set(keyOf(request), response.clone() as Response);
    return found ?? response;
  };
}

/** Rejects who is named in a token with a wrong signature. */
export function lockingOut(): Planted {
  const locked = new Set<unknown>();
  return async (request, right) => {
    const { sub } = tokenOf(request).includes('.') ? claimsOf(request) : {};
    if (locked.has(sub)) return rejection();
    const response = await right(request);
    if (response.status === 401 && sub !== undefined) locked.add(sub);
    return response;
  };
}
/** Names a session, and opens to some requests. */
export const sessions =
  (test: (request: Request) => boolean): Planted =>
  (request, right, parts) =>
    test(request) ? open() : adding({ 'mcp-session-id': 's' }, isGood)(request, right, parts);

/** Changes the metadata. */
export const publishing =
  (change: object, headers?: Readonly<Record<string, string>>): Planted =>
  async (request, right) => {
    const response = await right(request);
    if (!isMetadata(request) || !response.ok) return response;
    return Response.json(
      { ...((await response.json()) as object), ...change },
      { headers: headers ?? { 'access-control-allow-origin': '*' } },
    );
  };

export const fetchKeys = async (url: string) => (await (await fetch(url)).json()) as JSONWebKeySet;
/** Fetches the keys for each token, follows redirects and treats an outage as a bad token. */
export const fetching: Planted = async (request, right, { keysUrl, respond }) => {
  const token = tokenOf(request);
  if (token === '') return right(request);
  try {
    return respond((await jwtVerify(token, createLocalJWKSet(await fetchKeys(keysUrl)))).payload);
  } catch {
    return rejection();
  }
};
/** Fetches the keys for each token, and lets everybody in while there are none. */
export const failingOpen: Planted = async (request, right, { keysUrl, respond }) => {
  const token = tokenOf(request);
  if (token === '') return right(request);
  const keys = await fetchKeys(keysUrl)
    .then(createLocalJWKSet)
    .catch(() => undefined);
  if (!keys) return respond({ sub: 'probe-control' });
  return jwtVerify(token, keys).then(
    ({ payload }) => respond(payload),
    () => rejection(),
  );
};
/** Fetches the keys for each token, for a tenth of a second; `late` responds to an unknown kid if that is too short. */
export const fetchingBriefly =
  (late: () => Response): Planted =>
  async (request, right, { keysUrl }) => {
    if (!tokenOf(request).includes('.') || !headerOf(request).kid?.startsWith('unknown')) return right(request);
    return fetch(keysUrl, { signal: AbortSignal.timeout(100) }).then(() => rejection(), late);
  };
/** Fetches the keys for each token, and trusts each that it has ever fetched. */
export function keepingAll(): Planted {
  const kept = new Map<string | undefined, JWK>();
  return async (request, right, { keysUrl, respond }) => {
    if (tokenOf(request) === '') return right(request);
    for (const key of (await fetchKeys(keysUrl)).keys) kept.set(key.kid, key);
    return jwtVerify(tokenOf(request), createLocalJWKSet({ keys: [...kept.values()] })).then(
      ({ payload }) => respond(payload),
      () => rejection(),
    );
  };
}
/** Accepts tokens without what binds them. */
export const unbound =
  (test: (request: Request) => unknown): Planted =>
  async (request, right, { verify, respond }) => {
    if (!test(request)) return right(request);
    try {
      return respond(await verify(tokenOf(request)));
    } catch {
      return rejection();
    }
  };
export const isDpop = (request: Request) => credentials(request)?.startsWith('DPoP ');
export const isBearer = (request: Request) => credentials(request)?.startsWith('Bearer ');
export const headerOf = (request: Request) => decodeProtectedHeader(tokenOf(request));
export const claimsOf = (request: Request) => decodeJwt(tokenOf(request));
