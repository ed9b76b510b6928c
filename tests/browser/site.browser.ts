import { describe, expect, test } from 'bun:test';
import { browserForTests } from '../support/documentation-page.ts';
import { serveSite, sitePages } from '../support/site.ts';

/** Run in the page: what a reader would have to scroll sideways for. */
const hidden = `[...document.querySelectorAll('.vp-doc pre, .vp-doc table, html')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
  .map(({ localName, textContent }) => localName + ': ' + textContent.trim().slice(0, 60))`;

describe('the site', () => {
  const open = browserForTests();

  test('hides no part of a block or of a table, on a desktop and on a phone', async () => {
    expect(sitePages.length).toBeGreaterThan(70);
    await using site = serveSite();
    const { page } = await open();
    const found: Record<string, unknown> = {};
    for (const path of sitePages) {
      await page.goto(new URL(path, site.url).href, { waitUntil: 'domcontentloaded' });
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        const wide = await page.evaluate<readonly string[]>(hidden);
        if (wide.length > 0) found[`${path} ${width}`] = wide;
      }
    }
    expect(found).toEqual({});
  });
});
