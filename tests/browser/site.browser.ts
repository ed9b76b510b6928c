import { describe, expect, test } from 'bun:test';
import { browserForTests, faultsOf } from '../support/documentation-page.ts';
import { isNight } from '../support/node-versions.ts';
import { base, serveSite, sitePages } from '../support/site.ts';

/** Run in the page: what a reader would have to scroll sideways for. */
const hidden = `[...document.querySelectorAll('.vp-doc pre, .vp-doc table, html')]
  .filter((node) => node.localName !== 'pre' || innerWidth >= 640)
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
  .map(({ localName, textContent }) => localName + ': ' + textContent.trim().slice(0, 60))`;

/** Run in the page: words of code and shell commands that fit on a line, and yet break at a hyphen. */
const split = `[...document.querySelectorAll('.vp-doc pre .line :not(:has(*))')].flatMap((token) =>
  [...token.textContent.matchAll(/(?<![^\\s'"])-*\\w+(?:-\\w+)+(?![^\\s'"])/g)].filter(({ 0: word, index }) => {
    const range = document.createRange();
    range.setStart(token.firstChild, index);
    range.setEnd(token.firstChild, index + word.length);
    return word.length < 25 && new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
  }).map(([word]) => 'split: ' + word))`;

/** Run in the page: cells that are higher than their row or empty in a list, and words that break in their middle. */
const broken = `[...document.querySelectorAll('.vp-doc :is(td, th)')].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const words = cell.scrollHeight > cell.clientHeight + 2 ? ['overflow: ' + cell.textContent.slice(0, 60)] : [];
  if (cell.matches('.as-list td:empty') && cell.clientHeight > 0) words.push('empty: ' + cell.dataset.label);
  while (texts.nextNode())
    for (const { 0: word, index } of texts.currentNode.data.matchAll(/[\\p{L}\\d,.]{2,12}(?![\\p{L}\\d])/gu)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      const lines = new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top)));
      if (lines.size > 1 && !texts.currentNode.parentElement.closest('a, code')) words.push(word + ': ' + cell.textContent.slice(0, 60));
    }
  return words;
})`;

test('every page of the site has a description of its own, and a picture', async () => {
  await using site = serveSite();
  const described = new Set<string>();
  for (const path of sitePages) {
    const html = await (await fetch(new URL(path, site.url))).text();
    const [, description = ''] = /<meta name="description" content="([^"]*)"/.exec(html) ?? [];
    // The reference has one for all of its pages.
    expect(description.length, path).toBeWithin(30, 260);
    if (!path.includes('/reference/')) expect(described, path).not.toContain(description);
    described.add(description);
    const [, picture = ''] = /<meta property="og:image" content="https:\/\/[^/]*([^"]*)"/.exec(html) ?? [];
    expect((await fetch(new URL(picture, site.url))).status, path).toBe(200);
  }
});

test('llms.txt of the site names pages that exist, as Markdown', async () => {
  await using site = serveSite();
  const list = await (await fetch(new URL(`${base}llms.txt`, site.url))).text();
  const named = Array.from(list.matchAll(/\]\(https:\/\/[^/]*([^)]*)\)/g), ([, path = '']) => path);
  expect(named.length).toBeGreaterThan(60);
  for (const path of named) expect(await (await fetch(new URL(path, site.url))).text(), path).toStartWith('# ');
});

const openWide = browserForTests();

describe('tabs', () => {
  test('show the next block at an arrow key, and where the focus is', async () => {
    await using site = serveSite();
    const { page } = await openWide();
    await page.goto(new URL(`${base}start/hono`, site.url).href, { waitUntil: 'networkidle' });
    const group = page.locator('.vp-code-group').last();
    await group.locator('input').first().focus();
    await page.keyboard.press('ArrowRight');
    expect(await group.locator('.active').textContent()).toContain('node server.ts');
    const label = `document.querySelector('.vp-code-group input:focus + label')`;
    const outline = await page.evaluate<string>(`getComputedStyle(${label}).outlineStyle`);
    expect(outline).toBe('solid');
  });

  test.each([
    ['on paper', { javaScriptEnabled: true }, 'print'],
    ['without scripts', { javaScriptEnabled: false }, 'screen'],
  ] as const)('show all blocks and no button %s', async (_, options, media) => {
    await using site = serveSite();
    const { page } = await openWide(options);
    await page.emulateMedia({ media });
    await page.goto(new URL(`${base}start/hono`, site.url).href);
    const blocks = await page.locator('.vp-code-group pre').all();
    expect(await Promise.all(blocks.map((block) => block.isVisible()))).not.toContain(false);
    expect(await page.locator('.vp-doc button:visible').count()).toBe(0);
  });
});

