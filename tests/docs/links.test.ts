import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pages, readText, root } from '../support/repository.ts';

/** Returns the anchors that GitHub gives to the headings of a page. */
const anchorsOf = (text: string) =>
  Array.from(text.toLowerCase().matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading.replace(/[^\w\s-]/g, '').replaceAll(' ', '-'),
  );

test.each(pages)('every relative link of %s has a target', async (page) => {
  const links = [...(await readText(page)).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link);
  const isBroken = async (link: string) => {
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && !anchorsOf(await readText(file)).includes(anchor);
  };
  const broken = await Promise.all(links.map(async (link) => ((await isBroken(link)) ? [link] : [])));
  expect(broken.flat()).toEqual([]);
});
