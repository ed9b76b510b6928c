import { describe, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { createGuard, describeRejections, type GuardOptions, type RejectionFormat } from '../../../src/auth/index.ts';
import { requireToken } from '../../../src/auth/node.ts';
import { rejections } from '../../../src/auth/rejections.ts';
import { createTestIssuer } from '../../../src/auth/testing.ts';
import type { DpopMode, RejectionReason } from '../../../src/auth/types.ts';
import { createChecker, ISSUER, publishedBy, tokenOf } from '../../support/checked.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { bearer } from '../../support/mint.ts';
import { bound, proven } from '../../support/proof.ts';
import { listen } from '../../support/raw-http.ts';

const issuer = await createTestIssuer();
const publicUrl = 'https://api.example.test';
const options = { ...issuer.options, publicUrl };
const metadata = 'resource_metadata="https://api.example.test/.well-known/oauth-protected-resource"';
const plain = createGuard(options);
const provenOnly = createGuard({ ...options, dpop: 'required', dpopAlgorithms: ['ES256', 'PS256'] });
const unreachable = createGuard({
  issuer: 'https://issuer.example.test/',
  audience: issuer.options.audience,
  fetch: () => Promise.reject(new TypeError('unreachable')),
  onKeySetEvent() {},
});
const request = (headers: Record<string, string> = {}) => new Request(`${publicUrl}/messages`, { headers });

/** What clients see, spelt out: nothing generates these texts, so no command can update them. */
test.each([
  [
    'no credentials',
    () => plain.check(request(), { scope: 'read:messages' }),
    `401 Bearer scope="read:messages", ${metadata}`,
    '{"error":"missing_token","error_description":"Authorization header is expected"}',
  ],
  [
    'malformed credentials',
    () => plain.check(request({ authorization: 'Bearer one two' })),
    `400 Bearer error="invalid_request", error_description="Authorization header must be a scheme followed by one token", ${metadata}`,
    '{"error":"invalid_request","error_description":"Authorization header must be a scheme followed by one token"}',
  ],
  [
    'an expired token',
    async () => plain.check(request(bearer(await issuer.token({}, { expired: true })))),
    `401 Bearer error="invalid_token", error_description="Token is expired", ${metadata}`,
    '{"error":"invalid_token","error_description":"Token is expired"}',
  ],
  [
    'a proof that is missing',
    async () => provenOnly.check(request({ authorization: `DPoP ${await issuer.token({ cnf: { jkt: 'x' } })}` })),
    `401 DPoP error="invalid_dpop_proof", error_description="DPoP header is missing", algs="ES256 PS256", ${metadata}`,
    '{"error":"invalid_dpop_proof","error_description":"DPoP header is missing"}',
  ],
  [
    'an old login',
    async () => plain.check(request(bearer(await issuer.token({ auth_time: 1 }))), { acr: 'high', maxAge: 60 }),
    `401 Bearer error="insufficient_user_authentication", error_description="This resource requires a stronger or more recent authentication of the user", acr_values="high", max_age="60", ${metadata}`,
    '{"error":"insufficient_user_authentication","error_description":"This resource requires a stronger or more recent authentication of the user"}',
  ],
  [
    'a token without the scope',
    async () => plain.check(request(bearer(await issuer.token())), { scope: 'read:messages' }),
    `403 Bearer error="insufficient_scope", error_description="Token does not have the scope that this resource requires", scope="read:messages", ${metadata}`,
    '{"error":"insufficient_scope","error_description":"Token does not have the scope that this resource requires"}',
  ],
  [
    'no keys',
    async () => unreachable.check(request(bearer(await issuer.token({ iss: 'https://issuer.example.test/' })))),
    '503 null',
    '{"error":"temporarily_unavailable","error_description":"Signing keys are currently unavailable"}',
  ],
])('createGuard() rejects %s with exactly these texts', async (_name, check, challenge, body) => {
  const result = await check();
  if (!(result instanceof Response)) throw new Error('The guard accepted the request');
  expect(`${result.status} ${result.headers.get('www-authenticate')}`).toBe(challenge);
  expect(await result.text()).toBe(body);
});

test.each([
  ['nothing', {}],
  ['caching', { 'Cache-Control': 'public, max-age=300', Expires: '0', 'CDN-Cache-Control': 'max-age=1', ETag: '"a"' }],
])('no cache keeps a rejection, if errorHeaders set %s', async (_, errorHeaders) => {
  const guard = createGuard({ ...options, errorHeaders });
  for (const optional of [false, true]) {
    const result = await guard.check(request({ authorization: 'Bearer x' }), { optional });
    const names = ['cache-control', 'expires', 'cdn-cache-control', 'etag'];
    const { headers } = result as Response;
    expect(names.map((name) => headers.get(name))).toEqual(['no-store', null, null, null]);
  }
});

test('what an application adds to a rejection is in no other, also with the Response of @hono/node-server', async () => {
  const { Request: ownRequest, Response: ownResponse } = globalThis;
  try {
    createAdaptorServer({ fetch: () => new Response() });
    expect(Response).not.toBe(ownResponse);
    const [first, second] = [await plain.check(request()), await plain.check(request())] as Response[];
    first?.headers.set('set-cookie', 'session=ada');
    expect(second?.headers.get('set-cookie')).toBeNull();
  } finally {
    Object.defineProperties(globalThis, { Request: { value: ownRequest }, Response: { value: ownResponse } });
  }
});

test('every rejection has a description of its own', () => {
  const descriptions = Object.values(rejections).map(({ description }) => description);
  expect(new Set(descriptions).size).toBe(descriptions.length);
  for (const description of descriptions) expect(description).toMatch(/^[A-Z]\w+ .+\w$/);
});

const dpop = /^DPoP .*algs=/;
const invalid = /^Bearer error="invalid_token"/;
test('formatRejection() is called once for each reason, when the guard is created', async () => {
  const reasons: string[] = [];
  const formatRejection: GuardOptions['formatRejection'] = ({ reason }) => ({ body: { order: reasons.push(reason) } });
  const guard = createGuard({ ...options, formatRejection });
  // The last is that of the metadata, for which no request is rejected.
  const expected = [...Object.keys(rejections), 'method_not_allowed'];
  expect(reasons).toEqual(expected);
  for (const _ of 'two') await guard.check(request());
  expect(describeRejections(guard)[0]?.body).toEqual({ order: 1 });
  expect(reasons).toHaveLength(expected.length);
});

const [problem, html] = ['application/problem+json', 'text/html; charset=utf-8'];
const usual = '{"error":"missing_token","error_description":"Authorization header is expected"}';
const formats: Readonly<Record<string, readonly [RejectionFormat, sent: string]>> = {
  nothing: [{}, `401 application/json ${usual}`],
  'a status': [{ status: 404, body: undefined }, `404 application/json ${usual}`],
  'a media type': [{ contentType: problem }, `401 ${problem} ${usual}`],
  'an object': [{ body: { a: 1 } }, '401 application/json {"a":1}'],
  'an object and its type': [{ body: { a: 1 }, contentType: problem }, `401 ${problem} {"a":1}`],
  'a text and its type': [{ body: '<p>', contentType: html }, `401 ${html} <p>`],
  'an empty text': [{ body: '', contentType: html }, `401 ${html} `],
  'a text beyond ASCII': [
    { body: 'Übermittlung verweigert: 鍵 🔑', contentType: html },
    `401 ${html} Übermittlung verweigert: 鍵 🔑`,
  ],
  'an object beyond ASCII': [{ body: { a: 'ключ €' } }, '401 application/json {"a":"ключ €"}'],
};
test.each(Object.entries(formats))(
  'a rejection has %s of formatRejection(), and its challenge',
  async (_, [format, sent]) => {
    const guard = createGuard({ ...options, formatRejection: () => format });
    const result = await guard.check(request());
    if (!(result instanceof Response)) throw new Error('The guard accepted the request');
    const { status, headers } = result;
    const text = await result.text();
    expect(`${status} ${headers.get('content-type')} ${text}`).toBe(sent);
    // Node.js cuts a body that is longer than its Content-Length.
    const server = createServer((incoming, response) => void requireToken(guard)(incoming, response, () => {}));
    const written = await fetch(`http://127.0.0.1:${await listen(server)}/messages`);
    server.close();
    expect(`${written.status} ${written.headers.get('content-type')} ${await written.text()}`).toBe(sent);
    expect(headers.get('www-authenticate')).toBe(`Bearer ${metadata}`);
    const [described] = describeRejections(guard);
    expect<unknown>([described?.status, described?.contentType]).toEqual([status, headers.get('content-type')]);
    expect(described?.body).toEqual(text.startsWith('{') ? JSON.parse(text) : text);
  },
);

const fails = () => {
  throw new Error('Broken');
};
const notAnObject = 'it must return an object, not a promise';
const notAStatus = 'status must be a whole number from 400 to 599';
const notAType = 'contentType must be a media type';
const unknown = 'title is not an option';
const notABody = 'body must be an object, or a string with a contentType';
const mistakes: Readonly<Record<string, readonly [format: () => unknown, said: string]>> = {
  'returns nothing': [() => {}, notAnObject],
  'returns a text': [() => 'no', notAnObject],
  'returns a list': [() => [], notAnObject],
  'returns a promise': [() => Promise.reject(new Error('no')), notAnObject],
  'returns the body itself': [() => ({ title: 'no' }), unknown],
  'returns a status below 400': [() => ({ status: 200 }), notAStatus],
  'returns a status as text': [() => ({ status: '401' }), notAStatus],
  'returns no media type': [() => ({ contentType: 'json' }), notAType],
  'returns a second header': [() => ({ contentType: 'a/b\r\nc: d' }), notAType],
  'returns a text without its media type': [() => ({ body: 'no' }), notABody],
  'returns null as the body': [() => ({ body: null }), notABody],
  'returns a body that is no JSON': [() => ({ body: { toJSON: () => {} } }), notABody],
  'returns a promise of the body': [() => ({ body: Promise.resolve() }), notABody],
  throws: [fails, 'Broken'],
};
test.each(Object.keys(mistakes))('createGuard() throws if formatRejection() %s', (name) => {
  const [format = () => ({}), said] = mistakes[name] ?? [];
  const formatRejection = ({ reason }: { readonly reason: string }) =>
    (reason === 'token_expired' ? format() : {}) as RejectionFormat;
  expect(() => createGuard({ ...options, formatRejection })).toThrow(
    expect.objectContaining({
      name: 'TypeError',
      message: expect.stringContaining(`Cannot create a guard: formatRejection for token_expired: ${said}`),
    }),
  );
});

/** The runner fails a test that leaves a rejected promise behind. */
test('createGuard() catches the rejection of a promise that formatRejection() returns', async () => {
  const formatRejection = () => Promise.reject(new Error('secret')) as unknown as RejectionFormat;
  expect(() => createGuard({ ...options, formatRejection })).toThrow(notAnObject);
  await new Promise((done) => setImmediate(done));
});

const rows: readonly (readonly [mode: DpopMode, want: RegExp | undefined, ...reasons: RejectionReason[]])[] = [
  ['off', undefined, 'dpop_required', 'proof_replayed'],
  ['off', undefined, 'scope_insufficient', 'authentication_insufficient', 'access_denied'],
  ['off', invalid, 'token_bound'],
  ['off', /^Bearer resource_metadata=/, 'credentials_missing'],
  ['on', undefined, 'dpop_required'],
  ['on', invalid, 'token_bound'],
  ['on', /^Bearer .*, DPoP algs=/, 'scheme_unsupported'],
  ['on', dpop, 'proof_replayed'],
  ['required', undefined, 'token_bound', 'scheme_unsupported'],
  ['required', dpop, 'dpop_required', 'token_expired'],
];
for (const [mode, want, ...reasons] of rows)
  test(`with DPoP ${mode}, the documentation shows ${want ?? 'nothing'} for ${reasons}`, () => {
    const described = describeRejections({ ...options, dpop: mode });
    for (const reason of reasons) {
      const challenge = described.find((each) => each.reason === reason)?.headers['www-authenticate'];
      if (want) expect(challenge).toMatch(want);
      else expect(challenge).toBeUndefined();
    }
  });

describe('a route, whose rejections are kept by their reason,', () => {
  const route = Object.freeze({ scope: 'read:messages' });
  const headersOf = async (check: ReturnType<typeof createChecker>, name: string, credentials: Headers) => {
    const { result } = await check(credentials, route);
    return (result as Response).headers.get(name);
  };

  test('says at each request how long to wait', async () => {
    const clock = createFrozenClock();
    const { options: down } = publishedBy({ [ISSUER]: new TypeError('unreachable') });
    const check = createChecker({ ...down, jwksCooldownSeconds: 300 }, { clock });
    const waits: unknown[] = [];
    for (let second = 0; second < 12; second += 1) {
      waits.push(await headersOf(check, 'retry-after', new Headers(bearer(tokenOf()))));
      clock.advance(1000);
    }
    // After 1, 2, 4 seconds it is asked again.
    expect(waits.join()).toContain('2,1,4,3,2,1,');
  });

  test('offers at each request the nonce of now', async () => {
    let nowMs = Date.now();
    const url = `${publicUrl}/messages`;
    const nonces = { dpop: 'on', publicUrl, dpopNonceSecret: 'a'.repeat(32) } as const;
    const check = createChecker(nonces, { now: () => nowMs });
    const token = tokenOf({ claims: { cnf: bound } });
    const offered = new Set<unknown>();
    for (let second = 0; second < 3; second += 1) {
      offered.add(await headersOf(check, 'dpop-nonce', new Headers(proven(token, url))));
      nowMs += 1000;
    }
    expect([...offered]).toEqual(Array(3).fill(expect.stringMatching(/^[\w.-]+$/)));
  });
});
