import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type AnyElysia, Elysia, t } from 'elysia';
import { createDocumentation } from '../../src/routes/documentation.ts';
import { runToEnd } from '../support/child-process.ts';
import { embeddedFixtureFor } from '../support/embedded-issuer.ts';
import { executableForm, type Service, sourceForm } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { AUDIENCE } from '../support/mint.ts';

// Refuses connections, so that no name is resolved.
const ISSUER = 'http://127.0.0.1:9/';

for (const form of [inProcessForm, executableForm]) {
  describe(`the documentation page of ${form.name}`, () => {
    let service: Service;
    beforeAll(async () => {
      service = await form.start({ ISSUER, AUDIENCE });
    }, form.startTimeoutMs);
    afterAll(async () => void (await service.close()));

    test('is HTML that can run only its own scripts and style, and contact only its host and the token endpoint', async () => {
      const response = await service.fetch('/openapi');
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('referrer-policy')).toBe('no-referrer');
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(response.headers.get('content-security-policy')?.split('; ').sort()).toEqual([
        "base-uri 'none'",
        "connect-src 'self' http://127.0.0.1:9",
        "default-src 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        'img-src data:',
        "script-src 'self'",
        expect.stringMatching(/^style-src 'sha256-[\w+/]+='$/),
      ]);
    });

    test('can be read without its script, and holds no credentials', async () => {
      const html = await (await service.fetch('/openapi')).text();
      expect(html).toContain('<title>Protected API</title>');
      for (const path of ['/api/public', '/api/private', '/api/private-scoped']) expect(html).toContain(path);
      expect(html).toContain('Requires the scope read:messages');
      expect(html).not.toContain('Demo client');
    });

    test('names everything that it loads or links to by relative addresses that exist', async () => {
      const html = await (await service.fetch('/openapi')).text();
      const named = [...html.matchAll(/ (?:src|href)="(?!data:)([^"#]+)"/g)].map(([, path = '']) => path);
      const types = named.map(async (path) => {
        const { pathname } = new URL(path, 'http://localhost/openapi');
        return [path, (await service.fetch(pathname)).headers.get('content-type')];
      });
      expect(Object.fromEntries(await Promise.all(types))).toEqual({
        './': 'application/json',
        'openapi/json': 'application/json',
        'openapi/page.js': 'text/javascript; charset=utf-8',
        'openapi/token.js': 'text/javascript; charset=utf-8',
      });
    });

    test('has every element that its fragments and the home page name', async () => {
      const [html = '', home = ''] = await Promise.all(
        ['/openapi', '/'].map(async (path) => (await service.fetch(path, { headers: { accept: 'text/html' } })).text()),
      );
      const fragments = [...`${html}${home}`.matchAll(/ href="(?:\/openapi)?#([^"]+)"/g)].map(([, id]) => id);
      expect(fragments).toContain('get/api/private-scoped');
      expect(fragments).toContain('token_expired');
      for (const id of fragments) expect(html).toContain(` id="${id}"`);
      expect(home).toContain('href="/openapi#get/api/private-scoped"');
    });

    test('shows the challenge and the body of each rejection', async () => {
      const html = await (await service.fetch('/openapi')).text();
      const examples = [...html.matchAll(/<dt>(\d+)<\/dt>\n<dd>[^<]*<pre>(.*?)<\/pre>/gs)].map(
        ([, status, text = '']) => `${status} ${text.replaceAll('&quot;', '"').replace(/\s+/g, ' ')}`,
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

describe('the documentation page', () => {
  const documentationOf = (app: () => AnyElysia, issuer = ISSUER) =>
    createDocumentation(app, {
      issuer: [issuer],
      audience: [AUDIENCE],
      publicUrl: undefined,
      rejectionsOf: () => [],
      tokenEndpoint: async () => undefined,
    });

  test('is made once, and again only after a failure', async () => {
    let made = 0;
    const app = documentationOf(() => {
      made += 1;
      if (made === 1) throw new Error('Not yet');
      return new Elysia();
    });
    const get = async () => (await app.handle(new Request('http://localhost/openapi/json'))).status;
    expect([await get(), await get(), await get()]).toEqual([500, 200, 200]);
    expect(made).toBe(2);
  });

  test('offers only to paste a token when the token endpoint is unknown', async () => {
    const app = documentationOf(() => new Elysia(), 'https://issuer.example.test/realms/one');
    const response = await app.handle(new Request('http://localhost/openapi'));
    expect(response.headers.get('content-security-policy')).toEndWith("; connect-src 'self'");
    const html = await response.text();
    expect(html).not.toContain('<input type="radio"');
    expect(html).not.toContain('client_id');
    expect(html).toContain('name="token"');
  });

  test('has a field for each parameter and for the body', async () => {
    const app = documentationOf(() =>
      new Elysia().post('/items/:id', ({ params }) => params.id, {
        query: t.Object({ limit: t.Optional(t.Number()) }),
        body: t.Object({ name: t.String() }),
      }),
    );
    const html = await (await app.handle(new Request('http://localhost/openapi'))).text();
    expect(html).toContain('data-method="POST" data-path="/items/{id}"');
    expect(html).toContain('<input name="path id" required>');
    expect(html).toContain('<input name="query limit">');
    expect(html).toContain('<textarea name="body"');
  });

  test('escapes what an operator sets', async () => {
    const service = await inProcessForm.start({ ISSUER, AUDIENCE: `"'><script>alert(1)</script>&amp;` });
    const html = await (await service.fetch('/openapi')).text();
    await service.close();
    expect(html).not.toContain('<script>alert');
    expect(html).toContain('data-audience="&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;"');
  });

  test('is not created, and its modules are not loaded, before the first request for it', async () => {
    const script = `
      const { createTestApp } = await import(${JSON.stringify(join(import.meta.dir, '../support/test-app.ts'))});
      const { app } = createTestApp({ discovery: { hasDocumentation: true } });
      for (const path of ['/', '/api/public', '/api/private', '/openapi/json', '/openapi']) {
        await app.handle(new Request('http://localhost' + path));
        const isLoaded = (name) => Object.keys(require.cache).some((path) => path.includes(name));
        console.log(path, isLoaded('/src/openapi/page.ts'), isLoaded('/src/openapi/document'), isLoaded('@elysiajs/openapi'));
      }`;
    const { stdout, stderr } = await runToEnd([process.execPath, '-e', script]);
    expect(stderr).toMatch(/^(?:Cannot fetch the keys of .+\n)?$/);
    expect(stdout.trim().split('\n')).toEqual([
      '/ false false false',
      '/api/public false false false',
      '/api/private false false false',
      '/openapi/json false true true',
      '/openapi true true true',
    ]);
  });
});

describe('the documentation page of an embedded issuer', () => {
  const fixture = embeddedFixtureFor(sourceForm);

  test('offers both clients, but not to pages of other origins or caches', async () => {
    const response = await fixture().service.fetch('/openapi');
    expect(response.headers.get('access-control-allow-origin')).toBe(new URL(fixture().issuer).origin);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const html = await response.text();
    for (const { clientId, clientSecret } of [fixture().reader, fixture().visitor]) {
      expect(html).toContain(`Demo client <strong>${clientId}</strong>`);
      expect(html).toContain(clientSecret);
    }
  });
});
