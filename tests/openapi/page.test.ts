import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type AnyElysia, Elysia, t } from 'elysia';
import manifest from '../../package.json';
import type { OpenApiDocument } from '../../src/openapi/document.ts';
import { createDocumentation, type DocumentationOptions } from '../../src/routes/documentation.ts';
import { runToEnd } from '../support/child-process.ts';
import { fixtureFor } from '../support/fixture.ts';
import { executableForm } from '../support/forms.ts';
import { createServiceInProcess, inProcessForm } from '../support/in-process.ts';
import { describedApi } from './example-document.ts';

for (const form of [inProcessForm, executableForm]) {
  describe(`the documentation page of ${form.name}`, () => {
    const fixture = fixtureFor(form, { keys: () => [] });
    let html: string;
    beforeAll(async () => {
      html = await (await fixture().service.fetch('/openapi')).text();
    });

    test('is HTML that can run only its own scripts and style, and contact only its host and the token endpoint', async () => {
      const { headers } = await fixture().service.fetch('/openapi');
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('content-security-policy')?.split('; ').sort()).toEqual([
        "base-uri 'none'",
        `connect-src 'self' ${new URL(fixture().issuer.url).origin}`,
        "default-src 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        'img-src data:',
        "script-src 'self'",
        expect.stringMatching(/^style-src 'sha256-[\w+/]+='$/),
      ]);
    });

    test('can be read without its script, holds no credentials, and hides a client secret while it is typed', () => {
      for (const part of ['<title>Protected API</title>', '/api/public', 'Requires the scope <code>read:messages<'])
        expect(html).toContain(part);
      expect(html).not.toContain('a demo client');
      expect(html.match(/(?<=<input [^>]*)(?:name="client_secret"|type="password")/g)).toHaveLength(2);
    });

    test('loads and links to everything by relative URLs that exist', async () => {
      const named = [...html.matchAll(/ (?:src|href)="(?!data:)([^"#]+)"/g)].map(([, path = '']) => path);
      const types = named.map(async (path) => {
        const { pathname } = new URL(path, 'http://localhost/openapi');
        return [path, (await fixture().service.fetch(pathname)).headers.get('content-type')];
      });
      expect(Object.fromEntries(await Promise.all(types))).toEqual({
        'openapi/json': 'application/json',
        'openapi/page.js': 'text/javascript; charset=utf-8',
        'openapi/request.js': 'text/javascript; charset=utf-8',
        'openapi/token.js': 'text/javascript; charset=utf-8',
      });
    });

    test('has every element that its fragments name, and the version in its footer', () => {
      expect(html).toContain(`<footer>Protected API ${manifest.version} · ${manifest.license} license</footer>`);
      const fragments = [...html.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id);
      expect(fragments).toEqual(expect.arrayContaining(['get/api/private-scoped', 'token_expired']));
      for (const id of fragments) expect(html).toContain(` id="${id}"`);
    });

    test('shows the challenge and the body of each rejection', () => {
      const examples = [...html.matchAll(/<dt>(\d+)<\/dt>\n<dd>[^<]*<pre>(.*?)<\/pre>/gs)].map(
        ([, status, text = '']) => `${status} ${text.replaceAll('&#34;', '"').replace(/\s+/g, ' ')}`,
      );
      for (const rejection of [
        /^401 WWW-Authenticate: Bearer.* "code": "authorization_header_missing"/,
        /^403 WWW-Authenticate: Bearer error="insufficient_scope".* "code": "Unauthorized"/,
        /^503 Retry-After: \d+ .*"code": "key_set_unavailable"/,
      ])
        expect(examples).toContainEqual(expect.stringMatching(rejection));
    });
  });
}

/** Returns a function that fetches the documentation of this application. The token endpoint is unknown by default. */
function documentationOf(app: () => AnyElysia, options: Partial<DocumentationOptions> = {}) {
  const unknown = { ...describedApi(), tokenEndpoint: async () => undefined };
  const documentation = createDocumentation(app, { ...unknown, ...options });
  return (path = '') => documentation.handle(new Request(`http://localhost/openapi${path}`));
}

describe('createDocumentation()', () => {
  test('creates the document and the page once, and again only after a failure or for another token endpoint', async () => {
    let made = 0;
    let known: string | undefined;
    const makeApp = () => {
      made += 1;
      if (made === 1) throw new Error('Not yet');
      return new Elysia();
    };
    const get = documentationOf(makeApp, { tokenEndpoint: async () => known });
    expect((await get('/json')).status).toBe(500);
    const login = 'https://login.example.test/token';
    for (const endpoint of [undefined, undefined, login, login]) {
      known = endpoint;
      const document = (await (await get('/json')).json()) as OpenApiDocument;
      expect(document.components.securitySchemes.oauth2?.flows?.clientCredentials?.tokenUrl).toBe(endpoint as string);
      const connects = endpoint === undefined ? '' : ' https://login.example.test';
      expect((await get()).headers.get('content-security-policy')).toEndWith(`; connect-src 'self'${connects}`);
    }
    // The failure, then once for each of the two.
    expect(made).toBe(3);
  });

  test('loads its modules at the first request for them', async () => {
    const script = `
      const { createTestApp } = await import(${JSON.stringify(join(import.meta.dir, '../support/test-app.ts'))});
      const { app } = createTestApp({ hasDocumentation: true });
      for (const path of ['/', '/api/public', '/openapi/json', '/openapi']) {
        await app.handle(new Request('http://localhost' + path));
        const loaded = ['/openapi/page.ts', '/openapi/document.ts', '@elysia/openapi'];
        console.log(loaded.map((name) => Object.keys(require.cache).some((file) => file.includes(name))).join());
      }`;
    const { stdout } = await runToEnd([process.execPath, '-e', script]);
    const none = 'false,false,false';
    expect(stdout.trim().split('\n')).toEqual([none, none, 'true,true,true', 'true,true,true']);
  });

  test.each([undefined, 'https://a;script-src', 'https://*', "https://'unsafe-inline'"])(
    'only offers to paste a token where the origin of the token endpoint is %s, and contacts nothing else',
    async (origin) => {
      const tokenEndpoint = async () => origin && `${origin}/token`;
      const response = await documentationOf(() => new Elysia(), { tokenEndpoint })();
      expect(response.headers.get('content-security-policy')).toEndWith("; connect-src 'self'");
      const html = await response.text();
      expect(html).not.toMatch(/<input type="radio"|client_id/);
      expect(html).toContain('name="token"');
    },
  );

  test('has a field for each parameter and for the body, and shows a response without a body', async () => {
    const [query, body] = [t.Object({ limit: t.Optional(t.Number()) }), t.Object({ name: t.String() })];
    const app = new Elysia()
      .post('/items/:id', ({ params }) => params.id, { query, body })
      .delete('/items', ({ status }) => status(204, undefined), { response: { 204: t.Void() } });
    const html = await (await documentationOf(() => app)()).text();
    expect(html).toContain('data-method="POST" data-path="/items/{id}"');
    expect(html).toContain('<input name="path id" required>');
    expect(html).toContain('<input name="query limit">');
    expect(html).toContain('<textarea name="body"');
    expect(html).toContain('<dt>204</dt>');
  });

  test('escapes the values of settings', async () => {
    const { get } = createServiceInProcess({ AUDIENCE: `"'><script>alert(1)</script>&amp;` });
    const html = await (await get('/openapi')).text();
    expect(html).not.toContain('<script>alert');
    expect(html).toContain('data-audience="&#34;&#39;&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#38;amp;"');
  });
});
