import { readText } from '../support/repository.ts';

const upTo = (page: string, heading: string) => `docs/${page}.md<${heading}`;
const [home, issuer] = [upTo('index', 'Guides'), upTo('issuers/auth0', 'MCP servers')];
const reasons = upTo('troubleshooting', 'All reasons');

/** What each reader has to read, in order, and in how many minutes. Who has what he came for does not read on. */
export const roles: Readonly<Record<string, { readonly minutes: number; readonly pages: readonly string[] }>> = {
  'developer with Express': {
    minutes: 15,
    pages: [home, upTo('start/express', 'CommonJS'), issuer, upTo('guides/testing', 'Other frameworks'), reasons],
  },
  'developer with NestJS': {
    minutes: 20,
    // The page has a test of its own.
    pages: [home, upTo('start/nestjs', 'How to bind a guard'), issuer, reasons],
  },
  operator: {
    minutes: 25,
    pages: ['deploy/README.md', ...pagesOf('deploy operations kubernetes')],
  },
  'operator at night': { minutes: 10, pages: pagesOf('operations') },
  reviewer: {
    minutes: 25,
    pages: ['SECURITY.md', ...pagesOf('security standards comparison')],
  },
  'author of an MCP server': {
    minutes: 20,
    pages: pagesOf('mcp/index mcp/tools mcp/connect'),
  },
  // After the blocks for browsers, each language has one of its own.
  caller: { minutes: 8, pages: [upTo('guides/callers', 'Other languages')] },
  contributor: { minutes: 12, pages: ['CONTRIBUTING.md'] },
};

function pagesOf(names: string): readonly string[] {
  return names.split(' ').map((name) => `docs/${name}.md`);
}

/** Returns the minutes that a careful reader needs: 200 words, or 20 lines of code, in each. */
export async function minutesOf(pages: readonly string[]): Promise<number> {
  let [words, lines] = [0, 0];
  for (const page of pages) {
    const [path = '', heading] = page.split('<');
    const [text = ''] = (await readText(path)).split(heading ? `# ${heading}` : '\0');
    const blocks = /^ *```[^\n]*\n(.*?)^ *```$/gms;
    lines += Array.from(text.matchAll(blocks), ([, block = '']) => block.split('\n').length - 1).reduce(
      (a, b) => a + b,
      0,
    );
    const prose = text.replaceAll(blocks, '').replaceAll(/<!--.*?-->|<https?:[^>]*>|(?<=\])\([^)]*\)/gs, '');
    words += prose.match(/[\p{L}\p{N}][\p{L}\p{N}'’_.-]*/gu)?.length ?? 0;
  }
  return Math.round(words / 20 + lines / 2) / 10;
}

if (import.meta.main)
  for (const [role, { minutes, pages }] of Object.entries(roles))
    console.log(`${role}: ${await minutesOf(pages)} of ${minutes} minutes, ${pages.length} pages`);
