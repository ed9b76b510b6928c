import { afterEach } from 'bun:test';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { startedFor } from './fixture.ts';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/** Starts a Chromium that sends no requests of its own. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? names.map((name) => Bun.which(name)).find((path) => path !== null);
  if (!executablePath) throw new Error('No Chromium found: install it, or set CHROMIUM to its path');
  // Each name look-up fails, so no test waits for a resolver.
  const args = ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1', '--disable-quic'];
  return chromium.launch({ executablePath, args });
}

export const ENDPOINTS = ['/api/public', '/api/private', '/api/private-scoped'];

export class Documentation {
  /** All requested URLs, and all errors that the browser reported. */
  readonly requested: string[] = [];
  readonly complaints: string[] = [];
  readonly dialog: Locator;

  constructor(readonly page: Page) {
    this.dialog = page.getByRole('dialog', { name: 'Use a token' });
    page.on('request', (request) => this.requested.push(request.url()));
    page.on('websocket', (socket) => this.requested.push(socket.url()));
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (message) => {
      // A 401 or a 403 is expected. Chromium reports a changed network when containers start on the same machine.
      const isExpected = /a status of 40[13]|net::ERR_NETWORK_CHANGED/.test(message.text());
      if (['error', 'warning'].includes(message.type()) && !isExpected) this.complaints.push(message.text());
    });
  }

  open = (origin: string) => this.page.goto(`${origin}/openapi`);
  response = (path: string) => this.page.getByRole('status', { name: `Response to GET ${path}`, exact: true });
  article = (path: string) => this.page.getByRole('article', { name: `GET ${path}`, exact: true });
  /** The button in the response of an endpoint. */
  useTokenIn = (path: string) => this.article(path).getByRole('button', { name: /^Use a token/ });
  submit = () => this.dialog.getByRole('button', { name: 'Use token' }).click();

  async send(path: string): Promise<string> {
    const received = this.page.waitForResponse((response) => response.url().endsWith(path));
    await this.page.getByRole('button', { name: `Send request GET ${path}`, exact: true }).click();
    const status = String((await received).status());
    await this.response(path).getByText(status).first().waitFor();
    return (await this.response(path).textContent()) ?? '';
  }

  async statuses(): Promise<string[]> {
    const statuses: string[] = [];
    for (const path of ENDPOINTS) statuses.push((await this.send(path)).slice(0, 3));
    return statuses;
  }

  /** Opens the dialog and selects whose token to use. */
  async choose(way: string | RegExp): Promise<void> {
    await this.page.getByRole('banner').getByRole('button', { name: /^Use/ }).click();
    await this.dialog.getByRole('radio', { name: way }).check();
  }

  /** Fills in the fields of the dialog by their labels, and submits it. */
  async fill(fields: Readonly<Record<string, string>>): Promise<void> {
    for (const [label, value] of Object.entries(fields)) await this.dialog.getByLabel(label).last().fill(value);
    await this.submit();
  }

  async useToken(way: string | RegExp, fields: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.choose(way);
    await this.fill(fields);
  }

  async authorizeAs(way: RegExp): Promise<void> {
    await this.useToken(way);
    await this.dialog.waitFor({ state: 'hidden' });
  }
}

const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];

/**
 * Returns the faults that axe finds in this part of the displayed page, and how much wider than the screen the page is.
 */
export async function faultsOf(page: Page, when: string, part = 'html'): Promise<string[]> {
  await page.evaluate(axe.source);
  const run = `axe.run('${part}', { runOnly: ${JSON.stringify(LEVELS)} })`;
  const { violations } = await page.evaluate<axe.AxeResults>(run);
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  return [
    ...violations.map(({ id, nodes }) => `${when}: ${id} ${nodes[0]?.html}`),
    ...(overflow > 0 ? [`${when}: ${overflow}px too wide`] : []),
  ];
}

/**
 * Starts a browser before the tests of the enclosing describe() and returns a function that opens pages in profiles of
 * their own, with the documentation at `originOf()` if there is one.
 */
export function browserForTests(originOf?: () => string) {
  const browser = startedFor(launchChromium, (launched) => launched.close());
  afterEach(async () => {
    for (const context of browser().contexts()) await context.close();
  });

  return async (options: BrowserContextOptions = {}): Promise<Documentation> => {
    const context = await browser().newContext({ viewport: { width: 1280, height: 844 }, ...options });
    // Below the bound of a test, so that the failure says what was waited for.
    context.setDefaultTimeout(100_000);
    const documentation = new Documentation(await context.newPage());
    if (originOf) await documentation.open(originOf());
    return documentation;
  };
}
