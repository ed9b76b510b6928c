import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { BROWSER_TIMEOUT_MS, launchChromium } from '../support/browser.ts';
import { type Fixture, fixtureFor } from '../support/fixture.ts';
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

interface Init {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly credentials?: 'include';
}

const fetchInPage = (page: Page, url: string, init: Init): Promise<Seen> =>
  page.evaluate(
    async ([url, init]) => {
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
    },
    [url, init] as const,
  );

type Mint = Fixture['mint'];
type Row = readonly [name: string, path: string, init: (mint: Mint) => Init, seen: Seen];
const bearer = (token: string, headers = {}) => ({ headers: { authorization: `Bearer ${token}`, ...headers } });
const json = { 'content-type': 'application/json' };
const body = { message: expect.any(String) };
const failure = expect.stringContaining('Failed to fetch');

const rows: readonly Row[] = [
  ['the public message', '/api/public', () => ({}), { status: 200, body }],
  ['a protected message', '/api/private', (mint) => bearer(mint()), { status: 200, body }],
  ['a scoped message', '/api/private-scoped', (mint) => bearer(mint()), { status: 200, body }],
  ['an answer to Content-Type', '/api/private', (mint) => bearer(mint(), json), { status: 200, body }],
  ['an answer to HEAD', '/api/private', (mint) => ({ ...bearer(mint()), method: 'HEAD' }), { status: 200 }],
  [
    'a 401 without a token',
    '/api/private',
    () => ({}),
    { status: 401, body: { code: 'authorization_header_missing' }, challenge: expect.stringMatching(/^Bearer/) },
  ],
  [
    'a 401 for an expired token',
    '/api/private',
    (mint) => bearer(mint({ claims: { exp: 1 } })),
    { status: 401, body: { code: 'token_expired' }, challenge: expect.stringContaining('error="invalid_token"') },
  ],
  [
    'a 403',
    '/api/private-scoped',
    (mint) => bearer(mint({ claims: { scope: '' } })),
    {
      status: 403,
      body: { code: 'Unauthorized' },
      challenge: expect.stringMatching(/error="insufficient_scope".*scope="read:messages"/),
    },
  ],
  ['a 404 after a preflight', '/api/nothing', (mint) => bearer(mint()), { status: 404, body: { code: 'not_found' } }],
  [
    'a 405 without a preflight',
    '/api/public',
    () => ({ method: 'POST' }),
    { status: 405, body: { code: 'method_not_allowed' } },
  ],
  ['nothing with credentials', '/api/public', () => ({ credentials: 'include' }), { failure }],
  ['nothing with another header', '/api/public', () => ({ headers: { 'x-other': '1' } }), { failure }],
  ['nothing with another method', '/api/public', () => ({ method: 'DELETE' }), { failure }],
];
const outageRows: readonly Row[] = [
  [
    'a 503',
    '/api/private',
    (mint) => bearer(mint()),
    { status: 503, body: { code: 'key_set_unavailable' }, retryAfter: expect.stringMatching(/^\d+$/) },
  ],
];

describe('a page of another origin in Chromium', () => {
  const keys = () => [publish(rsaKey(SIGNING_KID), SIGNING_KID)];
  const services: readonly [() => Fixture, readonly Row[]][] = [
    [fixtureFor(sourceForm, { keys }), rows],
    [fixtureFor(sourceForm, { keys, prepare: (issuer) => issuer.goDown() }), outageRows],
  ];
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

  for (const [fixture, table] of services)
    test.each(table)(
      'reads %s',
      async (_name, path, init, seen) => {
        const { service, mint } = fixture();
        expect(new URL(page.url()).origin).not.toBe(service.origin);
        expect(await fetchInPage(page, service.origin + path, init(mint))).toMatchObject(seen);
      },
      BROWSER_TIMEOUT_MS,
    );
});
