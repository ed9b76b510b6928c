import { afterAll, describe, expect, test } from 'bun:test';
import axe from 'axe-core';
import { developmentFixtureFor } from '../support/development-issuer.ts';
import { browserForTests, type Documentation, ENDPOINTS } from '../support/documentation-page.ts';
import { serve } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { AUDIENCE } from '../support/mint.ts';

const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];
const DESKTOP = { width: 1280, height: 844 };
const PHONE = { width: 390, height: 844 };

/**
 * Returns the faults that axe finds on the displayed page, elements wider than the screen, and primary buttons of more than one
 * kind.
 */
async function faultsOf({ page }: Documentation, when: string): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run({ runOnly: ${JSON.stringify(LEVELS)} })`);
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  const primary = await page.evaluate<string[]>(`{
    const shown = document.querySelector('dialog[open]') ?? document.body;
    const primary = [...shown.querySelectorAll('button:not(.secondary), .button:not(.secondary)')];
    [...new Set(primary.filter((button) => button.checkVisibility()).map((button) => button.firstChild.textContent))];
  }`);
  return [
    ...violations.map(({ id, nodes }) => `${when}: ${id} ${nodes[0]?.html}`),
    ...(overflow > 0 ? [`${when}: ${overflow}px too wide`] : []),
    ...(primary.length > 1 ? [`${when}: primary buttons ${primary}`] : []),
  ];
}

describe('the documentation page', () => {
  const fixture = developmentFixtureFor(sourceForm);
  const openPage = browserForTests();
  const origin = () => new URL(fixture().issuer).origin;

  test.each([
    ['a desktop, light', DESKTOP, 'light'],
    ['a desktop, dark', DESKTOP, 'dark'],
    ['a phone, light', PHONE, 'light'],
    ['a phone, dark', PHONE, 'dark'],
  ] as const)('is accessible at every step on %s', async (_name, viewport, colorScheme) => {
    const documentation = await openPage({ colorScheme, viewport });
    const { page, dialog } = documentation;
    const fillWrongSecret = async () => {
      await dialog.getByLabel('Client ID').fill('reader');
      await dialog.getByLabel('Client secret').fill('wrong');
      await documentation.submit();
      await dialog.getByRole('alert').getByText('invalid_client').waitFor();
      expect((await page.content()).match(/invalid_client/g)).toHaveLength(1);
    };
    const getTokenAsVisitor = async () => {
      await dialog.getByRole('radio', { name: /visitor/ }).check();
      await documentation.submit();
      await dialog.waitFor({ state: 'hidden' });
      expect(await documentation.statuses()).toEqual(['200', '200', '403']);
      for (const summary of await page.locator('summary').all()) await summary.click();
    };
    const steps: readonly [when: string, step: () => Promise<unknown>][] = [
      ['home', () => page.goto(origin())],
      ['landing', () => page.getByRole('link', { name: '/api/private-scoped' }).click()],
      ['401', () => documentation.send('/api/private')],
      ['dialog', () => documentation.getTokenIn('/api/private').click()],
      ['paste', () => dialog.getByRole('radio', { name: 'Paste a token' }).check()],
      ['client', () => dialog.getByRole('radio', { name: 'Another client' }).check()],
      ['wrong secret', fillWrongSecret],
      ['responses', getTokenAsVisitor],
    ];
    const faults: string[] = [];
    for (const [when, step] of steps) {
      await step();
      faults.push(...(await faultsOf(documentation, when)));
    }
    expect(faults).toEqual([]);
    expect(new URL(page.url()).hash).toBe('#get/api/private-scoped');
  });

  test('can be used with the keyboard alone', async () => {
    const documentation = await openPage();
    const { page, dialog } = documentation;
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const isFocusOn = (selector: string) => page.evaluate<boolean>(`document.activeElement.matches('${selector}')`);
    /** Presses Tab until the element with this text has the focus, then Enter. */
    const enter = async (name: RegExp) => {
      for (let presses = 0; presses < 40; presses += 1) {
        await press('Tab');
        if (name.test(await page.evaluate<string>('document.activeElement.textContent'))) return press('Enter');
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    const sendScoped = async (status: string) => {
      await enter(/^Send request GET \/api\/private-scoped$/);
      await documentation.response('/api/private-scoped').getByText(status).first().waitFor();
    };
    const expectClosed = async (focus: string) => {
      await dialog.waitFor({ state: 'hidden' });
      expect(await isFocusOn(focus)).toBe(true);
    };

    await documentation.open(origin());
    await sendScoped('401');
    await enter(/^Get a token$/);
    expect(await isFocusOn('dialog input:checked')).toBe(true);
    for (let presses = 0; presses < 12; presses += 1) {
      await press('Tab');
      // The body is reported while the focus is on the browser's own controls.
      expect(await isFocusOn('dialog *, body')).toBe(true);
    }
    await press('Escape');
    await expectClosed('article .get-token');
    await press('Enter', 'Enter');
    await expectClosed('article .get-token');
    await sendScoped('200');
    await enter(/^Get a token$/);
    await press('ArrowDown', 'Enter');
    await expectClosed('#get-token');
    await sendScoped('403');
    await enter(/^Request as sent/);
    await documentation.article('/api/private-scoped').getByText('curl -i').waitFor();
    await enter(/^Responses of GET \/api\/private-scoped$/);
    await enter(/^token_expired$/);
    await page.getByText('Token is expired').waitFor();
  });

  test.each([
    ['a desktop', DESKTOP],
    ['a phone', PHONE],
  ])('looks like the home page, and does not move when it gets a token, on %s', async (_name, viewport) => {
    const documentation = await openPage({ viewport });
    const { page } = documentation;
    /** The fonts of methods and paths, and whether the requirement is below the path, of each endpoint. */
    const layouts = () =>
      page.evaluate<string[]>(`[...document.querySelectorAll('.title')].map((title) => {
        const [method, path, access] = ['.method', 'code', '.access'].map((part) => title.querySelector(part));
        const isBelow = access.getBoundingClientRect().top >= path.getBoundingClientRect().bottom;
        return [method, path].map((element) => getComputedStyle(element).fontSize).join() + isBelow;
      })`);
    const topOfEndpoints = () => page.evaluate<number>(`document.querySelector('article').offsetTop`);
    await page.goto(origin());
    const atHome = await layouts();
    await documentation.open(origin());
    expect(new Set([...atHome, ...(await layouts())])).toEqual(new Set([`15px,15px${viewport === PHONE}`]));
    const before = await topOfEndpoints();
    await documentation.authorizeAs(/reader/);
    expect(await topOfEndpoints()).toBe(before);
  });

  test('shows the whole response on a phone, with nothing over it', async () => {
    const documentation = await openPage({ viewport: PHONE });
    await documentation.open(origin());
    await documentation.authorizeAs(/visitor/);
    for (const path of ENDPOINTS) {
      await documentation.send(path);
      const isSeen = await documentation.page.evaluate<boolean>(`{
        const response = document.querySelector('.response[aria-label$=" ${path}"]');
        const { left, right, top, bottom } = response.getBoundingClientRect();
        const points = [[left + 1, top + 1], [right - 1, bottom - 1], [(left + right) / 2, (top + bottom) / 2]];
        points.every(([x, y]) => response.contains(document.elementFromPoint(x, y)));
      }`);
      expect(isSeen, path).toBe(true);
    }
  });

  test('selects the command on a page that has no clipboard', async () => {
    const documentation = await openPage();
    await documentation.page.addInitScript('Object.defineProperty(navigator, "clipboard", { value: undefined })');
    await documentation.open(origin());
    await documentation.send('/api/public');
    await documentation.article('/api/public').getByRole('button', { name: 'Copy as curl' }).click();
    await documentation.page.getByText('Press Ctrl+C').waitFor();
    expect(await documentation.page.evaluate<string>('String(getSelection())')).toStartWith('curl -i ');
  });

  test('is painted, in the right colour scheme, from its HTML alone, which is small', async () => {
    const { page } = await openPage({ colorScheme: 'dark' });
    await page.route('**/*.{js,css}', (route) => route.abort());
    const response = await page.goto(`${origin()}/openapi`);
    expect(await page.getByText('A sample API').isVisible()).toBe(true);
    expect(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')).toBe('rgb(20, 22, 27)');
    expect((await response?.body())?.length).toBeLessThan(20_000);
  });
});

describe.each([
  { dpop: 'off', form: executableForm },
  { dpop: 'off', form: sourceForm },
  { dpop: 'on', form: sourceForm },
  { dpop: 'required', form: sourceForm },
])('the documentation page of $form.name with DPOP=$dpop', ({ dpop, form }) => {
  const fixture = developmentFixtureFor(form, { DPOP: dpop });
  const openPage = browserForTests();

  test('contacts no other host, shows whose token it has, sends it, and copies a command that is accepted', async () => {
    const documentation = await openPage({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = documentation;
    const { origin } = new URL(fixture().issuer);
    await documentation.open(origin);
    expect(await documentation.statuses()).toEqual(['200', '401', '401']);
    await documentation.authorizeAs(/reader/);
    const state = await page.locator('#token').textContent();
    expect(state).toMatch(/^Access token of reader · scopes: read:messages · expires: .*\d/);
    expect(state?.includes('bound to a key (DPoP)')).toBe(dpop !== 'off');
    for (const _ of ['first', 'again']) expect(await documentation.statuses()).toEqual(['200', '200', '200']);

    const article = documentation.article('/api/private-scoped');
    await article.getByRole('button', { name: 'Copy as curl' }).click();
    await article.getByText('Copied').waitFor();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(command).toStartWith(`curl -i '${new URL('/api/private-scoped', fixture().issuer)}' \\\n`);
    const headers = [...command.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]);
    expect(headers.map(([name]) => name)).toEqual(dpop === 'off' ? ['Authorization'] : ['Authorization', 'DPoP']);
    const send = async () => (await fixture().service.fetch('/api/private-scoped', { headers })).status;
    expect([await send(), await send()]).toEqual([200, dpop === 'off' ? 200 : 401]);
    const elsewhere = documentation.requested.filter((url) => !url.startsWith(origin) && !url.startsWith('data:'));
    expect({ elsewhere, complaints: documentation.complaints }).toEqual({ elsewhere: [], complaints: [] });
  });
});

describe('the documentation page with an issuer elsewhere', async () => {
  const browser = browserForTests();
  const forms: URLSearchParams[] = [];
  const issuer = serve(async (request) => {
    if (!request.url.endsWith('/oauth/token')) return new Response(null, { status: 404 });
    const form = new URLSearchParams(await request.text());
    forms.push(form);
    // No page may read the response to the client `closed`.
    const headers = { 'access-control-allow-origin': form.get('client_id') === 'closed' ? 'null' : '*' };
    return Response.json({ access_token: 'e30.e30.e30', token_type: 'Bearer' }, { headers });
  });
  const service = await inProcessForm.start({ ISSUER: issuer.url.href, AUDIENCE });
  afterAll(() => Promise.all([service.close(), issuer.stop(true)]));
  const openPage = async (origin = service.origin) => {
    const documentation = await browser();
    await documentation.open(origin);
    return documentation;
  };

  const credentials = { 'Client ID': 'closed', 'Client secret': 'secret' };
  const opaque = 'not a JWT, so scopes and expiry are unknown';
  const tokenOf = (claims: object) => ({
    'Access token': `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.e30`,
  });
  const header = { 'Access token': ' authorization:\n Bearer e30.\n e30.e30\n' };
  const endless = { sub: 'ada', exp: 1e300, scope: 'read write' };
  test.each([
    ['explains a failed fetch', 'Client credentials', credentials, 'Cannot reach'],
    ['takes a token', 'Paste a token', { 'Access token': ' Bearer e30.e30.e30\n' }, 'Access token · no scopes'],
    ['takes a header with line breaks', 'Paste a token', header, 'Access token · no scopes'],
    ['takes an opaque token', 'Paste a token', { 'Access token': 'opaque' }, opaque],
    ['refuses white space', 'Paste a token', { 'Access token': ' \n' }, 'Paste an access token'],
    ['refuses a header without a token', 'Paste a token', { 'Access token': 'Bearer ' }, 'Paste an access token'],
    ['says that a token is expired', 'Paste a token', tokenOf({ exp: 0 }), 'Access token · no scopes · expired'],
    [
      'shows no expiry that is not a date',
      'Paste a token',
      tokenOf(endless),
      'Access token of ada · scopes: read write',
    ],
    ['shows objects as JSON', 'Paste a token', tokenOf({ sub: { a: 1 }, exp: 'never' }), 'of {"a":1} · no scopes'],
  ])('%s', async (_name, way, fields, text) => {
    const documentation = await openPage();
    await documentation.getToken(way, fields);
    await documentation.page.getByText(new RegExp(`${RegExp.escape(text)}($|\\. Get| http)`)).waitFor();
  });

  test('isolates the writing direction of foreign text', async () => {
    const documentation = await openPage();
    await documentation.getToken('Paste a token', tokenOf({ sub: '\u202eada', scope: ['read', 'write'] }));
    const isolated = documentation.page.locator('#token bdi');
    expect(await isolated.allTextContents()).toEqual(['\u202eada', 'read', 'write']);
  });

  test('gets a token with the form of the specification', async () => {
    const documentation = await openPage();
    await documentation.choose('Client credentials');
    await documentation.dialog.getByRole('checkbox', { name: /read:messages/ }).uncheck();
    await documentation.fill({ ...credentials, 'Client ID': 'good' });
    await documentation.page.getByText('Access token of good · no scopes').waitFor();
    expect(Object.fromEntries(forms.at(-1) ?? [])).toEqual({
      grant_type: 'client_credentials',
      client_id: 'good',
      client_secret: 'secret',
      audience: AUDIENCE,
    });
  });

  test('sends a pasted token until it is removed', async () => {
    const documentation = await openPage();
    await documentation.getToken('Paste a token', { 'Access token': ' Bearer not-a-jwt\n' });
    expect(await documentation.send('/api/private')).toContain('Token is opaque, not a JWT');
    await documentation.page.getByRole('button', { name: 'Remove token' }).click();
    expect(await documentation.send('/api/private')).toContain('authorization_header_missing');
  });

  test('works behind a gateway that adds a path', async () => {
    await using gateway = serve(({ url, headers }) =>
      service.fetch(new URL(url).pathname.replace('/base/', '/'), { headers }),
    );
    const documentation = await openPage(`${gateway.url.origin}/base`);
    expect(await documentation.statuses()).toEqual(['200', '401', '401']);
    expect(documentation.complaints).toEqual([]);
    await documentation.page.getByRole('link', { name: 'Home' }).click();
    await documentation.page.waitForURL(`${gateway.url.origin}/base/`);
  });
});
