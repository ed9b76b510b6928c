import { readText } from '../support/repository.ts';

/** The door of the servers from which a section leads, and what its `authOf` takes. */
const doorOf = (section: string) =>
  section.startsWith('Hono')
    ? ['hono', 'c']
    : section.startsWith('@fastify')
      ? ['fastify', 'request']
      : ['node', 'req'];

/** What the cells of a section assume. */
const headFor = (door = '', request = '') => `import type { RequirementContext } from 'protected-api/elysia';
import { authOf, requireToken } from 'protected-api/${door}';
import {
  type Authentication,
  createGuard,
  type GuardOptions,
  optionsFromEnvironment,
  type Requirements,
} from 'protected-api';
import { audience, issuer } from './options.ts';
type Options = Partial<GuardOptions> & { authorize?: (context: RequirementContext) => boolean };
type Claim = 'iss' | 'sub' | 'client_id' | 'iat' | 'jti' | 'kid';
type Name = keyof GuardOptions | Claim | 'requireToken' | 'ISSUER' | 'AUDIENCE' | '@fastify/cors';
const guard = createGuard({ issuer, audience });
declare const ${request}: Parameters<typeof authOf>[0];
${request === 'request' ? '' : 'declare const request: Request;'}
declare const res: { locals: object };
declare const result: Authentication | Response;`;

/**
 * Returns the code of a cell as a statement: the name of an option or claim, options, requirements, or a statement
 * already.
 */
function statementOf(code: string): string {
  if (/^[@/\w]+$/.test(code)) return `'${code}' satisfies Name;`;
  if (/^\w+: /.test(code)) return `({ ${code} }) satisfies Options;`;
  return code.startsWith('{') ? `(${code}) satisfies Requirements;` : `${code};`;
}

/** Returns a module for each section that compiles if what the last column of its table names exists. */
export async function migrationCells(): Promise<readonly string[]> {
  const [, ...sections] = (await readText('docs/migration/index.md')).split('\n## ');
  return sections.map((section) => {
    const statements = [...section.matchAll(/^\|.*\| (.*) \|$/gm)].flatMap(([, cell = '']) =>
      Array.from(cell.matchAll(/`(.*?)`/g), ([, code = '']) => statementOf(code.replaceAll('…', "'' as never"))),
    );
    return `${headFor(...doorOf(section))}\nexport async function cells() {\n${statements.join('\n')}\n}`;
  });
}
