import { describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Elysia, t } from 'elysia';
import { resourceServer } from '../../src/auth/elysia/resource-server.ts';
import type { OpenApiDocument } from '../../src/openapi/document.ts';
import { createDocumentation } from '../../src/routes/documentation.ts';
import { embeddedFixtureFor } from '../support/embedded-issuer.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { createSilentService } from '../support/in-process.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, SCOPE } from '../support/mint.ts';
import { createTestApp } from '../support/test-app.ts';
import { committedDocument, exampleDocument, ISSUER } from './example-document.ts';

const errorsOf = async (document: object) => {
  const { valid, errors } = await new Validator().validate({ ...structuredClone(document) });
  return valid ? [] : errors;
};

describe('docs/openapi.json', () => {
  test('is the document of the service: `bun run openapi` writes it', async () => {
    expect(await exampleDocument()).toEqual(await committedDocument.json());
  });

  test(
    'is the document of the executable',
    async () => {
      const issuer = await startIssuer();
      const service = await executableForm.start({ ISSUER: issuer.url, AUDIENCE });
      const response = await service.fetch('/openapi/json');
      expect(response.headers.get('content-type')).toBe('application/json');
      const text = (await response.text()).replaceAll(issuer.url, ISSUER);
      expect(JSON.parse(text)).toEqual(await committedDocument.json());
      await service.close();
      await issuer.close();
    },
    executableForm.startTimeoutMs,
  );

  test('is valid OpenAPI 3.1', async () => {
    expect(await errorsOf(await committedDocument.json())).toEqual([]);
  });
});

