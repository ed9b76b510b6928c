import { expect, test } from 'bun:test';
import { moved } from '../../docs/.vitepress/moved.ts';
import { furtherItems, sections } from '../../docs/.vitepress/pages.ts';
import { reference } from '../../docs/.vitepress/sidebar.ts';
import { readText } from '../support/repository.ts';
import { anchorsOf } from './anchors.ts';
import { minutesOf, roles } from './reading.ts';

const written = Object.values(sections).flat();
const generated = ['reference/index', ...reference.Reference];

test('each page that the site has ever had is there, or leads to a page or a section that is', async () => {
  const published = (await readText('tests/docs/published-pages.txt')).trim().split('\n');
  expect(published.length).toBeGreaterThan(110);
  const isThere = (page: string) => written.includes(page) || generated.includes(page);
  expect(published.filter((page) => !isThere(page) && !(page in moved))).toEqual([]);
  for (const [from, to] of Object.entries(moved)) {
    const [page = '', anchor] = to.split('#');
    expect({ from, page, isThere: isThere(page), isFree: !isThere(from) }).toEqual({
      from,
      page,
      isThere: true,
      isFree: true,
    });
    if (anchor !== undefined)
      expect(anchorsOf(await readText(`docs/${page}.md`)), `${from} to ${page}`).toContain(anchor);
  }
});

test('there are at most 55 pages, and 60 links in the sidebar', () => {
  // The reference is generated, and has a sidebar of its own.
  expect(written.length).toBeLessThanOrEqual(55);
  expect(written.length + Object.values(furtherItems).flat().length).toBeLessThanOrEqual(60);
});

test.each(Object.entries(roles))('a %s reads for a few minutes', async (_, { minutes, pages }) => {
  expect(await minutesOf(pages)).toBeLessThanOrEqual(minutes);
});
