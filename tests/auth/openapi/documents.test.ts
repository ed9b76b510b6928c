import { describe, expect, test } from 'bun:test';
import { toOpenAPISchema } from '@elysia/openapi/openapi';
import { type AnyElysia, Elysia, t } from 'elysia';
import { describeResponses, securitySchemes } from 'protected-api';
import type { GuardOptions, PluginSettings, RejectionDescription, RejectionFormat } from 'protected-api/elysia';
import {
  createGuard,
  type DescribedResponse,
  guardResponses,
  resourceServer,
  scopeResponses,
  scopesOf,
} from 'protected-api/elysia';
import { offline } from '../../support/checked.ts';
import { guard, send, token } from '../elysia/guarded.ts';

const publicUrl = 'https://api.example.test';

interface Operation {
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses?: Readonly<Record<string, { readonly content?: Content }>>;
}
type Content = Readonly<Record<string, { readonly schema: { properties?: { error?: { enum: string[] } } } }>>;

const pathsOf = (app: AnyElysia): Readonly<Record<string, Readonly<Record<string, Operation>>>> =>
  JSON.parse(JSON.stringify(toOpenAPISchema(app).paths));
const operationOf = (app: AnyElysia, path: string): Operation => pathsOf(app)[path]?.get ?? {};

function errorsOf({ responses = {} }: Operation) {
  const errors = Object.entries(responses).map(([status, { content }]) => {
    return [status, content?.['application/json']?.schema.properties?.error?.enum];
  });
  return Object.fromEntries(errors);
}

const unauthorized = ['missing_token', 'invalid_token'];
const rejected = { 400: ['invalid_request'], 401: unauthorized, 503: ['temporarily_unavailable'] };
const defaults = { 200: undefined, ...rejected };
const outOfScope = { ...defaults, 403: ['insufficient_scope'] };
const denied = { ...defaults, 403: ['access_denied'] };
const stepUp = { ...defaults, 401: [...unauthorized, 'insufficient_user_authentication'] };
const dpop = { ...defaults, 401: expect.arrayContaining(['invalid_dpop_proof']) };
const described = { detail: { responses: { 201: { description: 'Made' }, 401: { description: 'Go away' } } } };

interface Row {
  readonly route?: object;
  readonly options?: Partial<GuardOptions>;
  readonly settings?: PluginSettings;
  readonly errors: object;
}

const rows: Readonly<Record<string, Row>> = {
  'without a schema': { errors: defaults },
  'with a scope': { route: { scope: 'a' }, errors: outOfScope },
  'with authorize': { route: { authorize: () => true }, errors: denied },
  'with step-up': { route: { maxAge: 60 }, errors: stepUp },
  'with one schema': { route: { response: t.String() }, errors: { ...defaults, 200: undefined } },
  'with a schema of anything': { route: { response: t.Any() }, errors: { ...defaults, 200: undefined } },
  'with scope and schema': {
    route: { scope: 'a', response: { 200: t.String() } },
    errors: { ...outOfScope, 200: undefined },
  },
  'with a schema of its own for a status': {
    route: { response: { 200: t.String(), 401: t.String() } },
    errors: { ...defaults, 200: undefined, 401: undefined },
  },
  'with responses of its own': { route: described, errors: { ...rejected, 201: undefined, 401: undefined } },
  'with DPoP': { options: { dpop: 'on', publicUrl }, errors: dpop },
  'with own errors': {
    options: { formatRejection: ({ status, reason }) => ({ status: Math.max(401, status), body: { error: reason } }) },
    errors: {
      ...{ 200: undefined, 401: expect.arrayContaining(['credentials_malformed', 'token_expired']) },
      503: ['keys_unavailable'],
    },
  },
  'that leaves them out': { settings: { responses: false }, errors: {} },
};

