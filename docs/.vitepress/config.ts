import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineConfig, type HeadConfig } from 'vitepress';
import manifest from '../../src/auth/package.json' with { type: 'json' };
import probe from '../../src/probe/package.json' with { type: 'json' };
import { checkAnchors } from './anchors.ts';
import { withContentPolicy } from './content-policy.ts';
import * as written from './pages.ts';

const { onGitHub, repository, sections, site, slogan, titleOf } = written;
const base = new URL(site).pathname;
/** TypeDoc has written a page for each door. */
const reference = {
  Reference: Object.keys(manifest.exports)
    .filter((door) => door !== './package.json')
    .map((door) => `reference/${door.replace(/^\.\/?/, '') || manifest.name}`)
    .concat(`reference/${probe.name}`),
};

const sidebar = Object.entries({ ...sections, ...reference }).map(([text, pages]) => ({
  text,
  items: pages.map((page) => ({
    text: page === 'index' ? 'Overview' : titleOf(page),
    link: `/${page.replace(/index$/, '')}`,
  })),
  // Long sections are closed until one of their pages is open.
  ...(/Issuers|Migration|Reference/.test(text) && { collapsed: true }),
}));

export default defineConfig({
  title: 'Protected API',
  description: slogan,
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
  sitemap: { hostname: site },
  transformPageData: ({ relativePath }) => ({
    description: written.descriptionOf(relativePath.replace(/\.md$/, '')) ?? slogan,
  }),
  transformHead({ pageData, title, description }) {
    const url = site + pageData.relativePath.replace(/(?:(^|\/)index)?\.md$/, '$1');
    const properties = { type: 'website', title, description, url, image: `${site}card.png`, 'image:alt': slogan };
    return [
      ['link', { rel: 'canonical', href: url }],
      ['meta', { name: 'twitter:card', content: 'summary_large_image' }],
      ...Object.entries(properties).map(([name, content]): HeadConfig => ['meta', { property: `og:${name}`, content }]),
    ];
  },
  transformHtml: (html, file) => (file.endsWith('/explain.html') ? withContentPolicy(html) : undefined),
  head: [
    ['link', { rel: 'icon', href: `${base}icon.svg` }],
    ['style', {}, readFileSync(join(import.meta.dirname, 'layout.css'), 'utf8')],
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
        state.src = written.withTabs(state.src);
      });
      // Braces in code are text, not templates of Vue. Long names break between their words first.
      md.renderer.rules.code_inline = (tokens, index) => {
        const text = md.utils.escapeHtml(tokens[index]?.content ?? '');
        return `<code v-pre>${text.replaceAll(/[_,](?=\w)|(?<=\w)\/(?=\w)|(?<=[a-z])(?=[A-Z])/g, '$&<wbr>')}</code>`;
      };
      // Says which blocks are not whole files.
      const { fence } = md.renderer.rules;
      md.renderer.rules.fence = (...given) => {
        const [tokens, index] = given;
        const html = fence?.(...given) ?? '';
        return tokens[index]?.info === 'ts fragment' ? html.replace('"lang">ts<', '"lang">fragment<') : html;
      };
      // On a phone, the name of a column stands in each of its cells.
      md.core.ruler.push('labels-of-cells', ({ tokens }) => {
        let head: string[] = [];
        let column = 0;
        for (const [index, token] of tokens.entries()) {
          if (token.type === 'thead_open') head = [];
          if (token.type === 'tr_open') column = 0;
          if (token.type === 'th_open') head.push(tokens[index + 1]?.content.replaceAll('`', '') ?? '');
          if (token.type === 'td_open') token.attrSet('data-label', head[column++] ?? '');
        }
      });
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
    checkAnchors(outDir, base, pages);
    await writeFile(join(outDir, 'llms.txt'), written.llmsText(site, reference));
    for (const page of pages) await writeFile(join(outDir, page), written.standalone(page.replace(/\.md$/, '')));
  },
});
