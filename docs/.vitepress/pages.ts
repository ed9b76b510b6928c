import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { withJavaScript, withNewLines } from './javascript.ts';

export const repository = 'https://github.com/protected-api/protected-api';
export const slogan = 'Check OAuth 2.0 access tokens in any JavaScript server';
/** Where the site is published. */
export const site = 'https://protected-api.github.io/protected-api/';
const docs = join(import.meta.dirname, '..');

export const readPage = (page: string) => readFileSync(join(docs, `${page}.md`), 'utf8');
export const titleOf = (page: string) => /^# (.*)$/m.exec(readPage(page))?.[1]?.replaceAll('`', '') ?? page;

const inFolder = (folder: string, names: string) => names.split(' ').map((name) => `${folder}/${name}`);

/** The pages of each section that people write, in reading order. */
export const sections: Readonly<Record<string, readonly string[]>> = {
  Start: [
    'index',
    ...inFolder('start', 'install express hono fastify nestjs elysia fetch nextjs full-stack workers graphql'),
  ],
  MCP: inFolder('mcp', 'index tools connect'),
  'More than a route': inFolder(
    'guides',
    'scopes optional-tokens users owners errors browsers paths testing observability openapi websockets token-exchange revocation opaque-tokens several-issuers own-issuer',
  ),
  'High security': inFolder('guides', 'dpop certificates forward-auth'),
  'Your issuer': inFolder('issuers', 'index auth0 entra okta keycloak cognito login-services others'),
  'When something fails': ['troubleshooting', 'explain', 'guides/callers'],
  'Look up': ['quick-reference', 'settings', 'standards'],
  'Run the service': ['deploy', 'operations', 'kubernetes'],
  Decide: ['security', 'guides/probe', 'comparison', 'migration/index'],
};

/** Entries of the sidebar that are sections of a page. */
export const furtherItems: Readonly<Record<string, readonly { readonly text: string; readonly link: string }[]>> = {
  Start: [
    { text: 'Deno', link: '/start/fetch#deno' },
    { text: 'AWS Lambda', link: '/start/workers#aws-lambda' },
  ],
  'Look up': [{ text: 'API reference', link: '/reference/' }],
};

const shortTitles: Readonly<Record<string, string>> = {
  index: 'Overview',
  'guides/callers': 'Call a protected API',
  'guides/owners': 'Who owns it',
  'issuers/index': 'Find your settings',
  'mcp/connect': 'When a client does not connect',
  operations: 'Runbook',
  security: 'Security checklist',
  troubleshooting: 'Troubleshooting',
};
export const shortTitleOf = (page: string) => shortTitles[page] ?? titleOf(page);

/** Returns the title of a page as people search for it. */
export function searchedTitleOf(page: string): string {
  if (/^start\/(?!install)/.test(page)) return `Check access tokens in ${titleOf(page)}`;
  if (/^issuers\/(?!index)/.test(page)) return `${titleOf(page)}: settings, console steps and tokens`;
  return titleOf(page);
}

/** Returns the URL of a file of the repository that is no page of the site. Pages link to it by its path, as GitHub shows it. */
export function onGitHub(href: string, page: string): string | undefined {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return undefined;
  const path = posix.join('docs', posix.dirname(page), href);
  return path.startsWith('docs/') ? undefined : `${repository}/blob/main/${path}`;
}

const tabs = (blocks: readonly string[]) => ['::: code-group', ...blocks, ':::'].join('\n');

/** Whether the changelog has the date of a release. */
export const isReleased = (changelog = readFileSync(join(docs, '../CHANGELOG.md'), 'utf8')): boolean =>
  /^## \[.+\] - \d{4}-\d\d-\d\d$/m.test(changelog);

/** Until there is a release, says below each command that installs the package what to install instead. */
export const withNote = (page: string, isOnNpm = isReleased()): string =>
  isOnNpm
    ? page
    : page.replaceAll(/^```sh\n(npm install|deno add npm:)\s?protected-api\b[^`]*```$/gm, (block, command) => {
        // The probe depends on the guard.
        const names = block.includes('probe') ? ['protected-api', 'protected-api-probe'] : ['protected-api'];
        const file = names.map((name) => `/tmp/${name}-1.0.0.tgz`).join(' ');
        const instead =
          command === 'npm install' ? `install \`${file}\`` : `run \`deno run -A npm:npm install ${file}\``;
        return `${block}\n\nVersion 1.0.0 is not on npm yet: [pack it](${site}start/install#before-it-is-on-npm), and ${instead} instead.`;
      });

