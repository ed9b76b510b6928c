import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { exampleFixture } from '../examples/server-rows.ts';
import { browserForTests } from '../support/documentation-page.ts';
import { fixtureFor, serve } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';
import { bearer, type TokenOverrides } from '../support/mint.ts';

type Init = Pick<RequestInit, 'method' | 'headers' | 'credentials'>;

/** Returns what a script of the page sees of a response: `failure` if the browser withholds it. */
const fetchInPage = (page: Page, url: string, init: Init) =>
  page.evaluate(
    async ([url, init]) => {
      try {
        const response = await fetch(url, init);
        return {
          status: response.status,
          challenge: response.headers.get('www-authenticate'),
          retryAfter: response.headers.get('retry-after'),
          body: await response.json(),
        };
      } catch (error) {
        return { failure: String(error) };
      }
    },
    [url, init] as const,
  );

type Row = readonly [name: string, path: string, init: Init & { readonly token?: TokenOverrides }, seen: object];
const token = {};
const message = { status: 200, body: { message: expect.any(String) } };
const error = (status: number, code: string, more = {}) => ({ status, body: { code }, ...more });
const challenge = (pattern: RegExp) => ({ challenge: expect.stringMatching(pattern) });
const missing = error(401, 'authorization_header_missing', challenge(/^Bearer/));
const unauthorized = error(403, 'Unauthorized', challenge(/error="insufficient_scope".*scope="read:messages"/));
const outage = error(503, 'key_set_unavailable', { retryAfter: expect.stringMatching(/^\d+$/) });
const PUBLIC_URL = 'https://api.example.test';
const metadataPath = '/.well-known/oauth-protected-resource';
const metadata = { status: 200, body: { resource: PUBLIC_URL } };
const failure = { failure: expect.stringContaining('Failed to fetch') };

const rows: readonly Row[] = [
  ['the public message', '/api/public', {}, message],
  ['a protected message', '/api/private', { token }, message],
  ['a response to Content-Type', '/api/private', { token, headers: { 'content-type': 'application/json' } }, message],
  ['a 401 without a token', '/api/private', {}, missing],
  ['a 403', '/api/private-scoped', { token: { claims: { scope: '' } } }, unauthorized],
  ['a 404 after a preflight', '/api/nothing', { token }, error(404, 'not_found')],
  ['the metadata', metadataPath, {}, metadata],
  ['nothing with credentials', '/api/public', { credentials: 'include' }, failure],
  ['nothing with another header', '/api/public', { headers: { 'x-other': '1' } }, failure],
  ['nothing with another method', '/api/public', { method: 'DELETE' }, failure],
];

const withPreflight = { headers: { 'mcp-protocol-version': '2025-11-25' } };
const missingToken = { status: 401, body: { error: 'missing_token' }, ...challenge(/^Bearer/) };
const reports = { token: { claims: { scope: 'read:messages' } } };
/** examples/express.ts with `cors()`: Chromium rejects a second Access-Control-Allow-Origin. */
const expressRows: readonly Row[] = [
  ['a report of Express', '/messages', reports, { status: 200, body: { hello: 'client-1' } }],
  ['a 401 of Express', '/messages', {}, missingToken],
  ['a 401 of Express after a preflight', '/messages', withPreflight, missingToken],
  [
    'a 403 of Express',
    '/messages',
    { token: { claims: { scope: '' } } },
    { status: 403, ...challenge(/scope="read:messages"/) },
  ],
  ['the metadata of Express', metadataPath, {}, metadata],
  ['the metadata of Express after a preflight', metadataPath, withPreflight, metadata],
];

describe('a page of another origin in Chromium', () => {
  const openPage = browserForTests();
  const other = serve(() => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }));
  afterAll(() => other.stop(true));

  for (const [fixture, table] of [
    [fixtureFor(sourceForm, { settings: { PUBLIC_URL } }), rows],
    [exampleFixture('examples/express.ts', undefined, { PUBLIC_URL }), expressRows],
    [fixtureFor(sourceForm, { prepare: (issuer) => issuer.close() }), [['a 503', '/api/private', { token }, outage]]],
  ] as const)
    test.each<Row>(table)('reads %s', async (_name, path, { token, ...init }, seen) => {
      const { service, mint } = fixture();
      const { page } = await openPage();
      await page.goto(other.url.href);
      const headers = { ...init.headers, ...(token && bearer(mint(token))) };
      expect(await fetchInPage(page, service.origin + path, { ...init, headers })).toMatchObject(seen);
    });
});
