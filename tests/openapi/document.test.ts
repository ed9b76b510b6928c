import { beforeAll, describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Elysia, t } from 'elysia';
import packageJson from '../../package.json' with { type: 'json' };
import { resourceServer } from '../../src/auth/elysia/resource-server.ts';
import { createDocumentation } from '../../src/routes/documentation.ts';
import { embeddedFixtureFor } from '../support/embedded-issuer.ts';
import { executableForm, type Form, sourceForm } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { AUDIENCE, SCOPE } from '../support/mint.ts';
import { type OpenApiDocument, responsesOf } from '../support/openapi.ts';
import { createTestApp } from '../support/test-app.ts';

const ISSUER = 'https://issuer.example.test/';

async function read(form: Form, settings: Readonly<Record<string, string>> = {}): Promise<OpenApiDocument> {
  const service = await form.start({ ISSUER, AUDIENCE, ...settings });
  const response = await service.fetch('/openapi/json');
  await service.close();
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json');
  return (await response.json()) as OpenApiDocument;
}

const errorsOf = async (document: object) => {
  const { valid, errors } = await new Validator().validate({ ...structuredClone(document) });
  return valid ? [] : errors;
};

for (const form of [inProcessForm, executableForm]) {
  describe(`the OpenAPI document of ${form.name}`, () => {
    let document: OpenApiDocument;
    beforeAll(async () => {
      document = await read(form);
    }, form.startTimeoutMs);

    test('is valid OpenAPI 3.1', async () => {
      expect(document.openapi).toStartWith('3.1.');
      expect(await errorsOf(document)).toEqual([]);
    });

    test('has a title, a licence and a contact', () => {
      expect(document.info).toMatchObject({
        title: 'Protected API',
        version: packageJson.version,
        license: { identifier: packageJson.license },
        contact: { name: expect.stringMatching(/\w/) },
      });
      expect(document.info.summary).toMatch(/\w/);
      expect(document.info.description).toContain(ISSUER);
      expect(document.info.description).toContain(AUDIENCE);
    });

    test('has the endpoints of the specification, in its order, and no other', () => {
      expect(Object.entries(document.paths).map(([path, operations]) => [path, Object.keys(operations)])).toEqual([
        ['/api/public', ['get']],
        ['/api/private', ['get']],
        ['/api/private-scoped', ['get']],
      ]);
    });

    test('describes each operation, with an operationId', () => {
      const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
      const tags = new Set(document.tags.map(({ name }) => name));
      for (const operation of operations) {
        expect(operation.summary).toMatch(/\w/);
        expect(operation.description).toMatch(/\w/);
        expect(operation.tags.length).toBeGreaterThan(0);
        for (const tag of operation.tags) expect(tags).toContain(tag);
        expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/);
      }
      expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    });

    test('lists the security requirements of each operation', () => {
      const securityOf = (path: string) => document.paths[path]?.get?.security;
      expect(securityOf('/api/public')).toEqual([]);
      expect(securityOf('/api/private')).toEqual([{ oauth2: [] }, { bearer: [] }]);
      expect(securityOf('/api/private-scoped')).toEqual([{ oauth2: [SCOPE] }, { bearer: [SCOPE] }]);
    });

    test('names the token endpoint and the scopes', () => {
      const { oauth2, bearer } = document.components.securitySchemes;
      expect(oauth2?.flows?.clientCredentials).toEqual({
        tokenUrl: `${ISSUER}oauth/token`,
        scopes: { [SCOPE]: expect.stringMatching(/\w/) },
      });
      expect(bearer).toMatchObject({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' });
    });

    test('declares the statuses of each, with the headers that belong to them, and the rest once', () => {
      const open = { 200: [], default: [] };
      const guarded = { ...open, 401: ['WWW-Authenticate'], 503: ['Retry-After'] };
      const expected = {
        '/api/public': open,
        '/api/private': guarded,
        '/api/private-scoped': { ...guarded, 403: ['WWW-Authenticate'] },
      };
      for (const [path, statuses] of Object.entries(expected)) {
        const responses = responsesOf(document, document.paths[path]?.get);
        const declared = responses.map(([status, { headers = {} }]) => [status, Object.keys(headers)]);
        expect(Object.fromEntries(declared)).toEqual(statuses);
      }
    });

    test('describes each response and header', () => {
      const responses = Object.values(document.paths).flatMap(({ get }) => responsesOf(document, get));
      const described = responses.flatMap(([, response]) => [response, ...Object.values(response.headers ?? {})]);
      for (const { description } of described) expect(description).toMatch(/^[A-Z]\w+/);
    });

    test('assumes no value where one is left out', () => {
      expect(JSON.stringify(document.components.schemas)).not.toContain('"default"');
    });

    test('contains no host but the issuer', () => {
      const hosts = JSON.stringify(document).match(/https?:\/\/[^/"`\\ ]+/g) ?? [];
      const known = [ISSUER, AUDIENCE].map((url) => new URL(url).origin);
      expect(hosts.filter((host) => !known.includes(host))).toEqual([]);
    });
  });
}

describe('the OpenAPI document', () => {
  test('names the server by the address that clients know, as it is written', async () => {
    const document = await read(inProcessForm, { PUBLIC_URL: 'https://gateway.example.test/base/' });
    expect(document.servers).toEqual([{ url: 'https://gateway.example.test/base' }]);
    expect(await errorsOf(document)).toEqual([]);
  });

  test('has no server if that address is unknown, so that clients use the address of the document', async () => {
    expect(await read(inProcessForm)).not.toHaveProperty('servers');
  });

  test('names no token endpoint for an issuer without a slash at its end', async () => {
    const issuer = 'https://issuer.example.test/realms/one';
    const document = await read(inProcessForm, { ISSUER: issuer, JWKS_URI: `${issuer}/certs` });
    expect(Object.keys(document.components.securitySchemes)).toEqual(['bearer']);
    expect(document.paths['/api/private-scoped']?.get?.security).toEqual([{ bearer: [SCOPE] }]);
    expect(await errorsOf(document)).toEqual([]);
  });

  test('is checked by a validator that finds faults', async () => {
    const document = await read(inProcessForm);
    expect(await errorsOf({ ...document, openapi: '3.1' })).not.toEqual([]);
    expect(await errorsOf({ ...document, paths: { 'no-slash': {} } })).not.toEqual([]);
    expect(await errorsOf({ ...document, info: { title: 'No version' } })).not.toEqual([]);
  });

  test('prefers the token endpoint in the metadata of the issuer', async () => {
    for (const [named, expected] of [
      ['https://login.example.test/token', 'https://login.example.test/token'],
      ['not an address', `${ISSUER}oauth/token`],
      [undefined, `${ISSUER}oauth/token`],
    ] as const) {
      const app = createDocumentation(() => new Elysia(), {
        issuer: [ISSUER],
        audience: [AUDIENCE],
        publicUrl: undefined,
        refusalHeaders: () => ({}),
        tokenEndpoint: async () => named,
      });
      const get = (path: string) => app.handle(new Request(`http://localhost${path}`));
      const document = (await (await get('/openapi/json')).json()) as OpenApiDocument;
      expect(document.components.securitySchemes.oauth2?.flows?.clientCredentials.tokenUrl).toBe(expected);
      expect((await get('/openapi')).headers.get('content-security-policy')).toEndWith(
        `; connect-src 'self' ${new URL(expected).origin}`,
      );
    }
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
      refusalHeaders: () => ({}),
    });
    const response = await app.handle(new Request('http://localhost/openapi/json'));
    const document = (await response.json()) as OpenApiDocument;
    expect(await errorsOf(document)).toEqual([]);
    expect(Object.keys(document.components.schemas)).toEqual(['Error', 'Report']);
    const shown = ['a', 'b', 'c'].map((name) => document.paths[`/reports/${name}`]?.get?.responses[200]);
    const reference = { $ref: '#/components/schemas/Report' };
    expect(shown).toMatchObject([
      { content: { 'application/json': { schema: reference, examples: { example1: { value: { id: 'a' } } } } } },
      { content: { 'application/json': { schema: reference, examples: { example1: { value: { id: 'b' } } } } } },
      { content: { 'application/json': { schema: { properties: { n: { type: 'number' } } } } } },
    ]);
    expect(document.paths['/reports']?.delete?.responses[204]).not.toHaveProperty('content');
    expect((await app.handle(new Request('http://localhost/openapi'))).status).toBe(200);
  });

  test('with DOCS=false is not there', async () => {
    const service = await inProcessForm.start({ ISSUER, AUDIENCE, DOCS: 'false' });
    for (const path of ['/openapi', '/openapi/json', '/openapi/page.css', '/openapi/page.js'])
      expect((await service.fetch(path)).status).toBe(404);
    expect((await service.fetch('/api/public')).status).toBe(200);
    await service.close();
  });

  test('learns of a route from the line that adds it', async () => {
    const reports = new Elysia()
      .use(resourceServer({ issuer: ISSUER, audience: AUDIENCE }))
      .get('/reports', () => ({ reports: [] }), { scope: 'read:reports' });
    const { app } = createTestApp({
      discovery: { publicUrl: 'https://api.example.test', hasDocumentation: true },
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
    expect(document.components.securitySchemes.oauth2?.flows?.clientCredentials.scopes).toContainKeys([
      SCOPE,
      'read:reports',
    ]);
    expect(await get('/.well-known/oauth-protected-resource')).toMatchObject({
      scopes_supported: [SCOPE, 'read:reports'],
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
    expect(Object.keys(document.paths)).toHaveLength(3);
    for (const { clientSecret } of [fixture().reader, fixture().visitor]) expect(text).not.toContain(clientSecret);
  });
});
