import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { audience, issuer, load, url } from '../docs/blocks.ts';
import { run } from '../support/child-process.ts';
import { launchChromium } from '../support/documentation-page.ts';
import { serve } from '../support/fixture.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Runs in the page: calls the API as a browser application does, and reports what it may read. */
async function callAndReport(api: string, tokens: Readonly<Record<string, string>>): Promise<void> {
  const seen: Record<string, unknown> = {};
  for (const [name, token] of Object.entries(tokens)) {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    try {
      const response = await fetch(api, { headers });
      seen[name] = [
        response.status,
        response.headers.get('www-authenticate'),
        Object.keys((await response.json()) as object),
      ];
    } catch (error) {
      seen[name] = String(error);
    }
  }
  await fetch('/seen', { method: 'POST', body: JSON.stringify(seen) });
}

/** Opens a URL in a new profile. No other program of the same name is touched. */
const browsers: Readonly<Record<string, (url: string) => Promise<() => Promise<unknown>>>> = {
  async Chromium(page) {
    const browser = await launchChromium();
    await (await browser.newPage()).goto(page);
    return () => browser.close();
  },
  async Firefox(page) {
    const profile = temporaryFolder();
    const preferences = { 'browser.shell.checkDefaultBrowser': false, 'network.captive-portal-service.enabled': false };
    const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${value});\n`);
    await Bun.write(join(profile, 'user.js'), lines.join(''));
    const command = process.env.FIREFOX ?? Bun.which('firefox-esr') ?? Bun.which('firefox');
    if (!command) throw new Error('No Firefox found: install it, or set FIREFOX to its path');
    const child = run([command, '--headless', '--no-remote', '--profile', profile, page], { HOME: profile });
    return () => {
      child.signal('SIGTERM');
      return child.finished;
    };
  },
};

/** Returns what a page of another origin sees of the API in a browser. */
async function seenIn(browser: string, api: string, tokens: Readonly<Record<string, string>>) {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  using page = serve(async (request) => {
    if (request.method === 'POST') resolve(await request.json());
    const script = `(${callAndReport})(${JSON.stringify(api)}, ${JSON.stringify(tokens)})`;
    return new Response(`<!doctype html><title>Page</title><script>${script}</script>`, {
      headers: { 'content-type': 'text/html' },
    });
  });
  const close = await browsers[browser]?.(page.url.href);
  const seen = await promise;
  await close?.();
  return seen;
}

describe('the block of docs/guides/browsers.md', () => {
  const tokens = async () => ({
    'no token': '',
    'a token': await issuer.token({ iss: url, aud: audience, scope: 'read:messages' }),
    'a token without the scope': await issuer.token({ iss: url, aud: audience }),
  });
  const names = ['error', 'error_description'];

  test.each(Object.keys(browsers))('lets a page of another origin in %s read every response', async (browser) => {
    const { default: application } = await load('guides/browsers#Without a framework');
    using api = serve(application.fetch);
    expect(await seenIn(browser, api.url.href, await tokens())).toEqual({
      'no token': [401, 'Bearer scope="read:messages"', names],
      'a token': [200, null, ['hello']],
      'a token without the scope': [403, expect.stringContaining('insufficient_scope'), names],
    });
  });
});
