import { expect, test } from 'bun:test';
import { PAGE, renderPage } from './page.ts';

test('docs/issuers.md is what the table of forms renders: bun tests/issuers/page.ts writes it', async () => {
  expect(await Bun.file(PAGE).text()).toBe(renderPage());
});
