import { afterAll, afterEach, describe, expect, setSystemTime, test } from 'bun:test';
import { createHmac, createPublicKey } from 'node:crypto';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  importJWK,
  type JWK,
  jwtVerify,
} from 'jose';
import { createGuard } from '../../src/auth/index.ts';
import { protectMcp } from '../../src/auth/mcp.ts';
import { createTestIssuer } from '../../src/auth/testing.ts';
import type { ProbeOptions, Profile } from '../../src/probe/index.ts';
import { type KeyServer, startServedIssuer } from '../../src/probe/issuer/served-issuer.ts';
import type { Needs } from '../../src/probe/row/description.ts';
import { runProbe } from '../../src/probe/run/probe.ts';
import { rows } from '../../src/probe/run/rows.ts';
import { isNight } from '../support/node-versions.ts';

const scope = 'read:messages';
const url = 'https://api.invalid/messages';
const issuer = await createTestIssuer();
const { keys, ...expected } = issuer.options;
const [jwk] = keys.keys as readonly JWK[];
const publicKey = createPublicKey({ key: jwk as object, format: 'jwk' });
const keySet = createLocalJWKSet({ keys: [jwk as JWK] });

const rejection = (status: number, challenge = 'Bearer error="invalid_token"', body = '') =>
  new Response(body, { status, headers: challenge ? { 'www-authenticate': challenge } : {} });
interface Given {
  readonly token: string;
  readonly request?: Request;
}
type Claims = Readonly<Record<string, unknown>>;
/** Returns the claims of a token, or throws. */
type Verify = (given: Given) => Promise<Claims> | Claims;

const right: Verify = async ({ token }) =>
  (await jwtVerify(token, keySet, { ...expected, algorithms: ['RS256'] })).payload;
const hasScope = (claims: Claims) => typeof claims.scope === 'string' && claims.scope.split(' ').includes(scope);

interface Server {
  readonly verify?: Verify;
  readonly isAllowed?: (claims: Claims) => boolean;
  readonly tokenOf?: (request: Request) => string | undefined;
  readonly reject?: (status: number, why: unknown) => Response;
  readonly respond?: (claims: Claims) => Response;
}

/** Returns an API that is right but for what is given. */
function api({
  verify = right,
  isAllowed = hasScope,
  tokenOf = () => undefined,
  reject = (status) => rejection(status),
  respond = ({ sub }) => Response.json({ hello: sub }),
}: Server = {}) {
  return async (request: Request): Promise<Response> => {
    const [, bearer] = /^Bearer +([\w-]+\.[\w-]+\.[\w-]*)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
    const token = bearer ?? tokenOf(request);
    if (token === undefined) return reject(401, 'none');
    try {
      const claims = await verify({ token, request });
      return isAllowed(claims) ? respond(claims) : rejection(403, 'Bearer error="insufficient_scope"');
    } catch (error) {
      return reject(401, error);
    }
  };
}

/** Checks claims after a signature that was not checked well. */
const withClaims = (claims: Claims) => {
  const { iss, aud, exp } = claims;
  if (iss !== expected.issuer || ![aud].flat().includes(expected.audience) || !(Number(exp) > Date.now() / 1000))
    throw new Error();
  return claims;
};
const onlySome =
  (options: object): Verify =>
  async ({ token }) =>
    (await jwtVerify(token, keySet, { algorithms: ['RS256'], ...options })).payload;
const cached = new Map<string, Response>();

const planted: Readonly<
  Record<string, readonly [server: Server | ((request: Request) => Promise<Response>), id: string]>
