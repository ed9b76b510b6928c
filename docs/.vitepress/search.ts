import { titleOf } from './pages.ts';

/** What people type for a page whose title has it in another form. */
const otherWords: Readonly<Record<string, string>> = { 'start/nextjs': 'nextjs' };

/**
 * Returns what the search finds of a page. The first section of a page counts as saying its title many times, most of all in the pages
 * about a server, so that the name of a framework leads to its page, and the statuses of Troubleshooting likewise. Code is searched in
 * pages about a server only, because frameworks are named in it everywhere. Pages that name everything are found by their headings.
 * The weights are in the index, because the policy of the page Explain allows no function that comes with it.
 */
export function searchedHtml(html: string, path: string): string {
  const page = path.replace(/\.md$/, '');
  if (/^(?:reference\/|comparison)/.test(page)) return (html.match(/<h\d.*?<\/h\d>/gs) ?? []).join('\n');
  const text = page.startsWith('start/') ? html : html.replaceAll(/<pre.*?<\/pre>/gs, '');
  const words = `${titleOf(page)} ${otherWords[page] ?? ''} `.repeat(page.startsWith('start/') ? 12 : 4);
  const weighted = text.replace(/<\/h1>/, `$&<p>${words}</p>`);
  return page === 'troubleshooting'
    ? weighted.replaceAll(/<h2.*?>(.*?)<a.*?<\/h2>/g, (heading, title: string) => `${heading}<p>${title.repeat(4)}</p>`)
    : weighted;
}