describe('pictures', () => {
  const open = browserForTests();

  /** Returns the lightness of the picture's own background, from 0 to 255. */
  const lightness = (
    screenshot: string,
  ) => `createImageBitmap(new Blob([Uint8Array.fromBase64('${screenshot}')])).then((image) => {
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
    context.drawImage(image, 0, 0);
    return context.getImageData(image.width / 2, 3, 1, 1).data[0];
  })`;

  test.each([
    ['dark', 'light', 32],
    ['light', 'dark', 245],
  ] as const)('follow a site that is switched to %s on a system that is %s', async (site, system, expected) => {
    await using served = serveSite();
    const { page } = await open({ colorScheme: system });
    await page.addInitScript(`localStorage.setItem('vitepress-theme-appearance', '${site}')`);
    await page.goto(new URL(`${base}guides/dpop`, served.url).href);
    const screenshot = await page.locator('.vp-doc img').screenshot();
    expect(await page.evaluate<number>(lightness(screenshot.toString('base64')))).toBe(expected);
  });
});

test('the URL of a page with a slash at its end leads to the page', async () => {
  await using site = serveSite();
  const { page } = await openWide();
  await page.goto(new URL(`${base}start/hono/#_5-call-it`, site.url).href);
  await page.getByRole('heading', { name: 'Hono', level: 1 }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`${base}start/hono`);
});

test.each([
  ['issuers/clerk', 'issuers/login-services#clerk'],
  ['issuers/clerk#request-a-token', 'issuers/login-services#clerk'],
  ['start/mcp#_3-start-an-issuer-for-development', 'mcp/#_3-start-an-issuer-for-development'],
  ['guides/mcp#web-clients', 'mcp/connect#web-clients'],
])('the former URL %s leads to %s, and to the page without scripts', async (former, now) => {
  await using site = serveSite();
  // Without scripts, a section that is on another page than the rest is not found.
  for (const javaScriptEnabled of former === 'guides/mcp#web-clients' ? [true] : [true, false]) {
    const { page } = await openWide({ javaScriptEnabled });
    await page.goto(new URL(base + former, site.url).href);
    const [path = ''] = now.split('#');
    await page.waitForURL((url) => url.pathname === base + path);
    if (javaScriptEnabled) expect(page.url()).toEndWith(now);
  }
});

test('the sidebar shows the entry of the open page', async () => {
  await using site = serveSite();
  const { page } = await openWide();
  await page.goto(new URL(`${base}issuers/others`, site.url).href);
  const entry = page.locator('.VPSidebar .is-link.is-active');
  await page.waitForFunction(`document.querySelector('.VPSidebar').scrollTop > 0`);
  expect((await entry.boundingBox())?.y).toBeWithin(100, 800);
});

test.each(['light', 'dark'] as const)('pages are accessible, and their text has contrast: %s', async (colorScheme) => {
  await using site = serveSite();
  const { page } = await openWide({ colorScheme });
  for (const path of ['', 'start/hono', 'guides/errors', 'operations']) {
    await page.goto(new URL(base + path, site.url).href, { waitUntil: 'networkidle' });
    expect(await faultsOf(page, path, '.vp-doc')).toEqual([]);
  }
});

test('no table of a wide page breaks a word, lists an empty cell, or draws a cell over the next row', async () => {
  await using site = serveSite();
  const { page } = await openWide({ javaScriptEnabled: false });
  const found: Record<string, unknown> = {};
  for (const path of sitePages) {
    const url = new URL(path, site.url).href;
    // By day, the tables of prose and of numbers, not those of the reference and of most issuers.
    if (
      !isNight &&
      (/reference|issuers\/(?!entra)/.test(path) || !(await (await fetch(url)).text()).includes('<table'))
    )
      continue;
    await page.goto(url, { waitUntil: 'load' });
    const words = await page.evaluate<readonly string[]>(broken);
    if (words.length > 0) found[path] = words;
  }
  expect(found).toEqual({});
});

// In an outage, nobody reads a page that never ends. Fonts differ from machine to machine by some percent.
test.each(['deploy', 'operations', 'kubernetes'])(
  'the page for operators %s has about eight screens at most',
  async (name) => {
    await using site = serveSite();
    const height = 800;
    const { page } = await openWide({ viewport: { width: 1280, height }, javaScriptEnabled: false });
    await page.goto(new URL(base + name, site.url).href, { waitUntil: 'load' });
    const screens = (await page.evaluate<number>('document.documentElement.scrollHeight')) / height;
    expect(screens).toBeWithin(1, 8.4);
  },
);

// Where a narrow page hides nothing, a wide one has more room.
describe.each(isNight ? [390, 1280] : [390])('at %d pixels', (width) => {
  const open = browserForTests();

  test('no page of the site hides a part of a block or of a table, or breaks a word of code at a hyphen', async () => {
    expect(sitePages.length).toBeGreaterThan(60);
    await using site = serveSite();
    // Scripts do not change the layout, and take half of the time. The page with a form has a test of its own.
    const { page } = await open({ viewport: { width, height: 800 }, javaScriptEnabled: false });
    const found: Record<string, unknown> = {};
    for (const path of sitePages) {
      await page.goto(new URL(path, site.url).href, { waitUntil: 'load' });
      const wide = await page.evaluate<readonly string[]>(`[...${hidden}, ...${split}]`);
      if (wide.length > 0) found[path] = wide;
    }
    expect(found).toEqual({});
  });
});