> = {
  'no signature check': [{ verify: ({ token }) => withClaims(decodeJwt(token)) }, 'signature-stranger'],
  'alg none': [
    {
      verify: (given) =>
        decodeProtectedHeader(given.token).alg === 'none' ? withClaims(decodeJwt(given.token)) : right(given),
    },
    'none-empty-signature',
  ],
  'HMAC by the public key': [
    {
      verify(given) {
        const [header, payload, signature] = given.token.split('.');
        if (decodeProtectedHeader(given.token).alg !== 'HS256') return right(given);
        const pem = publicKey.export({ type: 'spki', format: 'pem' });
        if (createHmac('sha256', pem).update(`${header}.${payload}`).digest('base64url') !== signature)
          throw new Error();
        return withClaims(decodeJwt(given.token));
      },
    },
    'hmac-pem',
  ],
  'no audience': [{ verify: onlySome({ issuer: expected.issuer }) }, 'audience-other'],
  'no issuer': [{ verify: onlySome({ audience: expected.audience }) }, 'issuer-other'],
  'no expiry': [{ verify: onlySome({ ...expected, clockTolerance: 1e12 }) }, 'expiry-past'],
  'a prefix taken for a scope': [
    { isAllowed: ({ scope: granted }) => String(granted).includes(scope) },
    'scope-prefix',
  ],
  'an ID token accepted': [
    { verify: onlySome({ issuer: expected.issuer, audience: [expected.audience, 'client-1'] }), isAllowed: () => true },
    'kind-id-token',
  ],
  'a key of the token itself': [
    {
      verify: async ({ token }) => {
        const { jwk: own } = decodeProtectedHeader(token);
        return own ? (await jwtVerify(token, await importJWK(own, 'RS256'), expected)).payload : right({ token });
      },
    },
    'embedded-jwk',
  ],
  '500 for garbage': [
    { reject: (status, why) => rejection(why instanceof Error && why.name === 'JWSInvalid' ? 500 : status) },
    'error-json',
  ],
  'a challenge without scheme': [
    { reject: (status) => rejection(status, 'realm="api", error="invalid_token"') },
    'challenge-syntax',
  ],
  'no challenge': [{ reject: (status) => rejection(status, '') }, 'challenge-present'],
  'a token in the query': [
    { tokenOf: (request) => new URL(request.url).searchParams.get('access_token') ?? undefined },
    'elsewhere-query',
  ],
  'a stack trace': [
    { reject: (status, why) => rejection(status, undefined, why instanceof Error ? why.stack : '') },
    'leak-stack',
  ],
  'a cache that serves the first response to anyone': [
    async (request) => {
      const response = cached.get(request.url) ?? (await api()(request));
      if (response.ok) cached.set(request.url, response);
      return response.clone() as Response;
    },
    'cache-anonymous',
  ],
  'a cache behind the guard': [
    async (request) => {
      const response = await api()(request);
      if (response.ok && !cached.has('behind')) cached.set('behind', response);
      return response.ok
        ? ((cached.get('behind')?.clone() as Response | undefined) ?? (response as Response))
        : response;
    },
    'cache-subject',
  ],
};

const run = (
  server: Server | ((request: Request) => Promise<Response>),
  options: Partial<ProbeOptions> = {},
  keyServer?: KeyServer,
) => {
  const fetch = typeof server === 'function' ? server : api(server);
  return runProbe({ issuer, fetch, targets: [{ url, scope }], ...options }, keyServer);
};

describe('probe() finds', () => {
  test.each(Object.entries(planted))('%s', async (_, [server, id]) => {
    const report = await run(server, { only: [id] });
    const found = report.rows.find((row) => row.id === id);
    // Bun writes the matcher into what it compares.
    expect({ ...found }).toMatchObject({
      id,
      verdict: found?.level === 'must' ? 'failed' : 'warning',
      rule: expect.stringMatching(/\d/),
    });
    expect(report.render(false, 1000)).toMatch(new RegExp(`(failed|warning) +${id} `));
  });

  test.each([
    [
      'a key fetched from jku',
      'fetch-token-urls',
      ({ jku }: ReturnType<typeof decodeProtectedHeader>, kid: string) => jku ?? kid,
    ],
    [
      'a key fetch for each unknown kid',
      'kid-flood fetch-outage fetch-malformed fetch-redirect fetch-huge',
      (_: unknown, kid: string) => `${kid}?${Math.random()}`,
    ],
  ])('%s', async (_, ids, urlOf) => {
    const { issuer, server } = await startServedIssuer({ audience: expected.audience, kid: 'shared' });
    const verify: Verify = async ({ token }) => {
      const header = decodeProtectedHeader(token);
      const from = urlOf(header, `${server.url}.well-known/jwks.json`);
      if (!from.includes('?')) return (await jwtVerify(token, createRemoteJWKSet(new URL(from)))).payload;
      const keySet = (await (await fetch(from.replace(/\?.*/, ''))).json()) as { keys: JWK[] };
      return (await jwtVerify(token, createLocalJWKSet(keySet))).payload;
    };
    const report = await run({ verify }, { issuer, only: ['embedded-jku', ...ids.split(' ')] }, server);
    expect([...report.failed, ...report.warnings].map((row) => row.id)).toEqual(expect.arrayContaining(ids.split(' ')));
    await server.close();
  });
});

