import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import axe from 'axe-core';
import { BROWSER_TIMEOUT_MS } from '../support/browser.ts';
import {
  browserForTests,
  type Documentation,
  describeDocumentationPage,
  ENDPOINTS,
} from '../support/documentation-page.ts';
import { embeddedFixtureFor } from '../support/embedded-issuer.ts';
import { executableForm, type Service, sourceForm } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { AUDIENCE } from '../support/mint.ts';

setDefaultTimeout(BROWSER_TIMEOUT_MS);
for (const form of [sourceForm, executableForm]) describeDocumentationPage(form);

const PHONE = { viewport: { width: 390, height: 844 } };
const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];

/** Returns what axe finds wrong with the page as it is shown now, and what is wider than the screen. */
async function faultsOf({ page }: Documentation, when: string): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run({ runOnly: ${JSON.stringify(LEVELS)} })`);
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  return [
    ...violations.map(({ id, nodes }) => `${when}: ${id} ${nodes[0]?.html}`),
    ...(overflow > 0 ? [`${when}: ${overflow}px too wide`] : []),
  ];
}

describe('the documentation page', () => {
  const fixture = embeddedFixtureFor(sourceForm);
  const openPage = browserForTests();
  const origin = () => new URL(fixture().issuer).origin;

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const viewport of [{ width: 1280, height: 844 }, PHONE.viewport]) {
      test(`is accessible at every step, ${colorScheme}, ${viewport.width} px wide`, async () => {
        const documentation = await openPage({ colorScheme, viewport });
        const { page, dialog } = documentation;
        const faults: string[] = [];
        const check = async (when: string) => faults.push(...(await faultsOf(documentation, when)));
        await page.goto(origin());
        await check('home');
        await documentation.open(origin());
        await check('landing');
        await documentation.authorize.click();
        await check('dialog');
        await dialog.getByRole('radio', { name: 'Paste a token' }).check();
        await check('paste');
        await dialog.getByRole('radio', { name: 'Another client' }).check();
        await dialog.getByLabel('Client ID').fill('reader');
        await dialog.getByLabel('Client secret').fill('wrong');
        await documentation.submit();
        await dialog.getByRole('alert').getByText('401').waitFor();
        await check('wrong secret');
        await dialog.getByRole('radio', { name: /visitor/ }).check();
        await documentation.submit();
        expect(await documentation.statuses()).toEqual(['200', '200', '403']);
        for (const details of await page.getByText('Responses', { exact: false }).all()) await details.click();
        await check('answers');
        expect(faults).toEqual([]);
        await page.context().close();
      });
    }
  }

  test('can be used with the keyboard alone', async () => {
    const documentation = await openPage();
    const { page, dialog } = documentation;
    const { keyboard } = page;
    const tabTo = async (name: RegExp) => {
      for (let presses = 0; presses < 30; presses += 1) {
        await keyboard.press('Tab');
        if (name.test(await page.evaluate<string>('document.activeElement.textContent'))) return;
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    const isFocused = (selector: string) => page.evaluate<boolean>(`document.activeElement.matches('${selector}')`);
    const sendScoped = async (status: string) => {
      await tabTo(/^Send request GET \/api\/private-scoped$/);
      await keyboard.press('Enter');
      await documentation.answer('/api/private-scoped').getByText(status).first().waitFor();
      await page.reload();
    };

    await documentation.open(origin());
    await sendScoped('401');

    await tabTo(/^Authorize$/);
    await keyboard.press('Enter');
    expect(await isFocused('dialog input:checked')).toBe(true);
    for (let presses = 0; presses < 12; presses += 1) {
      await keyboard.press('Tab');
      // The body stands for the browser's own controls, which are no part of the page.
      expect(await isFocused('dialog *, body')).toBe(true);
    }
    await keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await isFocused('#authorize')).toBe(true);

    await keyboard.press('Enter');
    await keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    expect(await isFocused('#authorize')).toBe(true);
    await sendScoped('200');

    await tabTo(/^Authorize$/);
    await keyboard.press('Enter');
    await keyboard.press('ArrowDown');
    await keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await keyboard.press('Enter');
    expect(await isFocused('input[value="visitor"]')).toBe(true);
    await keyboard.press('Escape');
    await sendScoped('403');
    await page.context().close();
  });

  test('shows the whole answer on a phone, with nothing over it', async () => {
    const documentation = await openPage(PHONE);
    await documentation.open(origin());
    await documentation.authorizeAs(/visitor/);
    for (const path of ENDPOINTS) {
      await documentation.send(path);
      const isSeen = await documentation.page.evaluate<boolean>(`{
        const answer = document.querySelector('.answer[aria-label$=" ${path}"]');
        const { left, right, top, bottom } = answer.getBoundingClientRect();
        const points = [[left + 1, top + 1], [right - 1, bottom - 1], [(left + right) / 2, (top + bottom) / 2]];
        points.every(([x, y]) => answer.contains(document.elementFromPoint(x, y)));
      }`);
      expect(isSeen, path).toBe(true);
    }
    await documentation.page.context().close();
  });

  test('reports a wrong secret once, without a password prompt', async () => {
    const documentation = await openPage();
    const { page, dialog } = documentation;
    const session = await page.context().newCDPSession(page);
    const prompts: string[] = [];
    session.on('Fetch.requestPaused', ({ requestId }) => void session.send('Fetch.continueRequest', { requestId }));
    session.on('Fetch.authRequired', ({ requestId, request }) => {
      prompts.push(request.url);
      void session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse: { response: 'CancelAuth' } });
    });
    await session.send('Fetch.enable', { handleAuthRequests: true });
    await documentation.open(origin());
    await documentation.choose('Another client');
    await dialog.getByLabel('Client ID').fill('reader');
    await dialog.getByLabel('Client secret').fill('wrong');
    await documentation.submit();
    await dialog.getByRole('alert').getByText('invalid_client').waitFor();
    expect((await page.content()).match(/invalid_client/g)).toHaveLength(1);
    expect(prompts).toEqual([]);
    await page.context().close();
  });

  test('is readable within 2 s and usable within 12 s at 50 kB/s, in the right colour scheme', async () => {
    const documentation = await openPage({ colorScheme: 'dark' });
    const { page } = documentation;
    const session = await page.context().newCDPSession(page);
    let bytes = 0;
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await session.send('Network.enable');
    const conditions = { offline: false, latency: 100, downloadThroughput: 50_000, uploadThroughput: 50_000 };
    await session.send('Network.emulateNetworkConditions', conditions);
    await page.goto(`${origin()}/openapi`, { waitUntil: 'commit' });
    const painted = await page.waitForFunction(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    );
    const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    expect(await page.getByText('A sample API').isVisible()).toBe(true);
    expect(await painted.jsonValue()).toBeLessThan(2000);
    expect(background).toBe('rgb(20, 22, 27)');
    await documentation.authorizeAs(/reader/);
    expect(await documentation.send('/api/private-scoped')).toStartWith('200');
    expect(await page.evaluate<number>('performance.now()')).toBeLessThan(12_000);
    expect(bytes).toBeLessThan(60_000);
    await page.context().close();
  });
});

describe('the documentation page with an issuer elsewhere', () => {
  const openPage = browserForTests();
  const answers: Readonly<Record<string, () => Response>> = {
    good: () => Response.json({ access_token: 'e30.e30.e30', token_type: 'Bearer' }, { headers: allowed }),
    closed: () => Response.json({ access_token: 'e30.e30.e30', token_type: 'Bearer' }),
  };
  const allowed = { 'access-control-allow-origin': '*' };
  let issuer: Bun.Server<undefined>;
  let service: Service;
  let forms: URLSearchParams[];
  beforeAll(async () => {
    forms = [];
    issuer = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      routes: {
        '/oauth/token': async (request) => {
          const form = new URLSearchParams(await request.text());
          forms.push(form);
          return answers[form.get('client_id') ?? '']?.() ?? new Response(null, { status: 500 });
        },
      },
      fetch: () => new Response(null, { status: 404 }),
    });
    service = await inProcessForm.start({ ISSUER: issuer.url.href, AUDIENCE });
  });
  afterAll(async () => {
    await service?.close();
    await issuer?.stop(true);
  });

  const fill = async (documentation: Documentation, id: string) => {
    await documentation.open(service.origin);
    await documentation.choose('Client credentials');
    await documentation.dialog.getByLabel('Client ID').fill(id);
    await documentation.dialog.getByLabel('Client secret').fill('secret');
  };

  test('gets a token from it with the form of the specification', async () => {
    const documentation = await openPage();
    await fill(documentation, 'good');
    await documentation.dialog.getByRole('checkbox', { name: /read:messages/ }).uncheck();
    await documentation.submit();
    await documentation.page.getByText('Authorized as good, without scopes').waitFor();
    expect(Object.fromEntries(forms.at(-1) ?? [])).toEqual({
      grant_type: 'client_credentials',
      client_id: 'good',
      client_secret: 'secret',
      audience: AUDIENCE,
    });
    await documentation.page.context().close();
  });

  test('works behind a gateway that adds a path', async () => {
    await using gateway = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url, headers }) => service.fetch(new URL(url).pathname.replace('/base/', '/'), { headers }),
    });
    const documentation = await openPage();
    await documentation.open(`${gateway.url.origin}/base`);
    expect(await documentation.statuses()).toEqual(['200', '401', '401']);
    expect(documentation.complaints).toEqual([]);
    await documentation.page.context().close();
  });

  test('says what to do when it does not allow requests from the page', async () => {
    const documentation = await openPage();
    await fill(documentation, 'closed');
    await documentation.submit();
    await documentation.dialog.getByRole('alert').getByText('Cannot reach').waitFor();
    await documentation.page.context().close();
  });

  test('sends a pasted token', async () => {
    const documentation = await openPage();
    await documentation.open(service.origin);
    await documentation.choose('Paste a token');
    await documentation.dialog.getByLabel('Access token').last().fill(' Bearer not-a-jwt\n');
    await documentation.submit();
    expect(await documentation.send('/api/private')).toContain('Token is opaque, not a JWT');
    await documentation.page.getByRole('button', { name: 'Remove token' }).click();
    expect(await documentation.send('/api/private')).toContain('authorization_header_missing');
    await documentation.page.context().close();
  });
});
