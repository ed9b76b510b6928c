import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import type { requestRows } from '../../../src/probe/run/rows.ts';
import { proofsWithout } from './proofs.ts';
import type { Planted } from './server.ts';

// For each row about requests, a server that fails it and is right in everything else.

export type RequestRow = (typeof requestRows)[number]['id'];

const at = ({ url }: Request) => new URL(url);
const header = ({ headers }: Request, name: string) => headers.get(name) ?? undefined;
const credentials = (request: Request) => header(request, 'authorization');
const tokenOf = (request: Request) => /^\w+ (\S+)$/.exec(credentials(request) ?? '')?.[1] ?? '';
const isMetadata = (request: Request) => at(request).pathname.startsWith('/.well-known/');

/** The protected response, for anybody. */
const open = () => Response.json({ hello: 'probe-control' });
const opensIf =
  (test: (request: Request) => unknown): Planted =>
  (request, right) =>
    test(request) ? open() : right(request);
const opensFor = (name: string, value: string) =>
  opensIf((request) => header(request, name)?.toLowerCase().startsWith(value));
const opensAt = (pathname: string) => opensIf((request) => at(request).pathname === pathname);
const opensTo = (method: string, isWithToken: boolean) =>
  opensIf((request) => request.method === method && isWithToken === (credentials(request) !== undefined));

const withToken = ({ url, method, body }: Request, token: string) =>
  new Request(url, { method, body, headers: { authorization: `Bearer ${token}` } });
/** Takes the first group as the token. */
const takes =
  (pattern: RegExp, from: (request: Request) => string | undefined = credentials): Planted =>
  (request, right) => {
    const [, token] = pattern.exec(from(request) ?? '') ?? [];
    return right(token === undefined ? request : withToken(request, token));
  };
const inQuery = (...names: readonly string[]) =>
  takes(/(.+)/, (request) => names.flatMap((name) => at(request).searchParams.get(name) ?? [])[0]);

const bearer = (parameters = '') => ({ 'www-authenticate': `Bearer ${parameters}`.trim() });
const refusal = (
  status = 401,
  headers: Readonly<Record<string, string>> = bearer('error="invalid_token"'),
  text = '',
) => new Response(text, { status, headers });
const refusesIf =
  (test: (request: Request) => unknown): Planted =>
  (request, right) =>
    test(request) ? refusal() : right(request);
/** Changes what is refused. */
const refusing =
  (change: (refused: Response, request: Request) => Response): Planted =>
  async (request, right) => {
    const response = await right(request);
    return response.status >= 400 && !isMetadata(request) ? change(response, request) : response;
  };
const challenging = (challenge: string) =>
  refusing((refused) => refusal(refused.status, { 'www-authenticate': challenge }));
const failsIf =
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
const adding = (headers: Readonly<Record<string, string>>, isFor: (response: Response) => boolean) =>
  changing((response) => {
    if (isFor(response)) for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  });
const isGood = ({ ok }: Response) => ok;

/** Remembers the protected response by what is taken for the same request. */
function cachedBy(keyOf: (request: Request) => string, isBehind = false): Planted {
  const kept = new Map<string, Response>();
  return async (request, right) => {
    const found = kept.get(keyOf(request))?.clone() as Response | undefined;
    const response = found && !isBehind ? found : await right(request);
    if (!response.ok || isMetadata(request)) return response;
    if (!found) kept.set(keyOf(request), response.clone() as Response);
    return found ?? response;
  };
}

/** Changes the metadata. */
const publishing =
  (change: object, headers?: Readonly<Record<string, string>>): Planted =>
  async (request, right) => {
    const response = await right(request);
    if (!isMetadata(request) || !response.ok) return response;
    return Response.json(
      { ...((await response.json()) as object), ...change },
      { headers: headers ?? { 'access-control-allow-origin': '*' } },
    );
  };