let requests = 0;
const callers: string[] = [];
const isLong = ({ headers }: Request) => Number(headers.get('authorization')?.length) > 16_384;
const toLogin = () => new Response(null, { status: 302, headers: { location: '/login' } });
/** Signing takes most of the time: by day, only an API that is right gets every row. */
const byDay: Partial<ProbeOptions> = isNight ? {} : { depth: 'quick' };
const rowsByDay = (...only: readonly string[]): Partial<ProbeOptions> => (isNight ? {} : { only });
describe('probe() accuses nobody wrongly:', () => {
  type Honest = readonly [server: Parameters<typeof run>[0], isComplete: boolean, options?: Partial<ProbeOptions>];
  const honest: Readonly<Record<string, Honest>> = {
    'an API that is right': [{}, true],
    'one that responds with 403': [{ reject: () => rejection(403, '') }, true, byDay],
    'one that responds with 404': [{ reject: () => rejection(404, '') }, true, byDay],
    'one that does not speak JSON': [
      async (request) => {
        const { status, headers } = await api()(request);
        return new Response('<html>', {
          status,
          headers: { ...Object.fromEntries(headers), 'content-type': 'text/html' },
        });
      },
      true,
      byDay,
    ],
    'one whose pages are alike': [
      async (request) => {
        const { status, headers } = await api()(request);
        return new Response('the shell of a page', { status, headers });
      },
      true,
      byDay,
    ],
    'one that redirects to a login page': [{ reject: toLogin }, true, byDay],
    'one that redirects everything to a login page': [async () => toLogin(), false],
    'one that lists its callers': [
      {
        isAllowed: (claims) => hasScope(claims) && callers.push(String(claims.sub)) > 0,
        respond: () => Response.json(callers.slice(-5)),
      },
      true,
      byDay,
    ],
    'one behind a gateway that does not pass on long headers': [
      async (request) =>
        Number(request.headers.get('authorization')?.length) > 6000
          ? new Response('upstream', { status: 503 })
          : api()(request),
      false,
    ],
    'one that ignores a comma behind a token': [
      async ({ url, method, headers }) => {
        const authorization = headers.get('authorization')?.replace(/,$/, '');
        return api()(new Request(url, { method, headers: authorization === undefined ? {} : { authorization } }));
      },
      true,
      rowsByDay('credentials', 'scheme'),
    ],
    'one behind a limit of ten requests': [
      async (request) => {
        requests += 1;
        return requests > 10
          ? new Response('slow down', { status: 429, headers: { 'retry-after': '60' } })
          : api()(request);
      },
      false,
    ],
    'one that rejects everything': [async () => rejection(401), false],
    'one that goes down half-way': [
      async (request) => {
        requests += 1;
        return requests > 150 ? new Response('bad gateway', { status: 502 }) : api()(request);
      },
      false,
    ],
    'one that is not there': [() => Promise.reject(new TypeError('unreachable')), false],
    'one that closes the connection on a long header': [
      async (request) => (isLong(request) ? Promise.reject(new TypeError('reset')) : api()(request)),
      true,
      rowsByDay('error', 'credentials'),
    ],
    'one that ends on a long header': [
      async (request) => {
        requests += isLong(request) ? 1 : 0;
        return requests > 0 ? Promise.reject(new TypeError('reset')) : api()(request);
      },
      false,
      { issuer: undefined, only: ['error-huge'] },
    ],
  };
  test.each(Object.entries(honest))('%s', async (_, [server, isComplete, options]) => {
    requests = 0;
    const report = await run(server, options);
    expect({ failed: report.failed, isComplete: report.isComplete }).toEqual({ failed: [], isComplete });
    expect(report.rows.some(({ verdict }) => verdict === 'inconclusive')).toBe(!isComplete);
  });

  test('an operation that its document calls public', async () => {
    const operation = { security: [{ bearer: [scope] }] };
    const part = { in: 'path', name: 'part', schema: { $ref: '#/components/schemas/Part' } };
    const openapi = {
      servers: [{ url: 'https://production.invalid/v1/' }],
      paths: {
        '/messages': { get: operation, post: operation },
        '/messages/{id}/{page}/{part}': {
          parameters: [{ $ref: '#/components/parameters/a~1b' }, part],
          get: operation,
        },
        '/health': { get: {} },
      },
      components: {
        parameters: { 'a/b': { in: 'path', name: 'id', example: 'a b' } },
        schemas: { Part: { type: 'integer', example: 7 } },
      },
    };
    const asked = new Set<string>();
    const report = await run(
      async (request) => {
        asked.add(request.url);
        return api()(request);
      },
      { targets: undefined, openapi, baseUrl: 'https://api.invalid/docs/openapi.json', only: ['signature', 'scope'] },
    );
    expect(report.failed).toEqual([]);
    const paths = ['/v1/messages', '/v1/messages/a%20b/1/7'];
    expect([...asked].filter((each) => !each.includes('well-known'))).toEqual(
      paths.map((at) => `https://api.invalid${at}`),
    );
    expect(report.notTried).toEqual(['POST /messages: name the method to try it', 'GET /health is public']);
  });
});

