import manifest from '../../src/auth/package.json' with { type: 'json' };
import probe from '../../src/probe/package.json' with { type: 'json' };
import { furtherItems, sections, shortTitleOf } from './pages.ts';

/** TypeDoc has written a page for each door. */
export const reference = {
  Reference: Object.keys(manifest.exports)
    .filter((door) => door !== './package.json')
    .map((door) => `reference/${door.replace(/^\.\/?/, '') || manifest.name}`)
    .concat(`reference/${probe.name}`),
};

const groupsOf = (groups: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(groups).map(([text, pages]) => ({
    text,
    items: [
      ...pages.map((page) => ({ text: shortTitleOf(page), link: `/${page.replace(/index$/, '')}` })),
      ...(furtherItems[text] ?? []),
    ],
    // Long sections are closed until one of their pages is open.
    ...(!/Start|MCP|fails|Look up|Reference/.test(text) && { collapsed: true }),
  }));

/** The reference has a sidebar of its own: who looks up a name does not look for a guide. */
export const sidebars = () => ({ '/': groupsOf(sections), '/reference/': groupsOf(reference) });
