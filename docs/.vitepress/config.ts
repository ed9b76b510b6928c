import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineConfig, type HeadConfig } from 'vitepress';
import { checkAnchors } from './anchors.ts';
import { wrapLine } from './code.ts';
import { withContentPolicy } from './content-policy.ts';
import { configureMarkdown } from './markdown.ts';
import { writeRedirects } from './moved.ts';
import * as written from './pages.ts';
import { searchedHtml } from './search.ts';
import { reference, sidebars } from './sidebar.ts';

const { repository, sections, site, slogan } = written;
const base = new URL(site).pathname;
/** Leads from the URL of a page with a slash at its end to the page, unless the host has added the slash to a folder. */
const withoutSlash = `const { pathname, hash } = location;
if (/[^/]\\/$/.test(pathname) && !document.referrer.endsWith(pathname)) location.replace(pathname.slice(0, -1) + hash);`;

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
      alias: [
        { find: /^protected-api$/, replacement: join(import.meta.dirname, '../../src/auth/index.ts') },
        { find: /^protected-api\/(\w+)$/, replacement: join(import.meta.dirname, '../../src/auth/$1.ts') },
      ],
    },
    server: { fs: { allow: [join(import.meta.dirname, '../..')] } },
  },
  sitemap: { hostname: site },
  transformPageData: ({ relativePath }) => ({
    description: written.descriptionOf(relativePath.replace(/\.md$/, '')) ?? slogan,
    title: written.searchedTitleOf(relativePath.replace(/\.md$/, '')),
    ...(relativePath === 'index.md' && { frontmatter: { sidebar: false, aside: false, pageClass: 'home' } }),
    ...(relativePath.startsWith('reference/') && { frontmatter: { pageClass: 'reference' } }),
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
  transformHtml(html, file) {
    if (file.endsWith('/explain.html')) return withContentPolicy(html);
    // The host finds no page at a URL with a slash at its end.
    if (file.endsWith('/404.html')) return html.replace('<head>', `<head><script>${withoutSlash}</script>`);
    return undefined;
  },
  head: [
    ['link', { rel: 'icon', href: `${base}icon.svg` }],
    ['style', {}, readFileSync(join(import.meta.dirname, 'layout.css'), 'utf8')],
  ],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: written.slugify },
    config: configureMarkdown,
    codeTransformers: [{ line: wrapLine }],
  },
  themeConfig: {
    logo: '/icon.svg',
    nav: [
      { text: 'Guide', link: '/', activeMatch: '^/(?!reference)' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference' },
    ],
    sidebar: sidebars(),
    outline: [2, 3],
    // Pages end with what is next: the one below in the sidebar often is not.
    docFooter: { prev: false, next: false },
    search: {
      provider: 'local',
      options: {
        _render(source, env, md) {
          return searchedHtml(md.render(source, env), env.relativePath);
        },
      },
    },
    notFound: {
      title: 'Page not found',
      quote: 'The page may have another name now. Search for a word of it, or begin with the overview.',
      linkText: 'Overview',
      linkLabel: 'Open the overview',
    },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/docs/:path` },
  },
  /** Publishes the sources of the pages too, with a list of them for language models. */
  async buildEnd({ outDir, pages }) {
    checkAnchors(outDir, base, pages);
    await writeFile(join(outDir, 'llms.txt'), written.llmsText(site, { ...sections, ...reference }));
    await writeRedirects(outDir, base);
    for (const page of pages) await writeFile(join(outDir, page), written.withExamples(page.replace(/\.md$/, '')));
  },
});
