import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { BROWSER_TIMEOUT_MS, launchChromium } from '../support/browser.ts';
import { fixtureFor } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { SIGNING_KID } from '../support/mint.ts';

/** What a script of the page learns of an answer; `failure` when the browser keeps the answer from it. */
interface Seen {
  readonly status?: number;
  readonly body?: unknown;
  readonly challenge?: string | null;
  readonly retryAfter?: string | null;
  readonly failure?: string;
}

interface PageRequest {
  readonly url: string;
  readonly init: { method?: string; headers?: Record<string, string>; credentials?: 'include' | 'omit' };
}

const fetchInPage = (page: Page, request: PageRequest): Promise<Seen> =>
  page.evaluate(async ({ url, init }) => {
    try {
      const response = await fetch(url, init);
      return {
        status: response.status,
        challenge: response.headers.get('www-authenticate'),
        retryAfter: response.headers.get('retry-after'),
        body: init.method === 'HEAD' ? undefined : await response.json(),
      };
    } catch (error) {
      return { failure: String(error) };
    }
  }, request);

describe('a page of another origin in Chromium', () => {
  const keys = () => [publish(rsaKey(SIGNING_KID), SIGNING_KID)];
  const fixture = fixtureFor(sourceForm, { keys });
  const outage = fixtureFor(sourceForm, { keys, prepare: (issuer) => issuer.goDown() });
  let browser: Browser;
  let page: Page;
  let pageServer: Bun.Server<undefined>;

  beforeAll(async () => {
    pageServer = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () =>
        new Response('<!doctype html><title>Another origin</title>', { headers: { 'content-type': 'text/html' } }),
    });
    browser = await launchChromium();
    page = await browser.newPage();
    await page.goto(pageServer.url.href);
  }, BROWSER_TIMEOUT_MS);

  afterAll(async () => {
    await browser?.close();
    await pageServer?.stop(true);
  }, BROWSER_TIMEOUT_MS);

  const get = (path: string, token?: string, init: PageRequest['init'] = {}) =>
    fetchInPage(page, {
      url: `${fixture().service.origin}${path}`,
      init: { ...init, headers: { ...init.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) } },
    });
  const message = { message: expect.any(String) };

  test('is of another origin than the service', () => {
    expect(new URL(page.url()).origin).not.toBe(fixture().service.origin);
  });

  test('reads the public message', async () => {
    expect(await get('/api/public')).toMatchObject({ status: 200, body: message });
  });

  test('reads the protected messages with a token', async () => {
    for (const path of ['/api/private', '/api/private-scoped'])
      expect(await get(path, fixture().mint())).toMatchObject({ status: 200, body: message });
  });

  test('may send Content-Type as well, and HEAD', async () => {
    const headers = { 'content-type': 'application/json' };
    expect(await get('/api/private', fixture().mint(), { headers })).toMatchObject({ status: 200 });
    expect(await get('/api/private', fixture().mint(), { method: 'HEAD' })).toMatchObject({ status: 200 });
  });

  test('reads body and challenge of a 401 without a token', async () => {
    expect(await get('/api/private')).toMatchObject({
      status: 401,
      body: { code: 'authorization_header_missing' },
      challenge: expect.stringMatching(/^Bearer/),
    });
  });

  test('reads body and challenge of a 401 for an expired token', async () => {
    expect(await get('/api/private', fixture().mint({ claims: { exp: 1 } }))).toMatchObject({
      status: 401,
      body: { code: 'token_expired' },
      challenge: expect.stringContaining('error="invalid_token"'),
    });
  });

  test('reads body and challenge of a 403', async () => {
    expect(await get('/api/private-scoped', fixture().mint({ claims: { scope: '' } }))).toMatchObject({
      status: 403,
      body: { code: 'Unauthorized' },
      challenge: expect.stringMatching(/error="insufficient_scope".*scope="read:messages"/),
    });
  });

  test('reads the body of a 404, with a preflight before it', async () => {
    expect(await get('/api/nothing', fixture().mint())).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  test('reads the body of a 405 for a request that needs no preflight', async () => {
    expect(await get('/api/public', undefined, { method: 'POST' })).toMatchObject({
      status: 405,
      body: { code: 'method_not_allowed' },
    });
  });

  test('reads body and Retry-After of a 503', async () => {
    const headers = { authorization: `Bearer ${outage().mint()}` };
    const seen = await fetchInPage(page, { url: `${outage().service.origin}/api/private`, init: { headers } });
    expect(seen).toMatchObject({
      status: 503,
      body: { code: 'key_set_unavailable' },
      retryAfter: expect.stringMatching(/^\d+$/),
    });
  });

  test('gets nothing with credentials, with another header or with another method', async () => {
    const refused = [
      await get('/api/public', undefined, { credentials: 'include' }),
      await get('/api/public', undefined, { headers: { 'x-other': '1' } }),
      await get('/api/public', undefined, { method: 'DELETE' }),
    ];
    for (const seen of refused) expect(seen).toEqual({ failure: expect.stringContaining('Failed to fetch') });
  });
});