describe('the OpenAPI document of an application', () => {
  for (const [name, { route = {}, options, settings, errors }] of Object.entries(rows))
    test(`declares the rejections of a route ${name}, even in a plugin that others use`, () => {
      const app = new Elysia().use(guard(options, settings)).get('/x', () => 'ok', { ...route } as object);
      const outer = new Elysia().use(new Elysia().use(app));
      expect([app, outer].map((one) => errorsOf(operationOf(one, '/x')))).toEqual([errors, errors]);
    });

  test('declares the status, the media types and the members that formatRejection() returns', () => {
    const formatRejection = ({ status, error, description: title }: RejectionDescription): RejectionFormat =>
      status === 503
        ? { body: '<p>', contentType: 'text/html' }
        : { status: 418, body: { status, error, title, at: [null] }, contentType: 'application/problem+json' };
    const app = new Elysia().use(guard({ formatRejection })).get('/x', () => 'ok', { scope: 'a' });
    const { responses = {} } = operationOf(app, '/x');
    expect(Object.keys(responses)).toEqual(['200', '418', '503']);
    const schema = { type: 'string', enum: ['<p>'] };
    expect<unknown>(responses[503]?.content).toMatchObject({ 'text/html': { schema } });
    expect<unknown>(responses[418]?.content?.['application/problem+json']?.schema).toEqual({
      type: 'object',
      required: ['status', 'error', 'title', 'at'],
      properties: {
        status: { type: 'number', enum: [401, 400, 403] },
        error: { type: 'string', enum: ['missing_token', 'invalid_request', 'invalid_token', 'insufficient_scope'] },
        title: { type: 'string' },
        at: { type: 'array', items: { type: 'null', enum: [null] } },
      },
    });
  });

  test('declares rejections without using them to validate what handlers return', async () => {
    const handler = ({ set }: { readonly set: { status?: number | string } }) => {
      set.status = 401;
      return 'of the handler';
    };
    const routes = new Elysia().use(guard()).get('/x', handler, { response: { 200: t.String() } });
    const app = new Elysia().use(new Elysia().use(routes));
    const response = await send(app, '/x', { headers: token() });
    expect([response.status, await response.text()]).toEqual([401, 'of the handler']);
  });

  test.each([{ scopePrefix: 'api/' }, { scopePrefix: 'x/', scopeRequestPrefix: 'api/' }])(
    'declares the security of guarded routes with %j, and nothing for open routes',
    (prefixes) => {
      const guarded = new Elysia()
        .use(guard(prefixes))
        .get('/me', () => 'ok')
        .get('/scoped', () => 'ok', { scope: ['a', 'b'] });
      const app = new Elysia().use(guarded).get('/open', () => 'ok');
      expect(operationOf(app, '/me').security).toEqual([{ bearer: [] }]);
      expect(operationOf(app, '/scoped').security).toEqual([{ bearer: ['api/a', 'api/b'] }]);
      expect(scopesOf(app.routes)).toEqual(['api/a', 'api/b']);
      expect(operationOf(app, '/open')).not.toContainAnyKeys(['security', 'responses']);
    },
  );

  test.each<[string, object, object, string]>([
    ['any of', {}, { scope: { anyOf: ['a', 'b'] } }, 'a|b'],
    ['any of two lists', { scope: { anyOf: ['a', 'b'] } }, { scope: { anyOf: ['a', 'c'] } }, 'a|a b|a c|b c'],
    ['all of and any of', { scope: ['a', 'b'] }, { scope: { anyOf: ['c', 'd'] } }, 'a b c|a b d'],
  ])('declares each alternative of a route that requires %s', (_, around, route, alternatives) => {
    const inside = (inner: AnyElysia) => inner.get('/x', () => 'ok', { ...route });
    const { security } = operationOf(new Elysia().use(guard()).guard({ ...around }, inside), '/x');
    const named = security?.map(({ bearer }) => bearer?.toSorted().join(' ')).toSorted();
    expect(named).toEqual(alternatives.split('|'));
  });

  const endpoint = 'https://tenant.example.test/oauth/token';
  test.each([
    ['off', undefined, ['bearer']],
    ['off', endpoint, ['bearer', 'oauth2']],
    ['on', undefined, ['bearer']],
    ['on', endpoint, ['bearer', 'oauth2']],
    // Every other scheme would send the token as a bearer token.
    ['required', undefined, ['dpop']],
    ['required', endpoint, ['dpop']],
  ] as const)(
    'has the same schemes as its routes, under dpop %s with the token endpoint %s: %j',
    (dpop, tokenEndpoint, names) => {
      const options = { ...offline(), dpop, publicUrl };
      for (const given of [options, createGuard(options)]) {
        const routes = new Elysia().use(resourceServer(given)).get('/x', () => 'ok', { scope: 'read:messages' });
        const app = new Elysia({ tags: ['reports'] }).use(routes);
        const schemes: Readonly<Record<string, object>> = securitySchemes(given, {
          ...{ tokenEndpoint, scopes: scopesOf(app.routes) },
        });
        expect(Object.keys(schemes)).toEqual([...names]);
        expect(operationOf(app, '/x').security).toEqual(names.map((name) => ({ [name]: ['read:messages'] })));
        const scopes = { 'read:messages': expect.any(String) };
        const flows = { clientCredentials: { tokenUrl: endpoint, scopes } };
        if ('oauth2' in schemes) expect(schemes.oauth2).toMatchObject({ type: 'oauth2', flows });
        for (const each of [schemes.bearer, schemes.dpop])
          if (each) {
            expect(each).toMatchObject({ type: 'http', scheme: dpop === 'required' ? 'dpop' : 'bearer' });
            expect(JSON.stringify(each).includes('RFC 9449')).toBe(dpop !== 'off');
          }
      }
    },
  );

  test('is the same before and after requests', async () => {
    const response = { 200: t.Object({ a: t.String() }, { additionalProperties: false }), ...guardResponses };
    const create = () =>
      new Elysia()
        .use(guard())
        .get('/x', () => ({ a: 'b' }), { response: { ...response, ...scopeResponses }, scope: 'a' })
        .get('/y', () => 'ok');
    const [asked, fresh] = [create(), create()];
    for (const path of ['/x', '/y'])
      for (const headers of [{}, token(), token({ scope: 'a' })]) await send(asked, path, { headers });
    expect(pathsOf(asked)).toEqual(pathsOf(fresh));
  });

  test('has an example for each reason, and the headers of the rejections, with or without a `response`', () => {
    const options = { dpop: 'on', publicUrl, dpopNonceSecret: 'a'.repeat(32) } as const;
    const app = new Elysia()
      .use(guard(options))
      .get('/x', () => 'ok', { scope: 'a' })
      .get('/y', () => 'ok', { scope: 'a', response: t.String() });
    const described = describeResponses({ ...offline(), ...options }, { scope: 'a' });
    expect<unknown>(operationOf(app, '/x').responses).toEqual({ 200: { description: 'Success' }, ...described });
    const { 401: unauthorized, 403: forbidden, 503: unavailable } = described;
    expect(unauthorized?.content['application/json']?.examples.token_expired).toEqual({
      summary: 'Token is expired',
      value: { error: 'invalid_token', error_description: 'Token is expired' },
    });
    expect(unauthorized?.headers).toMatchObject({
      'WWW-Authenticate': {
        required: true,
        examples: { credentials_missing: { value: expect.stringContaining('scope="a"') } },
      },
      'DPoP-Nonce': { examples: {} },
    });
    expect(unauthorized?.headers['DPoP-Nonce']).not.toHaveProperty('required');
    expect(forbidden?.headers).toMatchObject({ 'WWW-Authenticate': { required: true } });
    expect(unavailable?.headers).toMatchObject({ 'Retry-After': { required: true } });
    const { responses = {} } = operationOf(app, '/y');
    for (const [status, { headers, content }] of Object.entries(described)) {
      const shown = responses[status] as DescribedResponse | undefined;
      expect(Object.keys(shown?.headers ?? {})).toEqual(Object.keys(headers));
      const examples = Object.values(content['application/json']?.examples ?? {}).map(({ value }) => value);
      expect(shown?.content['application/json']?.schema).toMatchObject({ examples });
    }
  });
});