const lax = api({
  tokenOf: (request) => new URL(request.url).searchParams.get('access_token') ?? undefined,
});
const inQuery = 'elsewhere-query';
test.each<[profile: Profile | undefined, failed: readonly string[]]>([
  [undefined, []],
  ['rfc6750', []],
  ['rfc9068', ['claims-exp-missing', 'type-id', 'type-jwt']],
  ['mcp', ['metadata-present', inQuery]],
  ['fapi2', ['claims-exp-missing', inQuery]],
])('probe() fails an API without exp, typ and metadata by the profile %s', async (profile, ids) => {
  const only = ['claims-exp-missing', 'type-id', 'type-jwt', 'metadata-present', inQuery];
  const { failed, warnings, skipped } = await run(lax, { profile, only });
  expect(failed.map(({ id }) => id).toSorted()).toEqual([...ids].toSorted());
  expect([...failed, ...warnings, ...skipped].map(({ id }) => id).toSorted()).toEqual(only.toSorted());
});

/** What a run sends besides its rows: a request without a token, the metadata, and good tokens. */
const controls = 6 + 2 * Math.ceil(rows.length / 25);
/** The most that rows for what is given send. */
const mostFor = (...needs: readonly Needs[]) =>
  rows.reduce((sum, row) => sum + (needs.includes(row.needs) ? row.requests : 0), controls);

describe('probe() sends no more than its rows announce', async () => {
  const { issuer, server } = await startServedIssuer({ audience: expected.audience, kid: 'shared' });
  afterAll(server.close);
  const { origin } = new URL(url);
  const trusting = { issuer: server.url, audience: expected.audience, onKeySetEvent() {} };
  const guard = createGuard({ ...trusting, dpop: 'on', publicUrl: origin });
  const token = { issuer: undefined, token: () => issuer.token({ scope }), keys: issuer.options.keys };
  type Most = [what: string, options: Partial<ProbeOptions>, most: number, passed: number];
  const quiet = { issuer, intrusive: false };
  const byNight: Most[] = [['the same, but not intrusive', quiet, mostFor('nothing', 'token', 'issuer') - 10, 320]];
  test.each<Most>([
    ['an issuer on a port and DPoP', { issuer }, mostFor('nothing', 'token', 'issuer'), 325],
    ...(isNight ? byNight : []),
    ['a token', token, mostFor('nothing', 'token'), 140],
    ['nothing else', { issuer: undefined }, mostFor('nothing'), 65],
  ])('with %s', async (_, options, most, passed) => {
    let sent = 0;
    const onResponse = () => {
      sent += 1;
    };
    const guarded = async (request: Request) => {
      const result = guard.metadata(request) ?? (await guard.check(request, { scope }));
      return result instanceof Response ? result : Response.json({ hello: result.claims.sub });
    };
    const report = await run(guarded, { ...options, onResponse }, options.issuer && server);
    expect([report.failed, report.warnings, report.inconclusive]).toEqual([[], [], []]);
    expect(report.passed.length).toBeGreaterThan(passed);
    expect(sent).toBeLessThanOrEqual(most);
    const huge = report.rows.find(({ id }) => id === 'error-huge');
    const why = 'A header over 8 KiB: --intrusive';
    expect(huge).toMatchObject(options.intrusive === false ? { verdict: 'skipped', got: why } : { verdict: 'passed' });
  });
});

