import { join } from 'node:path';
import { slugify } from '../docs/.vitepress/pages.ts';
import { format } from './format.ts';

const frameworks = ['Express', 'Fastify', 'NestJS', 'Hono', 'Elysia', 'Koa', 'fetch'] as const;

/** Where a page shows a requirement in a framework: a block, by page and heading, or why there is none. */
export type Shown = { readonly block: string } | { readonly because: string };

const at = (block: string): Shown => ({ block });
const no = (because: string): Shown => ({ because });
const tabs = (section: string) => ['', ' 2', ' 3', ' 4', ' 5'].map((number) => at(section + number));
const [express, fastify, nestjs, hono, elysia] = tabs('guides/scopes#In your framework');
const asExpress = no('as in Express, with `checkIncoming`');
const onGuard = at('guides/errors#Your own format');

/**
 * Each requirement with what its block contains, and where each framework has it, in the order of `frameworks`. The
 * quick reference has this as a table, and a test looks up each block.
 */
export const requirements: readonly (readonly [
  name: string,
  contains: RegExp,
  shown: readonly (Shown | undefined)[],
])[] = [
  [
    'A scope',
    /scope: 'read:messages'/,
    [
      at('start/express'),
      at('start/fastify'),
      at('start/nestjs#In an empty folder'),
      at('start/hono'),
      at('start/elysia'),
      at('start/express#Koa'),
      at('start/fetch'),
    ],
  ],
  [
    'One of several scopes (`anyOf`)',
    /anyOf/,
    [express, fastify, nestjs, hono, elysia, asExpress, at('guides/scopes#The scope depends on the request')],
  ],
  [
    'Step-up (`maxAge`, `acr`)',
    /maxAge/,
    [express, fastify, nestjs, hono, elysia, asExpress, at('guides/scopes#Step-up authentication')],
  ],
  [
    'Optional token',
    /optional: true/,
    [
      at('start/express#Optional tokens'),
      at('start/fastify#Optional tokens'),
      at('start/nestjs#Which routes are guarded'),
      at('start/hono#Optional tokens'),
      at('guides/optional-tokens 2'),
      at('start/express#Optional tokens in Koa'),
      at('start/fetch#Optional tokens'),
    ],
  ],
  [
    'Thrown rejection',
    /RejectionError/,
    [
      at('guides/errors#Throw instead of send'),
      at('guides/errors#Throw instead of send 2'),
      no('NestJS gets an `HttpException`'),
      at('guides/errors#Throw instead of send 3'),
      no('a rejection reaches no hook, so use your own format'),
      at('start/express#Koa'),
      at('quick-reference#Any fetch server'),
    ],
  ],
  ['Your own format', /formatRejection/, Array(7).fill(onGuard)],
  [
    'Typed claims',
    /z\.object|t\.Object/,
    [
      ...tabs('guides/users#In a framework'),
      no('as in Express, with `authOf(ctx.req)`'),
      at('guides/users#Typed claims'),
    ],
  ],
  [
    'OpenAPI',
    /openapi|document/,
    [
      at('guides/openapi#Hono and Express 3'),
      at('guides/openapi#Fastify'),
      at('guides/openapi#NestJS'),
      at('guides/openapi#Hono and Express 2'),
      at('guides/openapi'),
      no('serve the document of Hono and Express'),
      no('serve the document of Hono and Express'),
    ],
  ],
  [
    'A test',
    /createTestIssuer/,
    [
      at('guides/testing'),
      at('guides/paths#A test of every route'),
      at('start/nestjs#In an application that `nest new` made 2'),
      at('guides/paths#A test of every route 2'),
      at('guides/testing#Other frameworks'),
      no('as in Express, on a port'),
      at('quick-reference#A test'),
    ],
  ],
];

/** Returns the table of the quick reference. What has no block has the number of its reason below the table. */
export function requirementsTable(): string {
  const reasons: string[] = [];
  const cell = (shown: Shown | undefined): string => {
    if (shown === undefined) throw new Error('A cell is missing');
    if ('block' in shown) {
      const [page = '', heading] = shown.block.replace(/ \d$/, '').split('#');
      return `[code](${page === 'quick-reference' ? '' : `${page}.md`}${heading ? `#${slugify(heading)}` : ''})`;
    }
    if (!reasons.includes(shown.because)) reasons.push(shown.because);
    return `no (${reasons.indexOf(shown.because) + 1})`;
  };
  const rows = requirements.map(([name, , shown]) => [name, ...shown.map(cell)]);
  const table = [['', ...frameworks], frameworks.map(() => '---').concat('---'), ...rows].map(
    (row) => `| ${row.join(' | ')} |`,
  );
  const list = reasons.map((reason, index) => `(${index + 1}) ${reason}`).join('. ');
  return `${table.join('\n')}\n\nNo code here, because: ${list}.`;
}

/** Returns the quick reference with the table as it is now. */
export function withRequirements(page: string): string {
  const [begin, end] = ['<!-- generated from scripts/requirements-table.ts -->\n\n', '\n\n<!-- end -->'];
  const [before, rest = ''] = page.split(begin);
  return `${before}${begin}${format('table.md', requirementsTable()).trim()}${end}${rest.split(end)[1]}`;
}

if (import.meta.main) {
  const file = Bun.file(join(import.meta.dir, '../docs/quick-reference.md'));
  await file.write(withRequirements(await file.text()));
}
