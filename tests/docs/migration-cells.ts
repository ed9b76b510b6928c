import { readText } from '../support/repository.ts';

/** What the cells assume. */
const head = `import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequirementContext } from 'protected-api';
import {
  type Authentication,
  createGuard,
  type GuardOptions,
  optionsFromEnvironment,
  type Requirements,
} from 'protected-api/guard';
import { authOf, checkIncoming, requireToken } from 'protected-api/node';
import { options } from './options.ts';
type Options = Partial<GuardOptions> & { authorize?: (context: RequirementContext) => boolean };
type Claim = 'iss' | 'sub' | 'client_id' | 'iat' | 'jti' | 'kid';
type Name = keyof GuardOptions | Claim | 'requireToken' | 'ISSUER' | 'AUDIENCE';
const { issuer, audience } = options;
const guard = createGuard(options);
declare const [req, res]: [IncomingMessage, { locals: object }];
declare const [request, reply]: [Request & { raw: IncomingMessage }, { raw: ServerResponse }];
declare const [c, result]: [{ get(name: 'auth'): Authentication }, Authentication | Response];`;

/** Returns the code of a cell as a statement: the name of an option or claim, options, requirements, or a statement already. */
function statementOf(code: string): string {
  if (/^\w+$/.test(code)) return `'${code}' satisfies Name;`;
  if (/^\w+: /.test(code)) return `({ ${code} }) satisfies Options;`;
  return code.startsWith('{') ? `(${code}) satisfies Requirements;` : `${code};`;
}

/** Returns TypeScript that compiles if what the last columns of the tables in docs/coming-from.md name exists. */
export async function migrationCells(): Promise<string> {
  const cells = [...(await readText('docs/coming-from.md')).matchAll(/^\|.*\| (.*) \|$/gm)];
  const statements = cells.flatMap(([, cell = '']) =>
    Array.from(cell.matchAll(/`(.*?)`/g), ([, code = '']) => statementOf(code.replaceAll('…', "'' as never"))),
  );
  return `${head}\nexport async function cells() {\n${statements.join('\n')}\n}`;
}
