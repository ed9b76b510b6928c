import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Throws if a link on a page of the site leads to a heading that does not exist. VitePress itself checks the pages, but no headings. */
export function checkAnchors(outDir: string, base: string, pages: readonly string[]): void {
  const files = new Map(
    pages.map((page) => {
      const path = page.replace(/\.md$/, '');
      return [base + path.replace(/(^|\/)index$/, '$1'), readFileSync(join(outDir, `${path}.html`), 'utf8')];
    }),
  );
  const ids = new Map(
    Array.from(files, ([path, html]) => [path, new Set(Array.from(html.matchAll(/ id="([^"]+)"/g), ([, id]) => id))]),
  );
  const dead = Array.from(files).flatMap(([path, html]) =>
    Array.from(html.matchAll(/ href="([^"#]*)#([^"]+)"/g), ([, href = '', anchor = '']) => {
      const { origin, pathname } = new URL(href, `http://site${path}`);
      const isDead = origin === 'http://site' && !ids.get(pathname)?.has(decodeURIComponent(anchor));
      return isDead ? [`${path}: ${href}#${anchor}`] : [];
    }).flat(),
  );
  if (dead.length > 0) throw new Error(`Links lead to headings that do not exist:\n${dead.join('\n')}`);
}
