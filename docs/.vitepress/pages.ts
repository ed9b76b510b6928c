import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export const repository = 'https://github.com/protected-api/protected-api';
const docs = join(import.meta.dirname, '..');

export const readPage = (page: string) => readFileSync(join(docs, `${page}.md`), 'utf8');
export const titleOf = (page: string) => /^# (.*)$/m.exec(readPage(page))?.[1]?.replaceAll('`', '') ?? page;

const inFolder = (folder: string, names: string) => names.split(' ').map((name) => `${folder}/${name}`);
/** Returns the pages of a folder in the order in which its index links to them. */
const linksOf = (folder: string) =>
  Array.from(readPage(`${folder}/index`).matchAll(/\]\(([\w-]+)\.md\)/g), ([, page]) => `${folder}/${page}`);

/** The pages of each section that people write, in reading order. */
export const sections: Readonly<Record<string, readonly string[]>> = {
  Start: ['index', ...inFolder('start', 'install elysia hono express fastify nestjs koa fetch workers nextjs mcp')],
  'Your token': ['explain'],
  Guides: [
    ...inFolder(
      'guides',
      'scopes step-up owners users typed-claims optional-tokens testing probe errors observability',
    ),
    ...inFolder(
      'guides',
      'several-issuers revocation opaque-tokens dpop certificates other-headers forward-auth websockets mcp openapi',
    ),
    ...inFolder('guides', 'token-exchange agents own-issuer key-cache fapi'),
  ],
  Issuers: ['issuers/index', ...linksOf('issuers')],
  Settings: ['settings'],
  Operations: ['operations', 'upgrade'],
  Help: ['troubleshooting', 'security', 'standards', 'comparison'],
  Migration: ['migration/index', ...linksOf('migration')],
};

/** Returns the URL of a file of the repository that is no page of the site. Pages link to it by its path, as GitHub shows it. */
export function onGitHub(href: string, page: string): string | undefined {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return undefined;
  const path = posix.join('docs', posix.dirname(page), href);
  return path.startsWith('docs/') ? undefined : `${repository}/blob/main/${path}`;
}

const tabs = (blocks: readonly string[]) => ['::: code-group', ...blocks, ':::'].join('\n');

/**
 * Shows a block with `npm install` as tabs, one for each package manager, and the settings of an issuer beside its options. In the
 * repository and in the package, each is a block.
 */
export const withTabs = (page: string): string =>
  page
    .replaceAll(/^```sh\nnpm install (\S*protected-api.*)\n((?:npm pkg .*\n)?)```$/gm, (_, names, rest) => {
      const commands = [`npm install ${names}`, `pnpm add ${names}`, `yarn add ${names}`, `bun add ${names}`];
      return tabs(commands.map((command) => `\`\`\`sh [${command.split(' ')[0]}]\n${command}\n${rest}\`\`\``));
    })
    .replaceAll(/^```dotenv\n(.*?^```)\n\n```ts fragment\n(.*?^```)$/gms, (_, settings, options) =>
      tabs([`\`\`\`dotenv [Settings]\n${settings}`, `\`\`\`ts [Options]\n${options}`]),
    );

/** Returns the text of a page with links that lead anywhere without the repository. */
export const standalone = (page: string): string =>
  readPage(page).replace(/(?<=\]\()[^)\s]+/g, (href) => onGitHub(href, page) ?? href);

/** Returns the list of pages that language models read first (llmstxt.org). */
export function llmsText(base: string, others: typeof sections = {}): string {
  const lists = Object.entries({ ...sections, ...others }).map(([title, pages]) => {
    const links = pages.map((page) => `- [${titleOf(page)}](${base}${page}.md)\n`);
    return `## ${title}\n\n${links.join('')}`;
  });
  return `# Protected API\n\n> Check OAuth 2.0 access tokens in any JavaScript server\n\n${lists.join('\n')}`;
}