const fetchKeys = async (url: string) => (await (await fetch(url)).json()) as JSONWebKeySet;
/** Fetches the keys for each token, follows redirects and treats an outage as a bad token. */
const fetching: Planted = async (request, right, { keysUrl, respond }) => {
  const token = tokenOf(request);
  if (token === '') return right(request);
  try {
    return respond((await jwtVerify(token, createLocalJWKSet(await fetchKeys(keysUrl)))).payload);
  } catch {
    return refusal();
  }
};
/** Accepts tokens without what binds them. */
const unbound =
  (test: (request: Request) => unknown): Planted =>
  async (request, right, { verify, respond }) => {
    if (!test(request)) return right(request);
    try {
      return respond(await verify(tokenOf(request)));
    } catch {
      return refusal();
    }
  };
const isDpop = (request: Request) => credentials(request)?.startsWith('DPoP ');
const isBearer = (request: Request) => credentials(request)?.startsWith('Bearer ');
const headerOf = (request: Request) => decodeProtectedHeader(tokenOf(request));
const claimsOf = (request: Request) => decodeJwt(tokenOf(request));

export const planted: Readonly<Record<RequestRow, Planted>> = {
  'key-rotated': async (request, right, { keysUrl }) => {
    if (tokenOf(request) === '' || headerOf(request).kid !== 'probe-rotated') return right(request);
    await fetchKeys(keysUrl);
    return refusal();
  },

  'no-token-empty-header': opensIf((request) => credentials(request)?.trim() === ''),
  'no-token-other-headers': opensFor('x-original-url', '/'),
  'no-token-trusted-headers': opensFor('x-remote-user', 'admin'),
  'no-token-trusted-addresses': opensFor('x-forwarded-for', '127.0.0.1'),
  'no-token-subrequest': opensFor('x-middleware-subrequest', 'src/middleware:src/middleware'),
  'no-token-preflight': opensFor('access-control-request-method', 'get'),
  'no-token-range': (request, right) =>
    header(request, 'range') ? new Response('{', { status: 206 }) : right(request),
  'no-token-conditional': (request, right) =>
    header(request, 'if-none-match') ? new Response(null, { status: 304 }) : right(request),
  'no-token-upgrade': opensFor('upgrade', 'websocket'),

  'scheme-any-case': refusesIf((request) => !/^(?:Bearer|DPoP) /.test(credentials(request) ?? '')),
  'scheme-name-any-case': refusesIf((request) => header(request, 'x-names')?.includes('AUTHORIZATION')),
  'scheme-spaces': refusesIf((request) => /^Bearer {2}/.test(credentials(request) ?? '')),
  'scheme-basic': takes(/^Basic (\S+)$/),
  'scheme-none': takes(/^(\S+)$/),
  'scheme-other': takes(/^\w+ (\S+)$/),
  'scheme-punctuation': takes(/^"?Bearer"?[:=,]? ?(\S+)$/),
  'scheme-joined': takes(/^Bearer(\S+)$/),
  'scheme-beyond-ascii': takes(/^Bearer (\S+)$/, (request) =>
    credentials(request)
      ?.normalize('NFKD')
      .replaceAll(/[\u0300-\u036f]/g, ''),
  ),
  'scheme-dpop': unbound((request) => isDpop(request) && header(request, 'dpop') === undefined),

  'credentials-alone': opensIf((request) => /^Bearer\s*$/.test(credentials(request) ?? '')),
  'credentials-word-behind': takes(/^Bearer (\S+) x$/),
  'credentials-twice': takes(/^Bearer (\S+?)[ ,]/),
  'credentials-scheme-twice': takes(/^Bearer Bearer (\S+)/),
  'credentials-two-headers': takes(/^Bearer (\S+), Bearer \1$/),
  'credentials-two-headers-bad': takes(/^Bearer (\S+), Bearer e30/),
  'credentials-two-headers-basic': takes(/^Bearer (\S+), Basic/),

  'elsewhere-query': inQuery('access_token'),
  'elsewhere-query-names': inQuery('jwt'),
  'elsewhere-cookie': takes(/(?:^|; )token=(\S+)/, (request) => header(request, 'cookie')),
  'elsewhere-other-header': takes(/(.+)/, (request) => header(request, 'x-access-token')),
  'elsewhere-body': async (request, right) => {
    const token = new URLSearchParams(await request.clone().text()).get('access_token');
    return right(token ? withToken(request, token) : request);
  },

  'path-slash': opensAt('/reports/'),
  'path-double-slash': opensAt('//reports'),
  'path-case': opensAt('/REPORTS'),
  'path-encoded': opensAt('/%72eports'),
  'path-semicolon': opensAt('/reports;x=1'),
  'path-extension': opensAt('/reports.json'),
  'path-dots': opensIf((request) => header(request, 'x-url')?.startsWith('/public/../')),
  'path-query': opensIf((request) => at(request).search === '?x=1'),

  'method-head': opensTo('HEAD', false),
  'method-head-forged': opensTo('HEAD', true),
  'method-head-expired': opensIf(
    (request) => request.method === 'HEAD' && tokenOf(request) && claimsOf(request).exp === 1,
  ),
  'method-options': opensTo('OPTIONS', false),
  'method-options-forged': opensTo('OPTIONS', true),
  'method-options-expired': opensIf((request) => request.method === 'OPTIONS' && claimsOf(request).exp === 1),

  'cache-anonymous': cachedBy(({ url }) => url),
  'cache-bad-token': cachedBy((request) => tokenOf(request).replace(/\.[^.]*$/, '')),
  'cache-subject': cachedBy(({ url }) => url, true),
  'cache-expired': cachedBy((request) => credentials(request) ?? ''),
  'cache-refusal': adding({ 'cache-control': 'public, max-age=60' }, ({ status }) => status === 401),
  'cache-header': adding({ 'cache-control': 'public' }, isGood),

  'challenge-present': refusing(({ status }) => refusal(status, {})),
  'challenge-scheme': challenging('Negotiate'),
  'challenge-syntax': challenging('Bearer error="invalid_token'),
  'challenge-no-error': challenging('Bearer error="invalid_token"'),
  'challenge-invalid-token': challenging('Bearer error="access_denied"'),
  'challenge-invalid-request': refusing((refused, request) =>
    /a b$/.test(credentials(request) ?? '') ? refusal(403) : refused,
  ),
  'challenge-status-no-token': refusing((refused, request) => (credentials(request) ? refused : refusal(403))),
  'challenge-status-bad-token': refusing((refused, request) => (credentials(request) ? refusal(403) : refused)),
  'challenge-no-repetition': challenging('Bearer error="invalid_token", error="invalid_token"'),
  'challenge-characters': challenging('Bearer error="invalid_token", error_description="it\'s \\"bad\\""'),
  'challenge-scope-status': refusing((refused) => refusal(refused.status === 403 ? 401 : refused.status)),
  'challenge-scope-error': refusing(({ status }) => refusal(status, bearer('error="invalid_token"'))),
  'challenge-resource-metadata': refusing(({ status }) => refusal(status, bearer())),

  'error-garbage': failsIf((request) => decodeURIComponent(tokenOf(request)).includes('\0')),
  'error-header': failsIf((request) => /=\s*"?$/.test(credentials(request) ?? '')),
  'error-json': failsIf((request) => tokenOf(request).startsWith('bnVsbA')),
  'error-claims': failsIf((request) => Array.isArray(claimsOf(request).iss)),
  'error-kid': failsIf((request) => headerOf(request).kid === '__proto__'),
  'error-long': failsIf((request) => tokenOf(request).length > 6000),
  'error-huge': failsIf((request) => tokenOf(request).length > 60_000),

  'leak-stack': refusing((refused) => refusal(refused.status, bearer(), String(new Error('bad token').stack))),
  'leak-token': refusing((refused, request) => refusal(refused.status, bearer(), `bad token ${tokenOf(request)}`)),
  'leak-bad-signature': refusing((refused, request) =>
    tokenOf(request).endsWith('.AAAA') ? refusal(401, bearer(), 'at /srv/app/node_modules/jose/verify.js:1') : refused,
  ),
  'manners-head': refusesIf(({ method }) => method === 'HEAD'),
  'manners-cors-refusal': async (request, right) => {
    const response = await right(request);
    if (response.ok) response.headers.set('access-control-allow-origin', '*');
    else response.headers.delete('access-control-allow-origin');
    return response;
  },
  'manners-no-success-body': refusing(
    ({ status, headers }) => new Response('{"hello":"probe-control"}', { status, headers }),
  ),

  'metadata-present': (request, right) => (isMetadata(request) ? new Response(null, { status: 404 }) : right(request)),
  'metadata-media-type': publishing({}, { 'content-type': 'text/plain' }),
  'metadata-resource': publishing({ resource: 'https://other.invalid/' }),
  'metadata-servers': publishing({ authorization_servers: undefined }),
  'metadata-servers-secure': publishing({ authorization_servers: ['http://issuer.invalid/'] }),
  'metadata-bearer-methods': publishing({ bearer_methods_supported: ['header', 'query'] }),
  'metadata-scopes': publishing({ scopes_supported: ['write:reports'] }),
  'metadata-proof-algorithms': publishing({ dpop_signing_alg_values_supported: ['ES256', 'HS256'] }),
  'metadata-no-empty-lists': publishing({ scopes_supported: [] }),
  'metadata-every-origin': publishing({}, {}),

  'dpop-accepts': refusesIf(isDpop),
  'dpop-no-proof': unbound((request) => isDpop(request) && header(request, 'dpop') === undefined),
  'dpop-bearer': unbound((request) => isBearer(request) && header(request, 'dpop') === undefined),
  'dpop-bearer-proof': unbound((request) => isBearer(request) && header(request, 'dpop') !== undefined),
  'dpop-unbound': proofsWithout(['bound']),
  'dpop-other-key': proofsWithout(['binding']),
  'dpop-two-proofs': proofsWithout(['count']),
  'dpop-replay': proofsWithout(['replay']),
  'dpop-type': proofsWithout(['type']),
  'dpop-alg-none': proofsWithout(['algorithm']),
  'dpop-alg-symmetric': proofsWithout(['algorithm']),
  'dpop-signature': proofsWithout(['signature']),
  'dpop-private-key': proofsWithout(['private-key', 'signature']),
  'dpop-no-key': proofsWithout(['signature', 'binding']),
  'dpop-claim-missing': proofsWithout(['jti']),
  'dpop-ath-missing': proofsWithout([], { ath: ({ claims }) => claims.ath === undefined }),
  'dpop-other-method': proofsWithout(['method']),
  'dpop-method-case': proofsWithout([], {
    method: ({ request, claims }) => claims.htm?.toUpperCase() === request.method,
  }),
  'dpop-other-url': proofsWithout(['url']),
  'dpop-other-path': proofsWithout([], { url: ({ request, claims }) => claims.htu?.startsWith(request.url) === true }),
  'dpop-other-host': proofsWithout([], {
    url: ({ request, claims }) => at(new Request(claims.htu ?? '')).host === header(request, 'x-forwarded-host'),
  }),
  'dpop-other-token': proofsWithout(['ath']),
  'dpop-old': proofsWithout(['old']),
  'dpop-future': proofsWithout(['future']),
  'dpop-expired': proofsWithout(['exp']),
  'dpop-crit': proofsWithout(['crit']),
  'dpop-challenge': refusing((refused, request) => (isDpop(request) ? refusal(401, bearer()) : refused)),

  'kid-flood': async (request, right, { keysUrl }) => {
    if (tokenOf(request) !== '' && headerOf(request).kid?.startsWith('unknown')) await fetchKeys(keysUrl);
    return right(request);
  },
  'fetch-token-urls': async (request, right) => {
    const { jku } = tokenOf(request).includes('.') ? headerOf(request) : {};
    if (jku) await fetchKeys(jku);
    return right(request);
  },
  'fetch-outage': fetching,
  'fetch-malformed': fetching,
  'fetch-redirect': fetching,
  'fetch-huge': fetching,
};

/** Rows whose requests a function does not see as they are sent: names of headers, and paths with two dots. */
export const overNetwork: ReadonlySet<RequestRow> = new Set(['scheme-name-any-case', 'path-dots']);
