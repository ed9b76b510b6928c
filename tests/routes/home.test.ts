import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { createHome } from '../../src/routes/home.ts';
import type { Environment } from '../support/child-process.ts';
import { expectCrossOrigin } from '../support/expect-error.ts';
import { createServiceInProcess } from '../support/in-process.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

const ask = (accept: string | undefined, settings: Environment = {}) =>
  createServiceInProcess(settings).get('/', accept ? { headers: { accept } } : {});

describe('GET /', () => {
  const forJson = ['*/*', 'application/json', 'application/json, text/html', 'text/html;q=0.5, */*', 'image/png'];
  test.each([undefined, ...forJson])('is JSON for Accept: %s', async (accept) => {
    const response = await ask(accept);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('vary')).toBe('Accept');
    expectCrossOrigin(response);
    expect(await response.json()).toEqual({
      name: 'Protected API',
      description: expect.stringMatching(/\w/),
      documentation: '/openapi',
      openapi: '/openapi/json',
      endpoints: expect.arrayContaining([
        { method: 'GET', path: '/api/public', summary: 'Public' },
        { method: 'GET', path: '/api/private', summary: 'Requires an access token' },
        { method: 'GET', path: '/api/private-scoped', summary: 'Requires the scope read:messages' },
      ]),
    });
  });

  const forPage = [BROWSER, 'text/html', 'text/*', 'text/html, application/json;q=0.9'];
  test.each(forPage)('is a page with its own style and nothing else for Accept: %s', async (accept) => {
    const response = await ask(accept);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('vary')).toBe('Accept');
    const html = await response.text();
    const parts = ['<title>Protected API', 'href="/openapi"', 'href="/openapi/json"', '/api/private-scoped</code>'];
    for (const part of parts) expect(html).toContain(part);
    const style = /<style>(.*)<\/style>/s.exec(html)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(response.headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
  });

  test('links to the URL that clients use', async () => {
    const settings = { PUBLIC_URL: 'https://gateway.example.test/base' };
    const documentation = 'https://gateway.example.test/base/openapi';
    const openapi = `${documentation}/json`;
    expect(await (await ask('*/*', settings)).json()).toMatchObject({ documentation, openapi });
    expect(await (await ask('text/html', settings)).text()).toContain(`href="${documentation}"`);
  });

  test('does not mention a disabled documentation', async () => {
    const settings = { DOCS: 'false' };
    const json = (await (await ask('*/*', settings)).json()) as object;
    expect(Object.keys(json)).toEqual(['name', 'description', 'endpoints']);
    expect(await (await ask('text/html', settings)).text()).not.toContain('<a ');
  });

  test('escapes the URL that clients use', async () => {
    const home = createHome(() => [], 'https://x/"><script>');
    const response = await home.handle(new Request('http://localhost/', { headers: { accept: 'text/html' } }));
    expect(await response.text()).toContain('href="https://x/&#34;&#62;&#60;script&#62;/openapi"');
  });
});
