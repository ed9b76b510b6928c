import { describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Elysia, t } from 'elysia';
import { resourceServer } from '../../src/auth/elysia/plugins.ts';
import { createDocument, type OpenApiDocument } from '../../src/openapi/document.ts';
import { ISSUER } from '../support/checked.ts';
import { fixtureFor } from '../support/fixture.ts';
import { executableForm } from '../support/forms.ts';
import { createServiceInProcess } from '../support/in-process.ts';
import { SCOPE } from '../support/mint.ts';
import { createTestApp } from '../support/test-app.ts';
import { committedDocument, describedApi, exampleDocument } from './example-document.ts';

const errorsOf = async (document: object) => {
  const { valid, errors } = await new Validator().validate({ ...structuredClone(document) });
  return valid ? [] : errors;
};

describe('docs/openapi.json', () => {
  test('is the document of the service: `bun run openapi` writes it', async () => {
    expect(await exampleDocument()).toEqual(await committedDocument.json());
  });

  const executable = fixtureFor(executableForm, { keys: () => [] });
  test('is the document of the executable', async () => {
    const { service, issuer } = executable();
    const response = await service.fetch('/openapi/json');
    expect(response.headers.get('content-type')).toBe('application/json');
    const text = (await response.text()).replaceAll(issuer.url, ISSUER);
    expect(JSON.parse(text)).toEqual(await committedDocument.json());
  });

  test('is valid OpenAPI 3.1', async () => {
    expect(await errorsOf(await committedDocument.json())).toEqual([]);
  });
});

