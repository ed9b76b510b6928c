import { join } from 'node:path';
import { moved } from '../../docs/.vitepress/moved.ts';
import { serve } from './fixture.ts';
import { root } from './repository.ts';

export const dist = join(root, 'docs/.vitepress/dist');
export const base = '/protected-api/';

/** The paths of all pages of the site but those that only lead to another one, which `bun run docs:build` has built. */
export const sitePages = [...new Bun.Glob('**/*.html').scanSync(dist)]
  .filter((file) => file !== '404.html' && !(file.replace(/\.html$/, '') in moved))
  .map((file) => base + file.replace(/(?:index)?\.html$/, ''));

/** Serves the site as its host does: a page without its ending. */
export function serveSite() {
  return serve(async ({ url }) => {
    const path = new URL(url).pathname.slice(base.length);
    for (const name of [path, `${path}.html`, `${path}index.html`]) {
      const file = Bun.file(join(dist, name));
      if (name !== '' && (await file.exists())) return new Response(file);
    }
    return new Response(Bun.file(join(dist, '404.html')), { status: 404 });
  });
}
