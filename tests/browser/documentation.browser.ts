import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { developmentFixtureFor } from '../support/development-issuer.ts';
import { browserForTests, ENDPOINTS, faultsOf } from '../support/documentation-page.ts';
import { serve } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { AUDIENCE } from '../support/mint.ts';

const DESKTOP = { width: 1280, height: 844 };
const PHONE = { width: 390, height: 844 };

/** Returns the scopes without the style of code on the displayed page, and primary buttons of more than one kind. */
async function mistakesOf(page: Page, when: string): Promise<string[]> {
  const texts = await page.evaluate<string[]>(`{
    const shown = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
    const isScope = ({ data, parentElement }) => data.includes('read:messages') && !parentElement.closest('code, pre');
    const isPrimary = (button) => !['transparent', 'rgba(0, 0, 0, 0)'].includes(getComputedStyle(button).backgroundColor);
    const buttons = shown(document.querySelector('dialog[open]') ? 'dialog button' : 'button').filter(isPrimary);
    const labels = [...new Set(buttons.map((button) => button.firstChild.textContent))];
    [
      ...shown('body *').flatMap(({ childNodes }) => [...childNodes])
        .filter((node) => node.nodeType === Node.TEXT_NODE && isScope(node)).map(({ data }) => 'plain ' + data),
      ...(labels.length > 1 ? ['primary buttons ' + labels] : []),
    ];
  }`);
  return texts.map((text) => `${when}: ${text}`);
}