describe('the OpenAPI document', () => {
  test('names the server by the URL that clients use, unchanged', async () => {
    const document = await exampleDocument({ PUBLIC_URL: 'https://gateway.example.test/base/' });
    expect(document.servers).toEqual([{ url: 'https://gateway.example.test/base' }]);
    expect(await errorsOf(document)).toEqual([]);
    expect((await exampleDocument()).servers).toEqual([{ url: '/' }]);
  });

  test('is the same, whichever routes were called before', async () => {
    const { get, stop } = createServiceInProcess({});
    for (const path of ['/api/private', '/api/private-scoped', '/api/public', '/livez', '/missing']) await get(path);
    const document = await (await get('/openapi/json')).json();
    stop();
    expect(document).toEqual(await exampleDocument());
  });

  test('requires the proof with DPOP=required, and names the nonces where there are some', async () => {
    const DPOP_NONCE_SECRET = 'a'.repeat(32);
    const settings = { DPOP: 'required', PUBLIC_URL: 'https://api.example.test', DPOP_NONCE_SECRET };
    const document = await exampleDocument(settings);
    expect(await errorsOf(document)).toEqual([]);
    expect(Object.keys(document.components.securitySchemes)).toEqual(['dpop']);
    const { security, parameters, responses = {} } = document.paths['/api/private-scoped']?.get ?? {};
    expect(security).toEqual([{ dpop: [SCOPE] }]);
    expect(parameters).toMatchObject([{ name: 'DPoP', in: 'header', required: true }]);
    for (const status of [200, 401]) expect(responses[status]?.headers).toContainKey('DPoP-Nonce');
    expect(document.paths['/api/public']?.get).not.toHaveProperty('parameters');
  });

  test('names no token endpoint for an issuer without a trailing slash', async () => {
    const issuer = 'https://issuer.example.test/realms/one';
    const document = await exampleDocument({ ISSUER: issuer, JWKS_URI: `${issuer}/certs` });
    expect(Object.keys(document.components.securitySchemes)).toEqual(['bearer']);
    expect(document.paths['/api/private-scoped']?.get?.security).toEqual([{ bearer: [SCOPE] }]);
    expect(await errorsOf(document)).toEqual([]);
  });

  test("names a route's schema after its title, and describes routes without a schema or without a body", async () => {
    const report = (example: string) => t.Object({ id: t.String() }, { title: 'Report', examples: [{ id: example }] });
    const app = new Elysia()
      .get('/reports/a', () => ({ id: 'a' }), { response: report('a') })
      .get('/reports/b', () => ({ id: 'b' }), { response: report('b') })
      .get('/reports/c', () => ({ n: 1 }), { response: t.Object({ n: t.Number() }, { title: 'Report' }) })
      .get('/text', () => 'text', { response: t.String() })
      .delete('/reports', ({ status }) => status(204, undefined), { response: { 204: t.Void() } });
    const document = createDocument(app, describedApi(), undefined);
    expect(await errorsOf(document)).toEqual([]);
    expect(Object.keys(document.components.schemas)).toEqual(['ErrorObject', 'Report']);
    const schema = { $ref: '#/components/schemas/Report' };
    for (const [name, media] of [
      ['a', { schema, examples: { example1: { value: { id: 'a' } } } }],
      ['b', { schema, examples: { example1: { value: { id: 'b' } } } }],
      ['c', { schema: { properties: { n: { type: 'number' } } } }],
    ] as const) {
      const { content } = document.paths[`/reports/${name}`]?.get?.responses?.[200] ?? {};
      expect(content?.['application/json']).toMatchObject(media);
    }
    expect(document.paths['/reports']?.delete?.responses?.[204]).not.toHaveProperty('content');
  });

  test.each([
    ['true', 200, 'https://api.example.test/openapi'],
    ['false', 404, undefined],
  ])('with DOCS=%s returns %d, and the metadata then name this page: %p', async (DOCS, status, page) => {
    const { get } = createServiceInProcess({ DOCS, PUBLIC_URL: 'https://api.example.test' });
    for (const path of ['/openapi', '/openapi/json', '/openapi/page.js', '/openapi/request.js', '/openapi/token.js'])
      expect((await get(path)).status).toBe(status);
    const metadata = (await (await get('/.well-known/oauth-protected-resource')).json()) as Record<string, unknown>;
    expect(metadata.resource_documentation).toBe(page);
  });

  test.each([
    ['one scope', 'read:reports', [['read:reports']]],
    ['all of a list', ['read:reports', 'audit'], [['read:reports', 'audit']]],
    ['one of several', { anyOf: ['read:reports', 'audit'] }, [['read:reports'], ['audit']]],
  ])('learns from the line that adds a route that it requires %s', async (_name, scope, alternatives) => {
    const publicUrl = 'https://api.example.test';
    const { get } = createTestApp({
      options: { publicUrl },
      hasDocumentation: true,
      extension: (guard) => new Elysia().use(resourceServer(guard)).get('/reports', () => ({ reports: [] }), { scope }),
    });
    const document = (await (await get('/openapi/json')).json()) as OpenApiDocument;
    expect(await errorsOf(document)).toEqual([]);
    const { security, responses = {} } = document.paths['/reports']?.get ?? {};
    expect(security).toEqual([
      ...alternatives.map((bearer) => ({ bearer })),
      ...alternatives.map((oauth2) => ({ oauth2 })),
    ]);
    expect(Object.keys(responses)).toEqual(['200', '401', '403', '503', 'default']);
    const named = alternatives[0]?.join(' ');
    expect(JSON.stringify(responses[403]?.headers)).toContain(`scope=\\"${named}\\"`);
    const { scopes } = document.components.securitySchemes.oauth2?.flows?.clientCredentials ?? {};
    expect(scopes).toContainKeys([SCOPE, ...alternatives.flat()]);
    expect(await (await get('/.well-known/oauth-protected-resource')).json()).toMatchObject({
      scopes_supported: expect.arrayContaining([SCOPE, ...alternatives.flat()]),
    });
  });

  test('names no credentials as an alternative where a token is optional, and what an application requires itself', () => {
    const api = describedApi();
    const app = new Elysia()
      .use(resourceServer(api.guard, { optional: true }))
      .get('/news', () => 'news')
      .get('/own', () => 'own', { detail: { security: [{ bearer: [] }, { apiKey: [] }] } });
    const { paths } = createDocument(app, api, 'https://login.example.test/token');
    expect(paths['/news']?.get?.security).toEqual([{ bearer: [] }, { oauth2: [] }, {}]);
    expect(paths['/own']?.get?.security).toEqual([{ bearer: [] }, { apiKey: [] }]);
  });

  test.each([{ SCOPE_PREFIX: 'api/' }, { SCOPE_PREFIX: 'x', SCOPE_REQUEST_PREFIX: 'api/' }])(
    'shows the challenge with the prefix of the scopes once: %j',
    async (prefixes) => {
      const { paths } = await exampleDocument(prefixes);
      const { security, responses = {} } = paths['/api/private-scoped']?.get ?? {};
      expect(security).toEqual([{ bearer: [`api/${SCOPE}`] }, { oauth2: [`api/${SCOPE}`] }]);
      for (const status of [401, 403]) expect(JSON.stringify(responses[status])).toContain(`scope=\\"api/${SCOPE}\\"`);
    },
  );
});
