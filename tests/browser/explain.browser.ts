import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import { browserForTests, faultsOf } from '../support/documentation-page.ts';
import { startedFor } from '../support/fixture.ts';
import { startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, signingKeys, type TokenOverrides } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { root } from '../support/repository.ts';
import { base, dist, serveSite } from '../support/site.ts';

const readable = { 'access-control-allow-origin': '*' };

async function startSite() {
  if (!(await Bun.file(join(dist, 'explain.html')).exists())) await $`bun run docs:build`.cwd(root).quiet();
  return { site: serveSite(), issuer: await startIssuer() };
}

describe('the page /explain', () => {
  const started = startedFor(startSite, async ({ site, issuer }) => {
    await site.stop(true);
    await issuer.close();
  });
  const openBrowser = browserForTests();

  async function open(options: Parameters<typeof openBrowser>[0] = {}) {
    const opened = await openBrowser(options);
    const { site, issuer } = started();
    issuer.mode = { kind: 'keys', headers: readable };
    await opened.page.goto(`${site.url.origin}${base}explain`);
    await opened.page.getByRole('button', { name: 'Explain' }).waitFor();
    await opened.page.waitForLoadState('networkidle');
    return { ...opened, issuer, field: (name: string) => opened.page.getByLabel(name, { exact: true }), opened };
  }
  type Opened = Awaited<ReturnType<typeof open>>;

  /** Pastes a token, trusts its issuer, chooses its audience, and returns the last line of the result. */
  async function explain({ page, field }: Opened, token: string, scope = '') {
    await field('Access token').fill(token);
    await page.getByRole('button', { name: /^Trust http/ }).click();
    await field('Audience').fill(AUDIENCE);
    await field('Scope').fill(scope);
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.locator('.end.passed, .end.rejected').waitFor();
    return (await page.locator('.end').textContent())?.trim();
  }

  test.each<[name: string, overrides: TokenOverrides, scope: string, end: RegExp]>([
    ['an accepted token', {}, 'read:messages', /^200: Token is accepted$/],
    [
      'an expired token',
      { claims: { exp: 1 } },
      '',
      /^401 invalid_token: the token expired 20,\d+ days ago: the client must request a new token$/,
    ],
    [
      'a wrong audience',
      { claims: { aud: 'b' } },
      '',
      /^401 invalid_token: the token is for b: the client must request a token for http/,
    ],
    [
      'a missing scope',
      { claims: { scope: 'other' } },
      'read:messages',
      /^403 insufficient_scope: the client must request the scope read:messages/,
    ],
  ])('explains %s, and requests nothing but the key set of the issuer', async (_name, overrides, scope, end) => {
    const page = await open();
    const { requested, complaints } = page.opened;
    const token = mintToken(page.issuer.url, overrides);
    const before = requested.length;
    expect(await explain(page, token, scope)).toMatch(end);
    expect(requested.slice(before)).toEqual([`${page.issuer.url}.well-known/jwks.json`]);
    expect(requested.filter((url) => !url.startsWith(started().site.url.href))).toHaveLength(1);
    // Nothing of the token is in an address, in a cookie or in storage. The key of the site says whether it is dark.
    const kept = await page.page.evaluate<string>(
      'JSON.stringify([location.href, document.cookie, { ...localStorage, ...sessionStorage }])',
    );
    for (const part of token.split('.')) expect([...requested, kept].join()).not.toContain(part);
    expect(complaints).toEqual([]);
    await page.page.getByRole('button', { name: 'Copy settings' }).waitFor();
    expect(await page.page.locator('pre').allInnerTexts()).toEqual(
      expect.arrayContaining([
        `ISSUER=${page.issuer.url}\nAUDIENCE=${AUDIENCE}`,
        `createGuard({\n  issuer: '${page.issuer.url}',\n  audience: '${AUDIENCE}',\n})`,
      ]),
    );
  });

  test.each([
    ['a desktop', { width: 1280, height: 720 }],
    ['a phone', { width: 390, height: 844 }],
  ])('shows its verdict first on %s, and moves the focus to it', async (_name, viewport) => {
    const page = await open({ viewport });
    await explain(page, mintToken(page.issuer.url));
    const { y = Number.NaN, height = 0 } = (await page.page.locator('.end').boundingBox()) ?? {};
    expect(y).toBeGreaterThan(0);
    expect(y + height).toBeLessThan(viewport.height / 2);
    const focused = await page.page.evaluate<string>('document.activeElement.getAttribute("aria-label")');
    expect(focused).toBe('Result');
  });

  test.each([
    ['a desktop', { width: 1280, height: 720 }],
    ['a phone', { width: 390, height: 844 }],
  ])('says on %s what no settings can change, without scrolling', async (_name, viewport) => {
    const page = await open({ viewport });
    const bottomOf = async (selector: string) => {
      const { y = Number.NaN, height = 0 } = (await page.page.locator(selector).boundingBox()) ?? {};
      return y + height;
    };
    expect(await bottomOf('button.primary')).toBeLessThan(viewport.height);
    for (const [token, said] of [
      [
        mintToken(page.issuer.url).slice(0, -9),
        '401 invalid_token: the token was probably cut: its signature has 333 characters',
      ],
      [mintToken(page.issuer.url).slice(0, 99), '401 invalid_token: the token was cut: it has 2 of 3 parts'],
      [mintToken(page.issuer.url, { claims: { exp: 1 } }), '401 invalid_token: the token expired '],
      [mintToken(page.issuer.url, { claims: { nonce: 'n' } }), 'It looks like an ID token, because it has nonce'],
    ] as const) {
      await page.field('Access token').fill(token);
      const end = page.page.getByRole('status', { name: 'What the token says' });
      await end.getByText(said).waitFor();
      expect(await bottomOf('[aria-label="What the token says"]')).toBeLessThan(viewport.height);
    }
    // Without an issuer and an audience, the button leads there.
    await page.field('Access token').fill('opaque');
    await page.page.getByRole('button', { name: 'Explain' }).click();
    await page.page.locator('[aria-label="What the token says"]:focus').waitFor();
  });

  test('explains at Enter, and says which fields are empty by the names beside their labels', async () => {
    const page = await open();
    const result = page.page.getByRole('status', { name: 'Result' });
    await page.page.getByRole('button', { name: 'Explain' }).click();
    await result.getByText('Paste an access token').waitFor();
    const colourOf = (selector: string) =>
      page.page
        .locator(selector)
        .evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).color);
    expect(await colourOf('.problems')).toBe(await colourOf('.explain'));
    const token = mintToken(page.issuer.url);
    await page.field('Access token').fill(`curl -H 'Authorization: Bearer ${token}' https://api.example.test/`);
    await page.page.getByText('Confirm the issuer').waitFor();
    await page.field('Issuer').press('Enter');
    await page.page.locator('[aria-label="What the token says"]:focus').waitFor();
    expect(await result.textContent()).toBe('');
    for (const name of ['Issuer', 'Audience']) {
      const setting = name.toUpperCase();
      await page.field(name === 'Issuer' ? 'Audience' : 'Issuer').fill(name === 'Issuer' ? AUDIENCE : page.issuer.url);
      await page.field(name).fill('');
      await page.field(name).press('Enter');
      await result.getByText(`${setting} is required`).waitFor();
      expect(
        await page.page
          .locator('.field', { has: page.field(name) })
          .locator('> code')
          .textContent(),
      ).toBe(setting);
      await page.field(name).fill(name === 'Issuer' ? page.issuer.url : AUDIENCE);
    }
    await page.field('Audience').press('Enter');
    await result.getByText('200: Token is accepted').waitFor();
    expect(new URL(page.page.url())).toMatchObject({ search: '', hash: '' });
  });

  test('says what the issuer publishes now, although the browser may keep its keys for an hour', async () => {
    const { page, issuer, field, opened } = await open();
    const { keys } = issuer;
    // No header is allowed, so a preflight would be rejected.
    issuer.mode = { kind: 'keys', headers: { ...readable, 'cache-control': 'public, max-age=3600' } };
    const [old, fresh] = [mintToken(issuer.url), mintToken(issuer.url, { header: { kid: 'new' }, key: rsaKey('new') })];
    await field('Issuer').fill(issuer.url);
    await field('Audience').fill(AUDIENCE);
    const end = async (token: string, said: RegExp) => {
      await field('Access token').fill(token);
      await page.getByRole('button', { name: 'Explain' }).click();
      await page.locator('.end', { hasText: said }).waitFor();
    };
    await end(old, /200: Token is accepted/);
    issuer.keys = [publish(rsaKey('new'), 'new')];
    await end(fresh, /200: Token is accepted/);
    await end(old, /401 invalid_token/);
    issuer.keys = keys;
    expect(opened.complaints).toEqual([]);
  });

  test('has room for a value and its verdict, whichever is longer', async () => {
    const page = await open();
    await explain(page, mintToken(page.issuer.url, { claims: { aud: ['a', 'x'.repeat(200)] } }));
    const widths = await page.page
      .locator('thead th')
      .evaluateAll((cells) => cells.map(({ clientWidth }) => clientWidth));
    expect(Math.abs((widths[1] ?? 0) - (widths[2] ?? 0))).toBeLessThan(2);
  });

  test('opens only the field that helps when the keys cannot be read', async () => {
    const page = await open();
    page.issuer.mode = { kind: 'keys' };
    await explain(page, mintToken(page.issuer.url));
    expect(await page.field('Key set').isVisible()).toBe(true);
    expect(await page.field('Algorithms').isVisible()).toBe(false);
  });

  test('takes a pasted key set of an issuer that pages may not read', async () => {
    const page = await open();
    page.issuer.mode = { kind: 'keys' };
    expect(await explain(page, mintToken(page.issuer.url))).toMatch(/^503 /);
    await page.page.getByText('does not let pages of other origins').waitFor();
    for (const [text, end] of [
      [JSON.stringify({ keys: signingKeys() }), '200: Token is accepted'],
      ['{"keys":', 'The key set is not JSON'],
    ] as const) {
      await page.field('Key set').fill(text);
      await page.page.getByRole('button', { name: 'Explain' }).click();
      await page.page.getByRole('status', { name: 'Result' }).getByText(end).waitFor();
    }
  });

  test.each([
    ['an opaque token', 'c2VjcmV0LXRva2Vu', 'the token is no JWT: the client must request a token for your API'],
    ['garbage of 1 MB', '{"eyJ.'.repeat(170_000), 'the JSON has no access_token'],
    ['markup', '<img src=x onerror=alert(1)>\u202e.eyJ.x', 'paste one token and no other text'],
  ])('says what %s is, and requests nothing', async (_name, text, said) => {
    const page = await open();
    const { requested, complaints } = page.opened;
    const before = requested.length;
    await page.field('Access token').fill(text);
    await page.page.getByText(said).waitFor();
    await page.field('Issuer').fill(page.issuer.url);
    await page.field('Audience').fill(AUDIENCE);
    await page.page.getByRole('button', { name: 'Explain' }).click();
    await page.page.locator('.end.rejected').waitFor();
    expect([requested.slice(before), complaints]).toEqual([[], []]);
  });

  const phone = { viewport: { width: 390, height: 844 } };
  const looks = [
    ['a desktop, dark', { colorScheme: 'dark' }],
    ['a phone, light', { colorScheme: 'light', ...phone }],
    ['a desktop, light', { colorScheme: 'light' }],
    ['a phone, dark', { colorScheme: 'dark', ...phone }],
  ] as const;
  test.each(isNight ? looks : looks.slice(0, 2))('is accessible and fits on %s', async (_name, options) => {
    const page = await open(options);
    const faults = await faultsOf(page.page, 'empty', '.explain');
    await page.field('Access token').fill(mintToken(page.issuer.url, { claims: { aud: ['a', 'x'.repeat(200)] } }));
    await page.page.getByText('Confirm the issuer').waitFor();
    faults.push(...(await faultsOf(page.page, 'said', '.explain')));
    await explain(page, mintToken(page.issuer.url), 'orders');
    await page.page.getByText(/^More:/).click();
    faults.push(...(await faultsOf(page.page, 'explained', '.explain')));
    expect(faults).toEqual([]);
  });

  test('can be used by keyboard, fills in what an issuer needs, and has no result of an earlier token', async () => {
    const page = await open();
    await page.page.getByText(/^More:/).click();
    await page.field('Product of the issuer').selectOption('Okta');
    expect(await page.field('Scope claim').inputValue()).toBe('scp');
    await page.field('Product of the issuer').selectOption('Another');
    await page.field('Access token').focus();
    await page.page.keyboard.insertText(mintToken(page.issuer.url));
    for (const name of [/^Trust/, new RegExp(AUDIENCE), /^Explain$/]) {
      const button = page.page.getByRole('button', { name });
      await button.waitFor();
      const isFocused = () => button.evaluate((element) => element === element.ownerDocument.activeElement);
      for (let presses = 0; presses < 30 && !(await isFocused()); presses += 1) await page.page.keyboard.press('Tab');
      await page.page.keyboard.press('Enter');
    }
    await page.page.getByText('200: Token is accepted').waitFor();
    await page.field('Access token').fill('opaque');
    await page.page.getByText('the client must request a token for your API').waitFor();
    expect(await page.page.getByText('200: Token is accepted').count()).toBe(0);
  });

  test('keeps its policy when it is opened from another page, and says without JavaScript to use the command', async () => {
    const { page } = await openBrowser();
    const { site } = started();
    await page.goto(`${site.url.origin}${base}`);
    await page.getByRole('link', { name: 'Explain a token' }).first().click();
    await page.getByRole('button', { name: 'Explain' }).waitFor();
    await page.waitForFunction('document.querySelector("meta[http-equiv=Content-Security-Policy]")');
    await page.getByRole('button', { name: 'Explain' }).waitFor();
    // An inline script does not run.
    await page.evaluate(
      `document.head.append(Object.assign(document.createElement('script'), { text: 'window.ran = 1' }))`,
    );
    expect(await page.evaluate('window.ran')).toBeUndefined();
    const plain = await openBrowser({ javaScriptEnabled: false });
    await plain.page.goto(`${site.url.origin}${base}explain`);
    await plain.page.getByText('This form needs JavaScript. Without it, run').waitFor();
  });
});
