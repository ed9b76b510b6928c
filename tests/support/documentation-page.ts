import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { BROWSER_TIMEOUT_MS, launchChromium } from './browser.ts';
import { type Credentials, embeddedBenchFor } from './embedded-issuer.ts';
import type { Form } from './forms.ts';
import { SCOPE } from './mint.ts';

const ENDPOINTS = ['/api/public', '/api/private', '/api/private-scoped'];

/** The page as a person uses it. */
class Documentation {
  /** Every address that was asked for, and everything that the browser complained of. */
  readonly asked: string[] = [];
  readonly complaints: string[] = [];

  constructor(readonly page: Page) {
    page.on('request', (request) => this.asked.push(request.url()));
    page.on('websocket', (socket) => this.asked.push(socket.url()));
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (message) => {
      // A 401 or a 403 is what was asked for.
      const isRefusal = /the server responded with a status of 40[13]/.test(message.text());
      if (['error', 'warning'].includes(message.type()) && !isRefusal) this.complaints.push(message.text());
    });
  }

  async open(origin: string): Promise<void> {
    await this.page.goto(`${origin}/openapi`);
    await this.page.getByRole('heading', { name: 'Protected API' }).waitFor();
    await this.endpoint('/api/public').waitFor();
  }

  endpoint(path: string): Locator {
    return this.page.locator('.opblock').filter({ has: this.page.locator(`[data-path="${path}"]`) });
  }

  /** Presses Execute at an endpoint, and returns what is then shown of the answer. */
  async execute(path: string): Promise<{ status: string; text: string }> {
    const endpoint = this.endpoint(path);
    const button = endpoint.getByRole('button', { name: 'Execute' });
    if (!(await button.isVisible())) await endpoint.locator('.opblock-summary-control').click();
    let isAnswered = false;
    const answered = this.page
      .waitForResponse((response) => response.url().endsWith(path))
      .then(() => {
        isAnswered = true;
      });
    // An endpoint that has just been opened may be drawn once more under the pointer, which then presses nothing.
    while (!isAnswered) {
      await button.click();
      await Promise.race([answered, this.page.waitForTimeout(2000)]);
    }
    const answer = endpoint.locator('.live-responses-table tr.response');
    await endpoint.locator('.loading-container').waitFor({ state: 'detached' });
    return {
      status: (await answer.locator('.response-col_status').textContent()) ?? '',
      text: (await answer.locator('.response-col_description').textContent()) ?? '',
    };
  }

  async statuses(): Promise<string[]> {
    const statuses: string[] = [];
    for (const path of ENDPOINTS) statuses.push((await this.execute(path)).status);
    return statuses;
  }

  /** Gets a token, as the client that is filled in unless another is given. */
  async authorize({ client, withScope }: { client?: Credentials; withScope: boolean }): Promise<void> {
    const { page } = this;
    await page.locator('.scheme-container').getByRole('button', { name: 'Authorize' }).click();
    const dialog = page.locator('.dialog-ux');
    if (client) {
      await dialog.getByLabel('client_id').fill(client.clientId);
      await dialog.getByLabel('client_secret').fill(client.clientSecret);
    }
    const isTicked = await dialog.locator(`input[data-value="${SCOPE}"]`).isChecked();
    if (isTicked !== withScope) await dialog.locator('.checkbox label').click();
    await dialog.getByRole('button', { name: 'Apply given OAuth2 credentials' }).click();
    await dialog.getByRole('button', { name: 'Remove authorization' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).first().click();
  }
}

/** Tests that a person can read the page of this form of the service and try the endpoints on it, and that it stays at home. */
export function describeDocumentationPage(form: Form): void {
  describe(`the documentation page of ${form.name} in Chromium`, () => {
    const bench = embeddedBenchFor(form);
    let browser: Browser;
    beforeAll(async () => {
      browser = await launchChromium();
    }, BROWSER_TIMEOUT_MS);
    afterAll(() => browser?.close());

    /** A test with the page open in a profile of its own. It fails on any request to another host and on any complaint. */
    const testOnPage = (name: string, use: (documentation: Documentation) => Promise<void>, width = 1280) =>
      test(
        name,
        async () => {
          const context = await browser.newContext({ viewport: { width, height: 844 } });
          // Below the test's own bound, so that it is told what was waited for.
          context.setDefaultTimeout(BROWSER_TIMEOUT_MS / 3);
          const { origin } = new URL(bench().issuer);
          const documentation = new Documentation(await context.newPage());
          await documentation.open(origin);
          await use(documentation);
          await context.close();
          const elsewhere = documentation.asked.filter(
            (url) => new URL(url).origin !== origin && !url.startsWith('data:'),
          );
          expect(elsewhere).toEqual([]);
          expect(documentation.complaints).toEqual([]);
        },
        BROWSER_TIMEOUT_MS,
      );

    testOnPage('shows what it is of and the three endpoints in order, and no empty section', async ({ page }) => {
      expect(await page.title()).toBe('Protected API');
      const paths = await page.locator('.opblock-summary-path').allTextContents();
      expect(paths).toEqual(ENDPOINTS);
      for (const summary of await page.locator('.opblock-summary-control').all()) await summary.click();
      for (const empty of ['No parameters', 'No links', 'No operations', 'Models', 'Schemas'])
        expect(await page.getByText(empty).filter({ visible: true }).count(), empty).toBe(0);
      expect(await page.locator('.info').textContent()).toContain(bench().audience);
    });

    testOnPage('shows 200 and twice 401 to who has no token', async (documentation) => {
      expect(await documentation.statuses()).toEqual(['200', '401', '401']);
      expect((await documentation.execute('/api/private')).text).toContain('authorization_header_missing');
    });

    testOnPage('shows 200 three times to who got a token with what is filled in', async (documentation) => {
      await documentation.authorize({ withScope: true });
      expect(await documentation.statuses()).toEqual(['200', '200', '200']);
      expect((await documentation.execute('/api/private-scoped')).text).toContain('have a scope of read:messages');
    });

    testOnPage('shows a 403 to who leaves the scope out', async (documentation) => {
      await documentation.authorize({ withScope: false });
      expect(await documentation.statuses()).toEqual(['200', '200', '403']);
      expect((await documentation.execute('/api/private-scoped')).text).toContain('insufficient_scope');
    });

    testOnPage('shows a 403 to the client that may not have the scope', async (documentation) => {
      await documentation.authorize({ client: bench().visitor, withScope: false });
      expect(await documentation.statuses()).toEqual(['200', '200', '403']);
    });

    testOnPage('can be reached from the page at /', async ({ page }) => {
      await page.goto(new URL('/', bench().issuer).href);
      await page.getByRole('link', { name: 'Read and try it' }).click();
      await page.getByRole('heading', { name: 'Protected API' }).waitFor();
      expect(page.url()).toBe(`${bench().issuer}openapi`);
    });

    testOnPage(
      'fits a phone, where it works as well',
      async (documentation) => {
        await documentation.authorize({ withScope: true });
        expect((await documentation.execute('/api/private-scoped')).status).toBe('200');
        const { page } = documentation;
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
      },
      390,
    );
  });
}
