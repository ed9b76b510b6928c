import type { requestRows } from '../../../src/probe/run/rows.ts';
import {
  adding,
  at,
  bearer,
  cachedBy,
  challenging,
  claimsOf,
  credentials,
  failingOpen,
  failsIf,
  fetching,
  fetchingBriefly,
  fetchKeys,
  header,
  headerOf,
  inQuery,
  isBearer,
  isDpop,
  isGood,
  isMetadata,
  keepingAll,
  lockingOut,
  open,
  opensAt,
  opensFor,
  opensIf,
  opensTo,
  publishing,
  rejecting,
  rejection,
  rejectsIf,
  sessions,
  takes,
  tokenOf,
  unbound,
  withToken,
} from './faults.ts';
import { proofsWithout } from './proofs.ts';
import { audience, type Planted } from './server.ts';

// For each row about requests, a server that fails it and is right in everything else.

export type RequestRow = (typeof requestRows)[number]['id'];

export const planted: Readonly<Record<RequestRow, Planted>> = {
  'key-rotated': async (request, right, { keysUrl }) => {
    if (tokenOf(request) === '' || headerOf(request).kid !== 'probe-rotated') return right(request);
    await fetchKeys(keysUrl);
    return rejection();
  },

  'no-token-empty-header': opensIf((request) => credentials(request)?.trim() === ''),
  'no-token-other-headers': opensFor('x-original-url', '/'),
  'no-token-private-headers': opensIf((request) => header(request, 'x-internal') === '1'),
  'no-token-trusted-headers': opensFor('x-remote-user', 'admin'),
  'no-token-trusted-addresses': opensFor('x-forwarded-for', '127.0.0.1'),
  'no-token-health-check': opensFor('user-agent', 'kube-probe'),
  'no-token-default-password': opensFor('authorization', 'basic ywrtaw46ywrtaw4='),
  'no-token-other-scheme': opensFor('authorization', 'negotiate'),
  'no-token-subrequest': opensFor('x-middleware-subrequest', 'src/middleware:src/middleware'),
  'no-token-same-site': opensFor('referer', `${audience}/`),
  'no-token-stream': opensFor('accept', 'text/event-stream'),
  'no-token-mcp': async (request, right) =>
    (await request.clone().text()).includes('tools/list') ? open() : right(request),
  'no-token-mcp-session': sessions((request) => header(request, 'mcp-session-id') === 's'),
  'no-token-preflight': opensFor('access-control-request-method', 'get'),
  'no-token-range': (request, right) =>
    header(request, 'range') ? new Response('{', { status: 206 }) : right(request),
  'no-token-conditional': (request, right) =>
    header(request, 'if-none-match') ? new Response(null, { status: 304 }) : right(request),
  'no-token-upgrade': opensFor('upgrade', 'websocket'),

  'scheme-any-case': rejectsIf((request) => !/^(?:Bearer|DPoP) /.test(credentials(request) ?? '')),
  'scheme-name-any-case': rejectsIf((request) => header(request, 'x-names')?.includes('AUTHORIZATION')),
  'scheme-spaces': rejectsIf((request) => /^Bearer {2}/.test(credentials(request) ?? '')),
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
  'credentials-second-token': takes(/^Bearer (\S+?),(?! Bearer)/),
  'credentials-scheme-twice': takes(/^Bearer Bearer (\S+)/),
  'credentials-parameter': takes(/^Bearer \w+="?([\w.-]+)/),
  'credentials-two-headers': takes(/^Bearer (\S+), Bearer \1$/),
  'credentials-two-headers-bad': takes(/^Bearer e30\S+, Bearer (\S+)$/),
  'credentials-two-headers-basic': takes(/^Basic \S+, Bearer (\S+)$/),

  'elsewhere-query': inQuery('access_token'),
  'elsewhere-query-names': inQuery('jwt'),
  'elsewhere-cookie': takes(/(?:^|; )token=([^;\s]+)/, (request) => header(request, 'cookie')),
  'elsewhere-session': (request, right, parts) =>
    header(request, 'cookie') === 'sid=1'
      ? open()
      : adding({ 'set-cookie': 'sid=1; HttpOnly' }, isGood)(request, right, parts),
  'elsewhere-other-header': takes(/(.+)/, (request) => header(request, 'x-access-token')),
  'elsewhere-body': async (request, right) => {
    const token = new URLSearchParams(await request.clone().text()).get('access_token');
    return right(token ? withToken(request, token) : request);
  },

  'path-slash': opensAt('/messages/'),
  'path-double-slash': opensAt('//messages'),
  'path-case': opensAt('/MESSAGES'),
  'path-encoded': opensAt('/%256dessages'),
  'path-semicolon': opensAt('/messages;x=1'),
  'path-extension': opensAt('/messages.json'),
  'path-dots': opensIf((request) => header(request, 'x-url')?.startsWith('/public/../')),
  'path-ending': opensIf((request) => request.url.endsWith('%00')),
  'path-within': opensAt('/messages%2fsecret'),
  'path-query': opensIf((request) => request.url.includes('/health')),
  'path-page': opensFor('accept', 'text/html'),

  'method-head': opensTo('HEAD', false),
  'method-head-forged': opensTo('HEAD', true),
  'method-head-none': opensIf(
    (request) => request.method === 'HEAD' && tokenOf(request) && headerOf(request).alg === 'none',
  ),
  'method-head-expired': opensIf(
    (request) => request.method === 'HEAD' && tokenOf(request) && claimsOf(request).exp === 1,
  ),
  'method-options': opensTo('OPTIONS', false),
  'method-options-forged': opensTo('OPTIONS', true),
  'method-options-expired': opensIf((request) => request.method === 'OPTIONS' && claimsOf(request).exp === 1),

  'cache-anonymous': cachedBy(({ url }) => url),
  'cache-bad-token': cachedBy((request) => tokenOf(request).replace(/\.[^.]*$/, '')),
  'cache-lockout': lockingOut(),
  'cache-subject': cachedBy(({ url }) => url, true),
  'cache-expired': cachedBy((request) => credentials(request) ?? ''),
  'cache-condition': (request, right, parts) =>
    header(request, 'if-none-match') === '"v1"'
      ? new Response(null, { status: 304 })
      : adding({ etag: '"v1"' }, isGood)(request, right, parts),
  'cache-refusal': adding({ 'cache-control': 'public, max-age=60' }, ({ status }) => status === 401),
  'cache-header': adding({ 'cache-control': 'max-age=60, must-revalidate' }, isGood),

  'challenge-present': rejecting(({ status }) => rejection(status, {})),
  'challenge-scheme': challenging('Negotiate'),
  'challenge-syntax': challenging('Bearer error="invalid_token'),
  'challenge-no-error': challenging('Bearer error="invalid_token"'),
  'challenge-invalid-token': challenging('Bearer error="access_denied"'),
  'challenge-invalid-request': rejecting((rejected, request) =>
    /a b$/.test(credentials(request) ?? '') ? rejection(403) : rejected,
  ),
  'challenge-status-no-token': rejecting((rejected, request) => (credentials(request) ? rejected : rejection(403))),
  'challenge-status-bad-token': rejecting((rejected, request) => (credentials(request) ? rejection(403) : rejected)),
  'challenge-status-expired': rejecting((rejected, request) =>
    tokenOf(request).split('.').length === 3 && claimsOf(request).exp === 1 ? rejection(403) : rejected,
  ),
  'error-status': rejecting((rejected, request) =>
    tokenOf(request).split('.').length === 3 ? Response.json({ error: 'invalid_token' }) : rejected,
  ),
  'challenge-no-repetition': challenging('Bearer error="invalid_token", error="invalid_token"'),
  'challenge-characters': challenging('Bearer error="invalid_token", error_description="it\'s \\"bad\\""'),
  'challenge-scope-status': rejecting((rejected) => rejection(rejected.status === 403 ? 401 : rejected.status)),
  'challenge-scope-error': rejecting(({ status }) => rejection(status, bearer('error="invalid_token"'))),
  'challenge-resource-metadata': rejecting(({ status }) => rejection(status, bearer())),

  'error-garbage': failsIf((request) => decodeURIComponent(tokenOf(request)).includes('\0')),
  'error-header': failsIf((request) => /=\s*"?$/.test(credentials(request) ?? '')),
  'error-path': failsIf((request) => decodeURIComponent(at(request).pathname).includes('\0')),
  'error-json': failsIf((request) => tokenOf(request).startsWith('bnVsbA')),
  'error-algorithm': failsIf((request) => Array.isArray(headerOf(request).alg)),
  'error-claims': failsIf((request) => typeof claimsOf(request).sub === 'object'),
  'error-kid': failsIf((request) => headerOf(request).kid === '__proto__'),
  'error-long': failsIf((request) => tokenOf(request).length > 6000),
  'error-huge': failsIf((request) => tokenOf(request).length > 60_000),

  'leak-stack': rejecting((rejected) => rejection(rejected.status, bearer(), String(new Error('bad token').stack))),
  'leak-token': rejecting((rejected, request) => rejection(rejected.status, bearer(), `bad token ${tokenOf(request)}`)),
  'leak-members': rejecting((rejected, request) =>
    tokenOf(request) ? rejection(401, bearer(`error_description="No key ${headerOf(request).kid}"`)) : rejected,
  ),
  'leak-bad-signature': rejecting((rejected, request) =>
    tokenOf(request).endsWith('.AAAA')
      ? rejection(401, bearer(), 'at /srv/app/node_modules/jose/verify.js:1')
      : rejected,
  ),
  'manners-head': rejectsIf(({ method }) => method === 'HEAD'),
  'manners-cors-refusal': async (request, right) => {
    const response = await right(request);
    if (response.ok) response.headers.set('access-control-allow-origin', '*');
    else response.headers.delete('access-control-allow-origin');
    return response;
  },
  'manners-cors-credentials': adding(
    { 'access-control-allow-origin': 'https://spa.invalid', 'access-control-allow-credentials': 'true' },
    isGood,
  ),
  'manners-no-success-body': rejecting((rejected, request) =>
    tokenOf(request) === ''
      ? rejected
      : new Response('{"hello":"probe-control"}', { status: 401, headers: rejected.headers }),
  ),

  'metadata-present': (request, right) => (isMetadata(request) ? new Response(null, { status: 404 }) : right(request)),
  'metadata-media-type': publishing({}, { 'content-type': 'text/plain' }),
  'metadata-resource': publishing({ resource: 'https://other.invalid/' }),
  'metadata-servers': publishing({ authorization_servers: undefined }),
  'metadata-servers-secure': publishing({ authorization_servers: ['http://issuer.invalid/'] }),
  'metadata-bearer-methods': publishing({ bearer_methods_supported: ['header', 'query'] }),
  'metadata-scopes': publishing({ scopes_supported: ['write:messages'] }),
  'metadata-proof-algorithms': publishing({ dpop_signing_alg_values_supported: ['ES256', 'HS256'] }),
  'metadata-no-empty-lists': publishing({ scopes_supported: [] }),
  'metadata-every-origin': publishing({}, {}),

  'dpop-accepts': rejectsIf(isDpop),
  'dpop-no-proof': unbound((request) => isDpop(request) && header(request, 'dpop') === undefined),
  'dpop-bearer': unbound((request) => isBearer(request) && header(request, 'dpop') === undefined),
  'dpop-bearer-proof': unbound((request) => isBearer(request) && header(request, 'dpop') !== undefined),
  'dpop-unbound': proofsWithout(['bound']),
  'dpop-other-key': proofsWithout(['binding']),
  'dpop-two-proofs': proofsWithout(['count']),
  'dpop-replay': proofsWithout(['replay']),
  'dpop-replay-respelled': proofsWithout([], {
    replay: ({ request, seen }) => !seen.has(header(request, 'dpop')) && Boolean(seen.add(header(request, 'dpop'))),
  }),
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
  'dpop-challenge': rejecting((rejected, request) => (isDpop(request) ? rejection(401, bearer()) : rejected)),

  'kid-flood': async (request, right, { keysUrl }) => {
    if (tokenOf(request) !== '' && headerOf(request).kid?.startsWith('unknown')) await fetchKeys(keysUrl);
    return right(request);
  },
  'fetch-token-urls': async (request, right) => {
    const { jku } = tokenOf(request).includes('.') ? headerOf(request) : {};
    if (jku) await fetchKeys(jku);
    return right(request);
  },
  'fetch-outage-forged': failingOpen,
  'fetch-redirect-forged': fetching,
  'fetch-malformed-forged': failingOpen,
  'fetch-outage': fetching,
  'fetch-malformed': fetching,
  'fetch-redirect': fetching,
  'fetch-hang': fetchingBriefly(() => Response.error()),
  'fetch-withdrawn': keepingAll(),
  'fetch-unknown-type': async (request, right, { keysUrl }) => {
    const { keys } = tokenOf(request) === '' ? { keys: [] } : await fetchKeys(keysUrl);
    return keys.some(({ kty }) => kty === 'AKP') ? rejection() : right(request);
  },
  'fetch-huge': fetching,
  'fetch-aged': fetching,
};

/** Right servers whose good responses have what a row is about. */
export const passing: Readonly<Partial<Record<RequestRow, Planted>>> = {
  'cache-condition': adding({ etag: '"v1"' }, isGood),
  'elsewhere-session': adding({ 'set-cookie': 'sid=1; HttpOnly' }, isGood),
  'no-token-mcp-session': sessions(() => false),
  'fetch-hang': fetchingBriefly(() => rejection()),
};

/** Rows whose requests a function does not see as they are sent: names of headers, paths with two dots, upgrades. */
export const overNetwork: ReadonlySet<RequestRow> = new Set(['scheme-name-any-case', 'path-dots', 'no-token-upgrade']);
