import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Elysia } from 'elysia';
import { createDocumentation } from '../../src/routes/documentation.ts';
import { runToEnd } from '../support/child-process.ts';
import { type EmbeddedBench, embeddedBenchFor } from '../support/embedded-issuer.ts';
import { executableForm, type Service, sourceForm } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { AUDIENCE } from '../support/mint.ts';

const ISSUER = 'https://issuer.example.test/';

/** The directives of a policy, each with its sources. */
const policyOf = (response: Response): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    (response.headers.get('content-security-policy') ?? '').split('; ').map((directive) => {
      const [name = '', ...sources] = directive.split(' ');
      return [name, sources];
    }),
  );

/** The addresses that the page asks a browser to load, as it writes them. */
const assetsOf = (html: string) =>
  [...html.matchAll(/(?:<script src|<link rel="stylesheet" href)="([^"]*)"/g)].map(([, path = '']) => `/${path}`);

function describePage(service: () => Service): void {
  test('is HTML with a policy that lets it run its own scripts and styles only, and ask its own host', async () => {
    const response = await service().fetch('/openapi');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const { 'connect-src': connect, ...policy } = policyOf(response);
    expect(policy).toEqual({
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ['data:'],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': ["'none'"],
    });
    expect(connect).toContain("'self'");
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
  });

  test('has a title, and loads a script and a style sheet that are there', async () => {
    const html = await (await service().fetch('/openapi')).text();
    expect(html).toContain('<title>Protected API</title>');
    const assets = assetsOf(html);
    expect(assets.map((path) => path.replace(/\?[0-9a-f]{16}$/, ''))).toEqual([
      '/openapi/page.css',
      '/openapi/page.js',
    ]);
    for (const path of assets) expect((await service().fetch(path)).status).toBe(200);
  });

  test('sends its files once and for all, compressed for who takes that, and the same to who does not', async () => {
    for (const path of assetsOf(await (await service().fetch('/openapi')).text())) {
      const get = (acceptEncoding: string) => {
        const init = { headers: { 'accept-encoding': acceptEncoding }, decompress: false };
        return service().fetch(path, init);
      };
      const gzipped = await get('br;q=1.0, gzip;q=0.5');
      const plain = await get('identity');
      const refused = await get('gzip;q=0');
      for (const response of [gzipped, plain, refused]) {
        expect(response.headers.get('content-type')).toMatch(/^text\/(css|javascript); charset=utf-8$/);
        expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
        expect(response.headers.get('vary')).toBe('Accept-Encoding');
        expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      }
      expect([gzipped, plain, refused].map(({ headers }) => headers.get('content-encoding'))).toEqual([
        'gzip',
        null,
        null,
      ]);
      const text = await plain.text();
      expect(gunzipSync(await gzipped.bytes()).toString()).toBe(text);
      expect(await refused.text()).toBe(text);
    }
  });

  test('lets no file be kept under an address that is not of its version', async () => {
    for (const path of assetsOf(await (await service().fetch('/openapi')).text())) {
      for (const other of [path.replace(/\?.*/, ''), path.replace(/\?.*/, '?0000000000000000'), `${path}&`]) {
        const response = await service().fetch(other);
        expect(response.status).toBe(200);
        expect(response.headers.get('cache-control')).toBe('no-store');
      }
    }
  });
}

for (const form of [inProcessForm, executableForm]) {
  describe(`the documentation page of ${form.name}`, () => {
    let service: Service;
    beforeAll(async () => {
      service = await form.start({ ISSUER, AUDIENCE });
    }, form.startTimeoutMs);
    afterAll(async () => void (await service.close()));

    describePage(() => service);

    test('may ask the token endpoint of the issuer, and may be read from any origin', async () => {
      const response = await service.fetch('/openapi');
      expect(policyOf(response)['connect-src']).toEqual(["'self'", 'https://issuer.example.test']);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
    });

    test('fills in no credentials', async () => {
      expect(await (await service.fetch('/openapi')).text()).not.toContain('client');
    });
  });
}

describe('the documentation page', () => {
  test('may ask the address that clients know, and writes no address that its own would not lead to', async () => {
    const service = await inProcessForm.start({ ISSUER, AUDIENCE, PUBLIC_URL: 'https://gateway.example.test/base' });
    const response = await service.fetch('/openapi');
    await service.close();
    expect(policyOf(response)['connect-src']).toEqual([
      "'self'",
      'https://issuer.example.test',
      'https://gateway.example.test',
    ]);
    expect(await response.text()).not.toMatch(/(src|href)="(\/|https?:)/);
  });

  test('is made once, and again only after a failure', async () => {
    let asked = 0;
    const documented = new Elysia();
    const app = createDocumentation(
      () => {
        asked += 1;
        if (asked === 1) throw new Error('Not yet');
        return documented;
      },
      { issuer: ISSUER, audience: AUDIENCE, publicUrl: undefined, refusalHeaders: () => ({}) },
    );
    const get = async () => (await app.handle(new Request('http://localhost/openapi/json'))).status;
    expect([await get(), await get(), await get()]).toEqual([500, 200, 200]);
    expect(asked).toBe(2);
  });

  test('cannot be broken out of by what an operator sets', async () => {
    const service = await inProcessForm.start({ ISSUER, AUDIENCE: '</script><script>alert(1)</script>' });
    const html = await (await service.fetch('/openapi')).text();
    await service.close();
    expect(html).not.toContain('<script>alert');
  });

  test('is not made, nor what makes it loaded, before someone asks', async () => {
    const script = `
      const { createApp } = await import(${JSON.stringify(join(import.meta.dir, '../../src/app.ts'))});
      const discovery = { issuer: '${ISSUER}', audience: 'a', publicUrl: undefined, hasDocumentation: true };
      const verifier = { verify: () => ({ refusal: 'signature_invalid' }) };
      const app = createApp({ verifier, readiness: () => 'ready', onInternalError: console.error, discovery });
      for (const path of ['/', '/api/public', '/api/private', '/openapi', '/openapi/json']) {
        await app.handle(new Request('http://localhost' + path));
        const isLoaded = (name) => Object.keys(require.cache).some((path) => path.includes(name));
        console.log(path, isLoaded('/src/openapi/page'), isLoaded('/src/openapi/document'), isLoaded('@elysiajs/openapi'));
      }`;
    const { stdout, stderr } = await runToEnd([process.execPath, '-e', script]);
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toEqual([
      '/ false false false',
      '/api/public false false false',
      '/api/private false false false',
      '/openapi true false false',
      '/openapi/json true true true',
    ]);
  });
});

describe('the documentation page of an embedded issuer', () => {
  const bench = embeddedBenchFor(sourceForm);
  const page = async ({ service }: EmbeddedBench) => service.fetch('/openapi');

  test('fills in the client that may have the scope, and not the other', async () => {
    const html = await (await page(bench())).text();
    expect(html).toContain(bench().reader.clientSecret);
    expect(html).not.toContain(bench().visitor.clientSecret);
  });

  test('keeps them from pages of other origins, and from caches', async () => {
    const { headers } = await page(bench());
    expect(headers.get('access-control-allow-origin')).toBe(new URL(bench().issuer).origin);
    expect(headers.get('cache-control')).toBe('no-store');
  });
});
