import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import manifest from '../../src/auth/package.json' with { type: 'json' };
import { withContentPolicy } from './content-policy.ts';
import { llmsText, onGitHub, repository, sections, standalone, titleOf, withTabs } from './pages.ts';

const base = '/protected-api/';
/** TypeDoc has written a page for each door. */
const reference = {
  Reference: Object.keys(manifest.exports)
    .filter((door) => door !== './package.json')
    .map((door) => `reference/${door.replace(/^\.\/?/, '') || manifest.name}`),
};

const sidebar = Object.entries({ ...sections, ...reference }).map(([text, pages]) => ({
  text,
  items: pages.map((page) => ({ text: titleOf(page), link: `/${page.replace(/index$/, '')}` })),
  // Long sections are closed until one of their pages is open.
  ...(/Issuers|Migration|Reference/.test(text) && { collapsed: true }),
}));

export default defineConfig({
  title: 'Protected API',
  description: 'Check OAuth 2.0 access tokens in any JavaScript server',
  base,
  cleanUrls: true,
  srcExclude: ['node_modules/**'],
  // The page that explains a token requests nothing but what its form needs.
  router: { prefetchLinks: false },
  vite: {
    resolve: {
      alias: [{ find: /^protected-api\/(\w+)$/, replacement: join(import.meta.dirname, '../../src/auth/$1.ts') }],
    },
    server: { fs: { allow: [join(import.meta.dirname, '../..')] } },
  },
  transformHtml: (html, file) => (file.endsWith('/explain.html') ? withContentPolicy(html) : undefined),
  head: [
    ['link', { rel: 'icon', href: `${base}icon.svg` }],
    // On a phone, a table is as wide as its text needs, and scrolls.
    ['style', {}, '.vp-doc td { vertical-align: top } .vp-doc td:last-child { min-width: 13rem }'],
  ],
  markdown: {
    // The anchors that GitHub gives to headings.
    anchor: {
      slugify: (heading) =>
        heading
          .toLowerCase()
          .replace(/[^\w\s-]/g, '')
          .replaceAll(' ', '-'),
    },
    config(md) {
      md.core.ruler.before('normalize', 'package-managers', (state) => {
        state.src = withTabs(state.src);
      });
      // Braces in code are text, not templates of Vue.
      md.renderer.rules.code_inline = (tokens, index) =>
        `<code v-pre>${md.utils.escapeHtml(tokens[index]?.content ?? '')}</code>`;
      md.core.ruler.push('links-to-repository', ({ tokens, env }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const href = token.type === 'link_open' && onGitHub(token.attrGet('href') ?? '', env.relativePath);
          if (href) token.attrSet('href', href);
        }
      });
    },
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/', activeMatch: '^/(?!reference)' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference' },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/docs/:path` },
  },
  /** Publishes the sources of the pages too, with a list of them for language models. */
  async buildEnd({ outDir, pages }) {
    await writeFile(join(outDir, 'llms.txt'), llmsText(`https://protected-api.github.io${base}`, reference));
    for (const page of pages) await writeFile(join(outDir, page), standalone(page.replace(/\.md$/, '')));
  },
});