describe('the OpenAPI document', () => {
  test('names the server by the address that clients know, as it is written', async () => {
    const document = await exampleDocument({ PUBLIC_URL: 'https://gateway.example.test/base/' });
    expect(document.servers).toEqual([{ url: 'https://gateway.example.test/base' }]);
    expect(await errorsOf(document)).toEqual([]);
  });

  test('names no token endpoint for an issuer without a slash at its end', async () => {
    const issuer = 'https://issuer.example.test/realms/one';
    const document = await exampleDocument({ ISSUER: issuer, JWKS_URI: `${issuer}/certs` });
    expect(Object.keys(document.components.securitySchemes)).toEqual(['bearer']);
    expect(document.paths['/api/private-scoped']?.get?.security).toEqual([{ bearer: [SCOPE] }]);
    expect(await errorsOf(document)).toEqual([]);
  });

  test('is checked by a validator that finds faults', async () => {
    const document = await exampleDocument();
    expect(await errorsOf({ ...document, openapi: '3.1' })).not.toEqual([]);
    expect(await errorsOf({ ...document, paths: { 'no-slash': {} } })).not.toEqual([]);
    expect(await errorsOf({ ...document, info: { title: 'No version' } })).not.toEqual([]);
  });

  test('names the token endpoint that is known at the time of the request', async () => {
    let known: string | undefined;
    let made = 0;
    const documented = () => {
      made += 1;
      return new Elysia();
    };
    const app = createDocumentation(documented, {
      issuer: [ISSUER],
      audience: [AUDIENCE],
      publicUrl: undefined,
      rejectionsOf: () => [],
      tokenEndpoint: async () => known,
    });
    const get = (path: string) => app.handle(new Request(`http://localhost${path}`));
    for (const endpoint of [undefined, 'https://login.example.test/token', 'https://login.example.test/token']) {
      known = endpoint;
      const document = (await (await get('/openapi/json')).json()) as OpenApiDocument;
      expect(document.components.securitySchemes.oauth2?.flows?.clientCredentials?.tokenUrl).toBe(endpoint as string);
      const connects = endpoint === undefined ? '' : ' https://login.example.test';
      expect((await get('/openapi')).headers.get('content-security-policy')).toEndWith(
        `; connect-src 'self'${connects}`,
      );
    }
    // A document and a page for each of the two: the page also asks for the scopes.
    expect(made).toBe(4);
  });

  test('names the schema of a route after its title, and describes routes without one or without a body', async () => {
    const report = (example: string) => t.Object({ id: t.String() }, { title: 'Report', examples: [{ id: example }] });
    const documented = new Elysia()
      .get('/reports/a', () => ({ id: 'a' }), { response: report('a') })
      .get('/reports/b', () => ({ id: 'b' }), { response: report('b') })
      .get('/reports/c', () => ({ n: 1 }), { response: t.Object({ n: t.Number() }, { title: 'Report' }) })
      .get('/text', () => 'text', { response: t.String() })
      .delete('/reports', ({ status }) => status(204, undefined), { response: { 204: t.Void() } });
    const app = createDocumentation(() => documented, {
      issuer: [ISSUER],
      audience: [AUDIENCE],
      publicUrl: undefined,
      rejectionsOf: () => [],
      tokenEndpoint: async () => undefined,
    });
    const response = await app.handle(new Request('http://localhost/openapi/json'));
    const document = (await response.json()) as OpenApiDocument;
    expect(await errorsOf(document)).toEqual([]);
    expect(Object.keys(document.components.schemas)).toEqual(['Error', 'Report']);
    const shown = ['a', 'b', 'c'].map((name) => document.paths[`/reports/${name}`]?.get?.responses?.[200]);
    const reference = { $ref: '#/components/schemas/Report' };
    expect(shown).toMatchObject([
      { content: { 'application/json': { schema: reference, examples: { example1: { value: { id: 'a' } } } } } },
      { content: { 'application/json': { schema: reference, examples: { example1: { value: { id: 'b' } } } } } },
      { content: { 'application/json': { schema: { properties: { n: { type: 'number' } } } } } },
    ]);
    expect(document.paths['/reports']?.delete?.responses?.[204]).not.toHaveProperty('content');
    expect((await app.handle(new Request('http://localhost/openapi'))).status).toBe(200);
  });

  test('with DOCS=false is not there', async () => {
    const service = createSilentService({ ISSUER, AUDIENCE, DOCS: 'false' });
    const get = async (path: string) => (await service.fetch(new Request(`http://localhost${path}`))).status;
    for (const path of ['/openapi', '/openapi/json', '/openapi/page.js', '/openapi/token.js'])
      expect(await get(path)).toBe(404);
    expect(await get('/api/public')).toBe(200);
  });

  test('learns of a route from the line that adds it', async () => {
    const reports = new Elysia()
      .use(resourceServer({ issuer: ISSUER, audience: AUDIENCE }))
      .get('/reports', () => ({ reports: [] }), { scope: 'read:reports' });
    const { app } = createTestApp({
      options: { publicUrl: 'https://api.example.test' },
      discovery: { hasDocumentation: true },
      extension: reports,
    });
    const get = async (path: string) => (await app.handle(new Request(`http://localhost${path}`))).json();
    const document = (await get('/openapi/json')) as OpenApiDocument;
    expect(await errorsOf(document)).toEqual([]);
    expect(document.paths['/reports']?.get?.security).toEqual([
      { oauth2: ['read:reports'] },
      { bearer: ['read:reports'] },
    ]);
    expect(Object.keys(document.paths['/reports']?.get?.responses ?? {})).toEqual(['401', '403', '503', 'default']);
    expect(document.components.securitySchemes.oauth2?.flows?.clientCredentials?.scopes).toContainKeys([
      SCOPE,
      'read:reports',
    ]);
    expect(await get('/.well-known/oauth-protected-resource')).toMatchObject({
      scopes_supported: expect.arrayContaining([SCOPE, 'read:reports']),
    });
  });
});

describe('the OpenAPI document of an embedded issuer', () => {
  const fixture = embeddedFixtureFor(sourceForm);

  test('leads to its token endpoint, and carries none of its secrets', async () => {
    const text = await (await fixture().service.fetch('/openapi/json')).text();
    const document = JSON.parse(text) as OpenApiDocument;
    const { tokenUrl } = document.components.securitySchemes.oauth2?.flows?.clientCredentials ?? {};
    expect(tokenUrl).toBe(`${fixture().issuer}oauth/token`);
    expect(document.paths).not.toContainKey('/oauth/token');
    for (const { clientSecret } of [fixture().reader, fixture().visitor]) expect(text).not.toContain(clientSecret);
  });
});
