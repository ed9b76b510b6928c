import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { ISSUERS } from './forms.ts';
import { PAGE, renderPage } from './page.ts';

test('docs/issuers.md is what the table of forms renders: bun tests/issuers/page.ts writes it', async () => {
  expect(await Bun.file(PAGE).text()).toBe(renderPage());
});

test('each issuer in the README has settings of a row that is accepted', async () => {
  const readme = await Bun.file(join(import.meta.dir, '../../README.md')).text();
  const rows = readme.split('\n').filter((line) => /^\|.*`ISSUER=.*`AUDIENCE=/.test(line));
  expect(rows.length).toBeGreaterThan(2);
  for (const row of rows) {
    const [, name = '', settings = ''] = row.split('|').map((cell) => cell.trim());
    const pasted = Object.fromEntries(
      [...settings.matchAll(/`([A-Z_]+)=([^`]*)`/g)].map(([, key, value]) => [key, value]),
    );
    const accepted = ISSUERS.find((issuer) => issuer.name === name)?.forms.filter(({ outcome }) => outcome === 'scope');
    expect(
      accepted?.map((form) => form.settings),
      name,
    ).toContainEqual(pasted);
  }
});