test('probe() tries an MCP server with a ping, begins a session, and sends nothing to its tools', async () => {
  const resource = 'https://api.invalid/mcp';
  const guard = createGuard({ ...issuer.options, publicUrl: 'https://api.invalid', resource });
  const handler = createMcpHandler(() => new McpServer({ name: 'notes', version: '1.0.0' }));
  const methods = new Set<string>();
  const server = protectMcp(guard, { scope }, (request, { message }) => {
    methods.add(String((message as Partial<Record<string, unknown>> | undefined)?.method));
    return handler.fetch(request, { parsedBody: message });
  });
  const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const report = await run(server, {
    ...{ profile: 'mcp', targets: [{ url: resource, method: 'POST', body, scope }] },
    headers: { Accept: 'application/json, text/event-stream' },
  });
  expect([report.failed, report.warnings, report.inconclusive, [...methods]]).toEqual([
    [],
    [],
    [],
    ['ping', 'initialize'],
  ]);
});

const withTenant = {
  isAllowed: hasScope,
  verify: async (given: Given) => {
    const claims = await right(given);
    if (claims.tenant !== 'a') throw new TypeError('no tenant');
    return claims;
  },
};
/** A guard says why a token is rejected. */
const reject = (status: number, why: unknown) =>
  rejection(
    status,
    `Bearer error="invalid_token", error_description="${why instanceof TypeError ? 'Token claims' : 'Token signature'}"`,
  );

test('probe() tries an API that requires claims of its own, if it is given them', async () => {
  const tenantIssuer = await createTestIssuer({ key: issuer.key, claims: { tenant: 'a' } });
  for (const options of [{ claims: { tenant: 'a' } }, { issuer: tenantIssuer }]) {
    const { failed, isComplete } = await run(withTenant, { ...byDay, ...options });
    expect([failed, isComplete]).toEqual([[], true]);
  }
});

test.each([
  [
    'that it needs other claims, if it accepts the signature',
    withTenant,
    /Token claims\): The API trusts the issuer, .* --claims claims\.json/,
  ],
  [
    'that it must trust the issuer, if it rejects every signature',
    { verify: () => Promise.reject(new Error()) },
    /Token signature\): The API must trust/,
  ],
])('probe() says of an API that rejects a good token %s', async (_, server, words) => {
  const { skipped, inconclusive } = await run({ ...server, reject });
  expect(inconclusive.map(({ id, got }) => [id, got])).toEqual([['control', expect.stringMatching(words)]]);
  expect(new Set(skipped.map(({ got }) => words.test(got)))).toEqual(new Set([true]));
});

test('probe() judges a target that serves without a token by that alone', async () => {
  const report = await run(async () => Response.json({}));
  expect(report.failed.map(({ id }) => id)).toEqual(['no-token']);
  expect(report.passed).toEqual([]);
});

test('probe() says of known deviations that they are known, and of those that are gone everywhere that they pass again', async () => {
  const known = { 'audience-other': 'issue 12', 'issuer-other': 'issue 13' };
  const targets = ['https://api.invalid/old', 'https://api.invalid/new'];
  const old = api({ verify: onlySome({ issuer: expected.issuer }), isAllowed: () => true });
  const now = api({ isAllowed: () => true });
  const report = await run((request) => (request.url.endsWith('old') ? old(request) : now(request)), {
    ...{ targets, known, only: ['audience-other', 'issuer-other'] },
  });
  expect(report.failed.map(({ id }) => id)).toEqual(['issuer-other', 'issuer-other']);
  expect(report.render(false, 80)).not.toMatch(/^.{81}/m);
  expect(report.render(false, 0)).toBe(report.render(false, 60));
  expect(report.render(false, 1000)).toMatch(/known +audience-other .*\(known: issue 12\)/);
});

