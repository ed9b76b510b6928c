import { describe, expect, test } from 'bun:test';
import { toOpenAPISchema } from '@elysiajs/openapi/openapi';
import { Validator } from '@seriousme/openapi-schema-validator';
import { type AnyElysia, Elysia, t } from 'elysia';
import { type PluginSettings, resourceServer, scopesOf, securitySchemes } from 'protected-api';
import { createTestIssuer } from 'protected-api/testing';

const issuer = await createTestIssuer();
const publicUrl = 'https://api.example.test';
const guard = (settings?: PluginSettings, options: object = {}) =>
  resourceServer({ ...issuer.options, ...options }, settings);

interface Operation {
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses?: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly content?: Readonly<Record<string, { readonly schema: { properties?: { code: { enum: string[] } } } }>>;
      }
    >
  >;
}

function operationOf(app: AnyElysia, path: string, method = 'get'): Operation {
  return JSON.parse(JSON.stringify(toOpenAPISchema(app).paths))[path][method];
}

/** Returns the codes of each status that the document has. */
function codesOf({ responses = {} }: Operation) {
  const codes = Object.entries(responses).map(([status, { content }]) => {
    return [status, content?.['application/json']?.schema.properties?.code?.enum];
  });
  return Object.fromEntries(codes);
}

const unauthorized = ['authorization_header_missing', 'invalid_header', 'invalid_claims', 'token_expired'];
const defaults = { 401: expect.arrayContaining(unauthorized), 503: ['key_set_unavailable'] };
const denied = { ...defaults, 403: ['Unauthorized'] };

const rows: readonly [name: string, create: () => AnyElysia, responses: object][] = [
  ['without a schema', () => new Elysia().use(guard()).get('/x', () => 'ok'), defaults],
  ['with a scope', () => new Elysia().use(guard()).get('/x', () => 'ok', { scope: 'a' }), denied],
  ['with authorize', () => new Elysia().use(guard()).get('/x', () => 'ok', { authorize: () => true }), denied],
  [
    'with step-up',
    () => new Elysia().use(guard()).get('/x', () => 'ok', { maxAge: 60 }),
    { ...defaults, 401: expect.arrayContaining(['insufficient_user_authentication']) },
  ],
  [
    'with one schema',
    () => new Elysia().use(guard()).get('/x', () => 'ok', { response: t.String() }),
    { ...defaults, 200: undefined },
  ],
  [
    'with a schema of anything',
    () => new Elysia().use(guard()).get('/x', () => 'ok', { response: t.Any() }),
    { ...defaults, 200: undefined },
  ],
  [
    'with a schema of its own for a status',
    () => new Elysia().use(guard()).get('/x', () => 'ok', { response: { 200: t.String(), 401: t.String() } }),
    { ...defaults, 200: undefined, 401: undefined },
  ],
  [
    'with responses of its own',
    () =>
      new Elysia().use(guard()).get('/x', () => 'ok', { detail: { responses: { 401: { description: 'Go away' } } } }),
    { ...defaults, 401: undefined },
  ],
  [
    'in a plugin that others use',
    () =>
      new Elysia().use(
        new Elysia().use(
          new Elysia().use(guard()).get('/x', () => 'ok', { scope: 'a', response: { 200: t.String() } }),
        ),
      ),
    { ...denied, 200: undefined },
  ],
  [
    'with DPoP',
    () => new Elysia().use(guard({}, { dpop: 'on', publicUrl })).get('/x', () => 'ok'),
    { ...defaults, 503: expect.arrayContaining(['replay_store_unavailable']) },
  ],
  [
    'with a format of errors of its own',
    () => new Elysia().use(guard({}, { errorBody: () => ({ message: 'no' }) })).get('/x', () => 'ok'),
    { 401: undefined, 503: undefined },
  ],
  ['that leaves them out', () => new Elysia().use(guard({ responses: false })).get('/x', () => 'ok'), {}],
  ['that is open', () => new Elysia().use(new Elysia().use(guard()).get('/y', () => 'ok')).get('/x', () => 'ok'), {}],
];

describe('the OpenAPI document of an application', () => {
  for (const [name, create, responses] of rows)
    test(`declares the rejections of a route ${name}`, () => {
      expect(codesOf(operationOf(create(), '/x'))).toEqual(responses);
    });

  test('declares rejections without validating with them what handlers return', async () => {
    const handler = ({ set }: { readonly set: { status?: number | string } }) => {
      set.status = 401;
      return 'of the handler';
    };
    const routes = new Elysia().use(guard()).get('/x', handler, { response: { 200: t.String() } });
    const app = new Elysia().use(new Elysia().use(routes));
    const headers = { authorization: `Bearer ${await issuer.token()}` };
    const response = await app.handle(new Request('http://localhost/x', { headers }));
    expect([response.status, await response.text()]).toEqual([401, 'of the handler']);
  });

  for (const dpop of ['off', 'on', 'required'] as const)
    test(`is valid with securitySchemes() under dpop ${dpop}, and declares every scheme that its routes name`, async () => {
      const options = { ...issuer.options, dpop, publicUrl };
      const app = new Elysia()
        .use(resourceServer(options))
        .get('/me', () => 'ok')
        .get('/reports', () => 'ok', { scope: 'read:reports', response: { 200: t.String() } });
      for (const tokenEndpoint of ['https://tenant.example.test/oauth/token', undefined]) {
        const schemes = securitySchemes(options, { tokenEndpoint, scopes: scopesOf(app.routes) });
        const document = {
          openapi: '3.1.0',
          info: { title: 'Reports', version: '1' },
          paths: JSON.parse(JSON.stringify(toOpenAPISchema(app).paths)),
          components: { securitySchemes: schemes },
        };
        expect((await new Validator().validate(document)).errors).toBeUndefined();
        const { security = [] } = operationOf(app, '/reports');
        expect(security).toEqual([{ oauth2: ['read:reports'] }, { bearer: [] }]);
        expect(Object.keys(schemes)).toEqual(security.flatMap((one) => Object.keys(one)));
        const scopes = { 'read:reports': expect.any(String) };
        const flows = tokenEndpoint === undefined ? {} : { clientCredentials: { tokenUrl: tokenEndpoint, scopes } };
        expect(schemes.oauth2.flows).toEqual(flows);
        expect(schemes.bearer.scheme).toBe(dpop === 'required' ? 'dpop' : 'bearer');
        expect(schemes.bearer.description.includes('RFC 9449')).toBe(dpop !== 'off');
      }
    });
});