/**
 * Shows a block with `npm install` as tabs, one for each package manager, named blocks in a row as tabs, and the settings of an
 * issuer beside its options. In the repository and in the package, each is a block.
 */
export const withTabs = (page: string): string =>
  withNewLines(withJavaScript(withNote(page)))
    .replaceAll(/^```sh\nnpm install (\S*protected-api.*)\n((?:npm pkg .*\n)?)```$/gm, (_, names, rest) => {
      const commands = [`npm install ${names}`, `pnpm add ${names}`, `yarn add ${names}`, `bun add ${names}`];
      return tabs(commands.map((command) => `\`\`\`sh [${command.split(' ')[0]}]\n${command}\n${rest}\`\`\``));
    })
    .replaceAll(/(?:^```\w+ \[.+\]\n(?:(?!```).*\n)*```\n\n){2,}/gm, (blocks) => `${tabs([blocks.trim()])}\n\n`)
    .replaceAll(/(?<=^(?:#+ .*)?Save this as `([^`\n]+)`:?\n\n```\w+)(?=\n)/gm, (_, file) => ` file=${file}`)
    .replaceAll(/(?<=^In `([^`\n]+)`[^`\n]*:\n\n```\w+)(?= nightly\n|\n)/gm, (_, file) => ` file=${file}`)
    .replaceAll(/^```dotenv\n(.*?^```)\n\n```ts fragment\n(.*?^```)$/gms, (_, settings, options) =>
      tabs([`\`\`\`dotenv [Settings]\n${settings}`, `\`\`\`ts [Options]\n${options}`]),
    );

/**
 * Returns the text of a page for a reader without the site: its links lead anywhere, its form and pictures are on the site, and its tables are not
 * aligned, because the package contains it.
 */
export const standalone = (page: string, isInstalled = isReleased()): string =>
  withNote(readPage(page), isInstalled)
    .replace(/(?<=\]\()[^)\s]+/g, (href) => onGitHub(href, page) ?? href)
    .replace(/(?<=\]\(|src="|srcset=")\.*\/?public\//g, site)
    .replace(/^\|.*\|$/gm, (row) => row.replace(/ {2,}/g, ' ').replace(/-{4,}/g, '---'))
    .replace(/^<!-- new lines: .* -->\n\n/gm, '')
    .replace(/^<[A-Z]\w+ \/>$/m, `The form is at ${site}${page}.`);

/** Returns the Markdown of a page on the site: with the examples to which it links, for readers who have nothing else. */
export function withExamples(page: string): string {
  const links = readPage(page).matchAll(/\]\([./]*\/(examples\/[\w./-]+\.(ts|md))[)#]/g);
  const files = [...new Map(Array.from(links, ([, path = '', language = '']) => [path, language]))];
  const texts = files.map(([path, language]) => {
    const text = readFileSync(join(docs, '..', path), 'utf8');
    return `## ${path}\n\n${language === 'md' ? text : `\`\`\`${language}\n${text}\`\`\`\n`}`;
  });
  return [standalone(page), ...texts].join('\n');
}

/** Returns the first sentences of a page as plain text, as many as search engines show, but at least one. */
export function descriptionOf(page: string): string | undefined {
  if (/^issuers\/(?!index)/.test(page))
    return `How to check access tokens of ${titleOf(page)}: settings and options, the steps in its console, and which tokens are accepted`;
  const [, ...blocks] = readPage(page).split(/\n\n+/);
  const text = blocks
    .find((block) => /^(?:[A-Z[*]|`\w)/.test(block) && block.length > 40)
    ?.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ');
  return (/^.{1,160}\.(?= |$)/.exec(text ?? '') ?? /^.*?\.(?= |$)/.exec(text ?? ''))?.[0] ?? text?.replace(/:$/, '.');
}

/** Returns the list of pages that language models read first (llmstxt.org). */
export function llmsText(base: string, listed = sections): string {
  const lists = Object.entries(listed).flatMap(([title, pages]) => {
    const links = pages.map((page) => {
      const description = descriptionOf(page);
      return `- [${titleOf(page)}](${base}${page}.md)${description === undefined ? '' : `: ${description}`}\n`;
    });
    return links.length > 0 ? [`## ${title}\n\n${links.join('')}`] : [];
  });
  const first = `Begin with the [${titleOf('quick-reference')}](${base}quick-reference.md): the shortest correct code for each server.`;
  return `# Protected API\n\n> ${slogan}\n\n${first}\n\n${lists.join('\n')}`;
}

/** The anchors that GitHub gives to headings. */
export const slugify = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