describe('the documentation page', () => {
  const fixture = developmentFixtureFor(sourceForm);
  const origin = () => new URL(fixture().issuer).origin;
  const openPage = browserForTests(origin);

  test.each([
    ['a desktop, dark', DESKTOP, 'dark'],
    ['a phone, light', PHONE, 'light'],
  ] as const)('is accessible at every step on %s', async (_name, viewport, colorScheme) => {
    const documentation = await openPage({ colorScheme, viewport });
    const { page, dialog } = documentation;
    const fillWrongSecret = async () => {
      await dialog.getByLabel('Client ID').fill('reader');
      await dialog.getByLabel('Client secret').fill('wrong');
      await documentation.submit();
      await dialog.getByRole('alert').getByText('invalid_client').waitFor();
    };
    const useTokenOfVisitor = async () => {
      await dialog.getByRole('radio', { name: /visitor/ }).check();
      await documentation.submit();
      await dialog.waitFor({ state: 'hidden' });
      expect(await documentation.statuses()).toEqual(['200', '200', '403']);
      for (const summary of await page.locator('summary').all()) await summary.click();
    };
    const steps: readonly [when: string, step: () => Promise<unknown>][] = [
      ['landing', () => page.goto(origin())],
      ['target', () => page.getByRole('link', { name: '/api/private-scoped' }).click()],
      ['401', () => documentation.send('/api/private')],
      ['dialog', () => documentation.useTokenIn('/api/private').click()],
      ['paste', () => dialog.getByRole('radio', { name: 'your own' }).check()],
      ['client', () => dialog.getByRole('radio', { name: 'another client' }).check()],
      ['wrong secret', fillWrongSecret],
      ['responses', useTokenOfVisitor],
      ['outdated', () => documentation.authorizeAs(/reader/)],
    ];
    const faults: string[] = [];
    for (const [when, step] of steps) {
      await step();
      faults.push(...(await faultsOf(page, when)), ...(await mistakesOf(page, when)));
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

    await sendScoped('401');
    await enter(/^Use a token with read:messages$/);
    expect(await isFocusOn('dialog input:checked')).toBe(true);
    for (let presses = 0; presses < 12; presses += 1) {
      await press('Tab');
      // The body is reported while the focus is on the browser's own controls.
      expect(await isFocusOn('dialog *, body')).toBe(true);
    }
    await press('Escape');
    await expectClosed('article .use-token');
    await enter(/^Use a token$/);
    await press('ArrowDown', 'Enter');
    await expectClosed('#token .use-token');
    await sendScoped('403');
    await enter(/^Use a token with read:messages$/);
    expect(await isFocusOn('dialog [value="reader"]:checked')).toBe(true);
    await press('Enter');
    await expectClosed('[id$="private-scoped"] .request button');
    await press('Enter');
    await documentation.response('/api/private-scoped').getByText('200').waitFor();
    await enter(/^Request as sent/);
    await documentation.article('/api/private-scoped').getByText('curl -i').waitFor();
    await enter(/^Responses of GET \/api\/private-scoped$/);
    await enter(/^token_expired$/);
    const mark = `getComputedStyle([...document.querySelectorAll('dl > div')].find((row) => row.matches(':target'))).boxShadow`;
    expect(await page.evaluate<string>(mark)).not.toBe('none');
    expect(await page.locator(':target').textContent()).toContain('Token is expired');
  });

  test.each([
    ['a desktop', DESKTOP],
    ['a phone', PHONE],
  ])('has its layout, and does not move under the finger when it gets a token, on %s', async (_name, viewport) => {
    const documentation = await openPage({ viewport });
    const { page } = documentation;
    /** The fonts of methods and paths, and whether the requirement is below the path, of each endpoint. */
    const layouts = () =>
      page.evaluate<string[]>(`[...document.querySelectorAll('article .title')].map((title) => {
        const [method, path, access] = ['.method', '.method + code', '.access'].map((part) => title.querySelector(part));
        const isBelow = access.getBoundingClientRect().top >= path.getBoundingClientRect().bottom;
        return [method, path].map((element) => getComputedStyle(element).fontSize).join() + isBelow;
      })`);
    expect(new Set(await layouts())).toEqual(new Set([`15px,15px${viewport === PHONE}`]));
    await documentation.send('/api/private-scoped');
    const top = async () => (await documentation.article('/api/private-scoped').boundingBox())?.y;
    await documentation.useTokenIn('/api/private-scoped').click();
    const before = await top();
    await documentation.submit();
    await page.getByText('Access token of reader').waitFor();
    expect(await top()).toBe(before);
  });

  test('keeps code in one piece, however wide the screen is', async () => {
    const { page } = await openPage();
    const divided = await page.evaluate<number>(`Array.from({ length: 60 }, (_, index) => {
      document.body.style.width = 300 + 2 * index + 'px';
      return [...document.querySelectorAll('code')].filter((code) => code.getClientRects().length > 1).length;
    }).reduce((sum, count) => sum + count)`);
    expect(divided).toBe(0);
  });

  test('shows the whole response on a phone, with nothing over it', async () => {
    const documentation = await openPage({ viewport: PHONE });
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

  test.each([true, false])(
    'has no button without its scripts, where JavaScript is enabled: %p',
    async (javaScriptEnabled) => {
      const { page, open } = await openPage({ javaScriptEnabled });
      await page.route('**/*.js', (route) => route.abort());
      await open(origin());
      expect(await page.getByRole('link', { name: '/api/private-scoped' }).isVisible()).toBe(true);
      expect(await page.getByRole('button').count()).toBe(0);
      expect(await page.locator('noscript p').isVisible()).toBe(!javaScriptEnabled);
    },
  );

  test('says that the server did not respond, in its own words', async () => {
    const documentation = await openPage();
    await documentation.page.context().setOffline(true);
    await documentation.page.getByRole('button', { name: 'Send request GET /api/public' }).click();
    await documentation
      .response('/api/public')
      .getByText(/^The server did not respond. Is it still running\?$/)
      .waitFor();
  });

  test('shows the claims of the token in use and when it expires, and says when a reload has removed it', async () => {
    const documentation = await openPage();
    const { page } = documentation;
    await page.clock.install();
    await documentation.open(origin());
    const panel = page.getByRole('region', { name: 'Access token' });
    await documentation.authorizeAs(/reader/);
    await panel.getByText('expires in 60 minutes').waitFor();
    await panel.getByText('Claims').click();
    const { exp, ...claims } = JSON.parse((await panel.locator('pre').textContent()) ?? '');
    expect(claims).toMatchObject({ iss: fixture().issuer, sub: 'reader', scope: 'read:messages' });
    for (const [time, text] of [
      ['59:00', 'expires in 1 minute'],
      ['01:00', 'expired'],
    ] as const) {
      await page.clock.fastForward(time);
      await panel.getByText(text).waitFor();
    }
    await page.reload();
    await panel.getByText('The token is gone, because this page was reloaded.').waitFor();
    await documentation.authorizeAs(/reader/);
    await page.getByRole('button', { name: 'Remove token' }).click();
    await page.reload();
    await panel.getByText('No access token.').waitFor();
  });

  test('marks what it received with another token, until the next request', async () => {
    const documentation = await openPage();
    const isMarked = () =>
      documentation.page.evaluate<boolean[]>(`[...document.querySelectorAll('.response .status')].map(
        (status) => getComputedStyle(status, '::after').content.includes('before the token changed'))`);
    await documentation.statuses();
    expect(await isMarked()).toEqual([false, false, false]);
    await documentation.authorizeAs(/visitor/);
    expect(await isMarked()).toEqual([false, true, true]);
    await documentation.send('/api/private');
    expect(await isMarked()).toEqual([false, false, true]);
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
  { dpop: 'on', form: sourceForm },
  { dpop: 'required', form: sourceForm },
])('the documentation page of $form.name with DPOP=$dpop', ({ dpop, form }) => {
  const fixture = developmentFixtureFor(form, { DPOP: dpop });
  const openPage = browserForTests(() => new URL(fixture().issuer).origin);

  test('contacts no other host, shows whose token it has, sends it, and copies a command that is accepted', async () => {
    const documentation = await openPage({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = documentation;
    const { origin } = new URL(fixture().issuer);
    expect(await documentation.statuses()).toEqual(['200', '401', '401']);
    await documentation.authorizeAs(/reader/);
    const state = await page.getByRole('region', { name: 'Access token' }).locator('p').textContent();
    const bound = dpop === 'off' ? '' : ' · bound to a key (DPoP)';
    expect(state).toBe(`Access token of reader · scope read:messages${bound} · expires in 60 minutes`);
    for (const _ of ['first', 'again']) expect(await documentation.statuses()).toEqual(['200', '200', '200']);

    const article = documentation.article('/api/private-scoped');
    await article.getByRole('button', { name: 'Copy as curl' }).click();
    await article.getByText('Copied').waitFor();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(command).toStartWith(`curl -i '${new URL('/api/private-scoped', fixture().issuer)}' \\\n`);
    const headers = [...command.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]);
    expect(headers.map(([name]) => name)).toEqual(dpop === 'off' ? ['Authorization'] : ['Authorization', 'DPoP']);
    // The token and the proof are shown once, shortened.
    const shown = headers.map(([, value = '']) => value.replace(/(\S{12})\S{12,}(\S{6})/, '$1…$2'));
    expect((await article.textContent())?.match(/(?:(?:Bearer|DPoP) )?ey[\w-]+…[\w-]+/g)?.length).toBe(shown.length);
    expect(await article.textContent()).toContain(shown[0] ?? '');
    const send = async () => (await fixture().service.fetch('/api/private-scoped', { headers })).status;
    expect([await send(), await send()]).toEqual([200, dpop === 'off' ? 200 : 401]);
    const elsewhere = documentation.requested.filter((url) => !url.startsWith(origin) && !url.startsWith('data:'));
    expect({ elsewhere, complaints: documentation.complaints }).toEqual({ elsewhere: [], complaints: [] });
  });

  if (dpop === 'off') return;
  test('repeats a request once with the nonce that a server wants in its proof', async () => {
    const documentation = await openPage();
    const sent: unknown[] = [];
    await documentation.page.route(/\/(oauth\/token|api\/private)$/, async (route) => {
      const { dpop: proof = '' } = route.request().headers();
      const { nonce } = JSON.parse(String(Buffer.from(proof.split('.')[1] ?? '', 'base64url')));
      sent.push(nonce);
      // Another nonce after each response.
      const headers = { 'DPoP-Nonce': String(sent.length) };
      if (nonce === String(sent.length - 1)) return route.fulfill({ response: await route.fetch(), headers });
      return route.fulfill({ status: 401, headers });
    });
    await documentation.authorizeAs(/reader/);
    expect(await documentation.send('/api/private')).toStartWith('200');
    expect(sent).toEqual([undefined, '1', '2']);
  });
});

describe('the documentation page with an issuer elsewhere', async () => {
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
  const openPage = browserForTests(() => service.origin);

  const credentials = { 'Client ID': 'closed', 'Client secret': 'secret' };
  const opaque = 'not a JWT, so its claims are unknown';
  const tokenOf = (claims: object) => ({
    'Access token': `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.e30`,
  });
  const header = { 'Access token': ' authorization:\n Bearer e30.\n e30.e30\n' };
  const endless = { sub: 'ada', exp: 1e300, scope: 'read write' };
  const own = 'your own';
  test.each([
    ['explains a failed fetch', 'a client', credentials, 'Cannot reach'],
    ['takes a token', own, { 'Access token': ' Bearer e30.e30.e30\n' }, 'Access token · no scopes'],
    ['takes a header with line breaks', own, header, 'Access token · no scopes'],
    ['takes an opaque token', own, { 'Access token': 'opaque' }, opaque],
    ['rejects white space', own, { 'Access token': ' \n' }, 'Paste an access token.'],
    ['rejects a header without a token', own, { 'Access token': 'Bearer ' }, 'Paste an access token.'],
    ['rejects what no header can contain', own, { 'Access token': 'tökén' }, 'An access token contains only ASCII'],
    ['says that a token is expired', own, tokenOf({ exp: 0 }), 'Access token · no scopes · expired'],
    ['counts in hours', own, tokenOf({ exp: Date.now() / 1000 + 10_800 }), 'expires in 3 hours'],
    ['shows no expiry that is not a date', own, tokenOf(endless), 'Access token of ada · scopes read write'],
    ['shows objects as JSON', own, tokenOf({ sub: { a: 1 }, exp: 'never' }), 'of {"a":1} · no scopes'],
  ])('%s', async (_name, way, fields, text) => {
    const documentation = await openPage();
    await documentation.useToken(way, fields);
    await documentation.page.locator('#token p, [role="alert"]').filter({ visible: true, hasText: text }).waitFor();
  });

  test('isolates the writing direction of foreign text', async () => {
    const documentation = await openPage();
    await documentation.useToken(own, tokenOf({ sub: '\u202eada', scope: ['read', 'write'] }));
    const isolated = documentation.page.locator('#token bdi');
    expect(await isolated.allTextContents()).toEqual(['\u202eada', 'read', 'write']);
  });

  test('gets a token with the form of the specification', async () => {
    const documentation = await openPage();
    await documentation.choose('a client');
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
    await documentation.useToken(own, { 'Access token': ' Bearer not-a-jwt\n' });
    expect(await documentation.send('/api/private')).toContain('Token is opaque, not a JWT');
    await documentation.page.getByRole('button', { name: 'Remove token' }).click();
    expect(await documentation.send('/api/private')).toContain('authorization_header_missing');
  });

  test('works behind a gateway that adds a path', async () => {
    await using gateway = serve(({ url, headers }) =>
      service.fetch(new URL(url).pathname.replace('/base/', '/'), { headers }),
    );
    const documentation = await openPage();
    await documentation.open(`${gateway.url.origin}/base`);
    expect(await documentation.statuses()).toEqual(['200', '401', '401']);
    expect(documentation.complaints).toEqual([]);
    await documentation.page.goto(`${gateway.url.origin}/base/`);
    expect(documentation.page.url()).toBe(`${gateway.url.origin}/base/openapi`);
  });
});