test.each(['HS256', 'ES256K', 'ML-DSA-44', 'Ed25519', 'unknown'])('probe() tries a token of %s', async (alg) => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const token = `${part({ alg })}.${part({ sub: 'a' })}.${'A'.repeat(86)}`;
  const verify: Verify = (given) => {
    if (given.token !== token) throw new Error();
    return { scope };
  };
  const report = await run({ verify }, { issuer: undefined, token });
  expect([report.failed, report.isComplete]).toEqual([[], true]);
});

test('probe() skips what needs a key that it cannot read, and tries the rest', async () => {
  const token = await issuer.token({ scope });
  const { kid } = jwk as JWK;
  const report = await run({}, { issuer: undefined, token, keys: { keys: [{ kty: 'LWE', kid }] } });
  expect([report.failed, report.isComplete]).toEqual([[], true]);
  expect(report.skipped.map(({ id }) => id)).toEqual(expect.arrayContaining(['hmac-pem']));
  expect(report.passed.map(({ id }) => id)).toEqual(expect.arrayContaining(['hmac-empty', 'control-end']));
});

test('probe() tries an opaque token with what can be done to it', async () => {
  const verify: Verify = ({ request }) => {
    if (request?.headers.get('authorization') !== 'Bearer opaque') throw new Error();
    return { scope };
  };
  const tokenOf = ({ headers }: Request) => headers.get('authorization') ?? undefined;
  const report = await run({ verify, tokenOf }, { issuer: undefined, token: 'opaque', skip: ['scheme'] });
  expect([report.failed, report.isComplete]).toEqual([[], true]);
});

describe('probe(), when its token expires during the run,', () => {
  afterEach(() => setSystemTime());
  /** An API at which an hour passes with the tenth request. */
  function slow() {
    let requests = 0;
    return (request: Request) => {
      requests += 1;
      if (requests === 10) setSystemTime(Date.now() + 3_600_000);
      return api()(request);
    };
  }
  const given = { issuer: undefined, only: ['scheme', 'altered'] };

  test('fetches a new one', async () => {
    const report = await run(slow(), { ...given, token: () => issuer.token({ scope }) });
    expect(report.rows.at(-1)).toMatchObject({ id: 'control-end', verdict: 'passed' });
  });

  test('ends with a sentence if there is none', async () => {
    const report = await run(slow(), { ...given, token: await issuer.token({ scope }) });
    expect([report.failed, report.isComplete]).toEqual([[], false]);
    expect(report.render()).toContain('Not tried: The token has expired: give one that lives longer');
  });
});

test.each([
  ['{"method":"ping"}', 'application/json'],
  ['a=b', 'application/x-www-form-urlencoded'],
])('probe() names the media type of the body %s', async (body, type) => {
  const types = new Set<unknown>();
  const seen = async (request: Request) => {
    types.add(request.headers.get('content-type'));
    return api()(request);
  };
  await run(seen, { targets: [{ url, method: 'POST', body, scope }], only: ['scheme'] });
  expect([...types].filter((each) => each !== null)).toEqual([type]);
});

test.each([
  ['targets', { targets: [] }],
  ['url', { targets: ['/messages'] }],
  ['url', { targets: ['https://user:hunter2@api.invalid/'] }],
  ['row', { only: ['audience-othr'] }],
  ['row', { known: { audience: 'the beginning of IDs' } }],
  ['issuer', { issuer: { ...issuer, key: {} } }],
])('probe() rejects a wrong %s with a TypeError', (name, options) =>
  expect(run({}, options)).rejects.toThrow(new RegExp(`^Cannot probe(?!.*hunter2).*${name}`)),
);

test('probe() tries with a token alone what needs no key of its issuer', async () => {
  const token = await issuer.token({ scope });
  const report = await run(
    {},
    { issuer: undefined, token, tokens: { expired: await issuer.token({}, { expired: true }) }, keys },
  );
  expect(report.failed).toEqual([]);
  expect(report.skipped.filter(({ needs }) => needs !== 'issuer').length).toBeLessThan(25);
  expect(report.passed.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['given-expired', 'hmac-pem', 'altered-alg-none', 'control-end']),
  );
});
