import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
// The compiler's own API, which TypeScript 7 does not have yet.
import ts from 'typescript-5';

const outDir = 'dist/lib';

/** Writes what the npm package holds besides its manifest to `dist/lib`: the doors of the guard, their declarations, and the service's type. */
async function buildPackage(): Promise<void> {
  await rm(outDir, { recursive: true, force: true });
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'x', 'tsc', '-p', 'src/auth']);
  if (exitCode !== 0) throw new Error(`Cannot compile the package:\n${stdout}`);
  for (const name of await readdir(outDir, { recursive: true })) {
    if (name.endsWith('.d.ts')) await importCompiledFiles(join(outDir, name));
  }
  await Bun.write(join(outDir, 'service.d.ts'), serviceDeclaration());
}

/** The compiler rewrites the endings of relative imports in JavaScript only: https://github.com/microsoft/TypeScript/issues/61037 */
async function importCompiledFiles(path: string): Promise<void> {
  const text = await Bun.file(path).text();
  await Bun.write(path, text.replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js'));
}

/** Returns a declaration of the service's routes without a single import of ours, so that a client needs none of its packages. */
function serviceDeclaration(): string {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.');
  const program = ts.createProgram(['src/app.ts'], options);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile('src/app.ts');
  const app = source?.statements.find((node) => ts.isTypeAliasDeclaration(node) && node.name.text === 'App');
  const routes = app && checker.getTypeAtLocation(app).getProperty('~Routes');
  if (!source || !app || !routes) throw new Error('Cannot declare the service: src/app.ts has no type App with routes');
  const { NoTruncation, IgnoreErrors, UseFullyQualifiedType } = ts.NodeBuilderFlags;
  const flags = NoTruncation | IgnoreErrors | UseFullyQualifiedType;
  const node = checker.typeToTypeNode(checker.getTypeOfSymbolAtLocation(routes, app), app, flags);
  const text = node ? ts.createPrinter().printNode(ts.EmitHint.Unspecified, node, source) : '';
  if (text === '' || text === 'any' || text.includes('import('))
    throw new Error(`Cannot declare the service without imports:\n${text}`);
  return `import type { Elysia } from 'elysia';

type Empty = { schema: {}; standaloneSchema: {}; response: {} };

/** The routes of the service, for typed clients such as Eden's \`treaty<App>()\`. */
export type App = Elysia<
  '',
  { decorator: {}; store: {}; derive: {}; resolve: {} },
  { typebox: {}; error: {} },
  Empty & { macro: {}; macroFn: {}; parser: {} },
  Routes
>;

type Routes = ${text};
`;
}

await buildPackage();
