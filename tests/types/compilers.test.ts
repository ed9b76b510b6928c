import { beforeAll, describe, expect, test } from 'bun:test';
import { copyFile, cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript-5';
import { compilePackage } from '../../scripts/package.ts';
import { optionRules } from '../../src/auth/options/rules.ts';
import manifest from '../../src/auth/package.json';
import probe from '../../src/probe/package.json';
import { isNight } from '../support/node-versions.ts';
import { root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder('dist');
const dist = join(folder, 'node_modules/protected-api/dist');
const doors = Object.keys(manifest.exports).flatMap((door) =>
  /json/.test(door) ? [] : [join(dist, `${door.slice(2) || 'index'}.d.ts`)],
);
const compilerOptions = {
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: true },
  ...{ target: 'es2023', lib: ['es2023'], types: ['node'], rewriteRelativeImportExtensions: true },
};
/** The files of each project, with what it has besides. The service is no application of the package. */
const projects: Readonly<Record<string, object>> = {
  programs: {
    compilerOptions: { ...compilerOptions, noEmit: true },
    include: ['*.ts', 'copies/*.ts'],
    exclude: ['exported-*'],
  },
  application: { compilerOptions: { ...compilerOptions, composite: true }, files: ['exported-application.ts'] },
  plugin: {
    compilerOptions: { ...compilerOptions, composite: true, isolatedDeclarations: true },
    files: ['exported-plugin.ts'],
  },
  client: {
    compilerOptions: { ...compilerOptions, composite: true },
    files: ['exported-client.ts'],
    references: [{ path: 'application.json' }, { path: 'plugin.json' }],
  },
};

/** Runs a compiler with these arguments, and returns what it prints. */
async function tsc(compiler: string, ...options: readonly string[]): Promise<string> {
  const path = join(root, 'node_modules', compiler, 'bin/tsc');
  // Several checkers at a time take twice the CPU time, which other tests need.
  const threads = compiler === 'typescript' ? ['--singleThreaded'] : [];
  return Bun.spawn(['node', path, ...options, ...threads], { cwd: folder, stdout: 'pipe' }).stdout.text();
}

/** Writes an application with 200 guarded routes. */
async function writeRoutes(hook: string): Promise<string> {
  const routes = Array.from({ length: 200 }, (_, at) => `.get('/${at}/:id', ({ params }) => params.id${hook})`);
  const imports = "import { Elysia } from 'elysia';\nimport { resourceServer } from 'protected-api/elysia';\n";
  const options = "const options = { issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' };";
  const text = `${imports}${options}\nexport const app = new Elysia().use(resourceServer(options))${routes.join('')};`;
  const file = { compilerOptions: { ...compilerOptions, noEmit: true, module: 'nodenext' }, files: ['routes/app.ts'] };
  await Bun.write(join(folder, 'routes/app.ts'), text);
  await Bun.write(join(folder, 'routes.json'), JSON.stringify(file));
  return 'routes.json';
}

/**
 * Returns a program in which each statement has a misspelt route option, and must be an error: two in 16 forms, each in
 * one.
 */
function misspeltRoutes(): string {
  const misspelt = 'scopes maxage Scope requiredScope requiredScopes max_age acr_values authorise authorization'.split(
    ' ',
  );
  const places: readonly ((options: string) => string)[] = [
    (options) => `post('/', () => 'ok', { ${options} })`,
    (options) => `guard({ ${options} })`,
    (options) => `group('/', { ${options} }, (inner) => inner)`,
    (options) => `ws('/', { message() {}, ${options} })`,
  ];
  const besides = ['', 'body, ', "acr: 'a', ", "body, response, scope: 'a', authorize: () => true, "];
  const statements = places.flatMap((place, index) =>
    besides.flatMap((beside) =>
      misspelt
        .slice(0, index === 0 && beside === 'body, ' ? undefined : 2)
        .map((name) => place(`${beside}${name}: 'a'`)),
    ),
  );
  return `import { Elysia, t } from 'elysia';
import { resourceServer } from 'protected-api/elysia';
const [url, body, response] = ['https://api.example.test', t.Any(), t.String()] as const;
const app = new Elysia().use(resourceServer({ issuer: url, audience: url }));
${statements.map((statement) => `// @ts-expect-error\napp.${statement};`).join('\n')}`;
}

const optionNames = Object.keys(optionRules).toSorted();
/** What an editor proposes at the cursor `|`. */
const completed: Readonly<Record<string, readonly string[]>> = {
  'resourceServer(guard, { | })': ['optional', 'publicBefore', 'responses'],
  'resourceServer({ | })': optionNames,
  'createGuard({ | })': optionNames,
  'guard.check(new Request(url), { | })': ['acr', 'maxAge', 'optional', 'scope'],
};
const route = "new Elysia().use(resourceServer(guard)).get('/', () => 'ok', { | })";
/** A part of what a compiler says. */
const mistaken: Readonly<Record<string, string>> = {
  'resourceServer({ issuer: url })': "Property 'audience' is missing",
  'createGuard({ issuer: url })': "Property 'audience' is missing",
  'resourceServer({ issuer: url, audiance: url })': "'audiance' does not exist",
  'resourceServer({ issuer: process.env.ISSUER, audience: url })': "Type 'string | undefined' is not assignable",
  "resourceServer({ issuer: url, audience: url, dpop: 'maybe' })": "is not assignable to type 'DpopMode",
  "guard.check(new Request(url), { scopes: 'a' })": "Did you mean to write 'scope'?",
  "requireToken(guard, { scopes: 'a' })": "Did you mean to write 'scope'?",
  "new Elysia().use(resourceServer(guard)).get('/', () => 'ok', { scopes: ['a'] })": '"Did you mean scope?"',
  'resourceServer({ ...guard, check: guard.check })': "'check' does not exist",
};
/** Files of one editor, because each further one would check all types again. */
const edited: Readonly<Record<string, string>> = {
  'completed.ts': textOf([...Object.keys(completed), route]),
  'mistaken.ts': textOf(Object.keys(mistaken)),
};
const pathOf = (name: string) => join(folder, name);
const editor = editorOf(Object.fromEntries(Object.entries(edited).map(([name, text]) => [pathOf(name), text])));

describe('with the declarations of the package', () => {
  beforeAll(async () => {
    await Bun.write(join(folder, 'misspelt-routes.ts'), misspeltRoutes());
    await compilePackage(dist);
    await copyFile(join(root, 'src/auth/package.json'), join(folder, 'node_modules/protected-api/package.json'));
    await Bun.write(join(folder, 'package.json'), '{ "type": "module" }');
    for (const name of await readdir(import.meta.dir))
      if (!/test|service/.test(name)) await copyFile(join(import.meta.dir, name), join(folder, name));
    // An application with a Hono of its own. Of two packages of one version, TypeScript reads only the first.
    const hono = join(folder, 'copies/node_modules/hono');
    await cp(join(root, 'node_modules/hono/dist/types'), join(hono, 'dist/types'), { recursive: true });
    const { exports } = await Bun.file(join(root, 'node_modules/hono/package.json')).json();
    await Bun.write(join(hono, 'package.json'), JSON.stringify({ name: 'hono', version: '0.0.1', exports }));
    await copyFile(join(import.meta.dir, 'copied-hono.ts'), join(folder, 'copies/copied-hono.ts'));
  });

  test.each([
    ['typescript', 'nodenext', 'nodenext'],
    // By day, TypeScript 5 checks the declarations alone, with the docstrings, and a short file is compiled for a
    // bundler.
    ...(isNight
      ? ([
          ['typescript', 'esnext', 'bundler'],
          ['typescript-5', 'nodenext', 'nodenext'],
          ['typescript-5', 'esnext', 'bundler'],
        ] as const)
      : []),
  ])(
    'programs compile, and applications can be declared: %s, module %s, moduleResolution %s',
    async (...row) => {
      const [compiler, module, moduleResolution] = row;
      for (const [name, project] of Object.entries(projects)) {
        const outDir = `out-${row.join('-')}`;
        const options = { ...Object(project).compilerOptions, module, moduleResolution, outDir, declaration: true };
        await Bun.write(join(folder, `${name}.json`), JSON.stringify({ ...project, compilerOptions: options }));
      }
      expect(await tsc(compiler, '-p', 'programs.json')).toBe('');
      expect(await tsc(compiler, '-b', 'client.json')).toBe('');
    },
    120_000,
  );

  test('no module imports JSON: bundlers drop the attribute, without which Node.js rejects to', async () => {
    const modules = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith('.js'));
    const texts = await Promise.all(modules.map((name) => Bun.file(join(dist, name)).text()));
    expect(texts.length).toBeGreaterThan(5);
    for (const text of texts) expect(text).not.toMatch(/(?:from|import) *\(?"[^"]+\.json"/);
  });

  // No module of Node.js either: a program for Workers, or for a browser, is compiled without @types/node.
  test('declarations name only files of the package, what it is installed with, and its peers', async () => {
    const packages: Readonly<Record<string, { dependencies: object; peerDependencies?: object }>> = {
      auth: manifest,
      ...(isNight && { probe }),
    };
    if (isNight) await compilePackage(join(folder, 'probe-dist'), 'probe');
    for (const [name, { dependencies, peerDependencies }] of Object.entries(packages)) {
      const from = name === 'auth' ? dist : join(folder, 'probe-dist');
      const declared = (await readdir(from, { recursive: true })).filter((file) => file.endsWith('.d.ts'));
      expect(declared.length).toBeGreaterThan(5);
      const known = Object.keys({ ...dependencies, ...peerDependencies });
      for (const file of declared) {
        const text = (await Bun.file(join(from, file)).text()).replaceAll(/^ *\*.*$/gm, '');
        const named = [...text.matchAll(/(?:\bfrom |\bimport |\bimport\(|(?:types|path)=)['"]([^'"]+)['"]/g)];
        const packagesOf = named.map(([, specifier = '']) => /^(?:\.|(?:@[^/]+\/)?[^/]+)/.exec(specifier)?.[0] ?? '');
        expect(packagesOf.filter((it) => !['.', ...known].includes(it))).toEqual([]);
      }
    }
  });

  // What docs/start/install.md says of pairs, beside the ES modules above.
  test.each([
    ['typescript', 'nodenext', 'nodenext', 'cts', ''],
    ['typescript', 'preserve', 'bundler', 'ts', ''],
    ...(isNight
      ? ([
          ['typescript', 'node16', 'node16', 'cts', 'TS1479'],
          ['typescript-5', 'commonjs', 'bundler', 'ts', 'TS5095'],
        ] as const)
      : []),
  ])('%s finds the declarations with module %s, moduleResolution %s in a file .%s: %s', async (...row) => {
    const [compiler, module, moduleResolution, extension, error] = row;
    const files = [`paired.${extension}`];
    const options = { ...compilerOptions, module, moduleResolution, rewriteRelativeImportExtensions: false };
    await Bun.write(join(folder, files[0] ?? ''), "import { createGuard } from 'protected-api';\nvoid createGuard;\n");
    await Bun.write(
      join(folder, 'paired.json'),
      JSON.stringify({ compilerOptions: { ...options, noEmit: true }, files }),
    );
    const said = await tsc(compiler, '-p', 'paired.json');
    expect(/TS\d+/.exec(said)?.[0] ?? said).toBe(error);
  });

  // One tenth above what was measured.
  test.each([
    ...(isNight ? ([['200 guarded routes', '', 157_000]] as const) : []),
    ['200 routes with a scope', ", { scope: 'a' }", 243_000],
  ])('%s cost no more instantiations than they did', async (_, hook, limit) => {
    const said = await tsc('typescript', '-p', await writeRoutes(hook), '--extendedDiagnostics');
    expect(said).not.toContain('error');
    expect(Number(/Instantiations: +(\d+)/.exec(said)?.[1])).toBeLessThan(limit);
  });

  test('TypeScript 5 accepts the declarations; every exported name and member of an interface is documented', () => {
    const program = editor.getProgram();
    if (!program) throw new TypeError('There is no program');
    const own = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(dist));
    const errors = own.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]);
    expect(errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))).toEqual([]);
    const checker = program.getTypeChecker();
    const undocumented = new Set<string>();
    const read = (symbol: ts.Symbol, name: string) => {
      const isOwn = symbol.declarations?.every((one) => one.getSourceFile().fileName.startsWith(dist));
      if (isOwn && symbol.getDocumentationComment(checker).length === 0) undocumented.add(name);
    };
    const modules = doors.flatMap((door) => program.getSourceFile(door) ?? []);
    for (const exported of modules.flatMap((file) =>
      checker.getExportsOfModule(checker.getSymbolAtLocation(file) as ts.Symbol),
    )) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      read(symbol, symbol.name);
      if (symbol.flags & ts.SymbolFlags.Interface)
        for (const member of checker.getDeclaredTypeOfSymbol(symbol).getProperties())
          read(member, `${symbol.name}.${member.name}`);
    }
    expect(modules.length).toBe(doors.length);
    expect([...undocumented]).toEqual([]);
  });

  test.each(Object.entries(completed))('editors complete %s', (expression, expected) => {
    const { entries = [] } = editor.getCompletionsAtPosition(...cursorIn(expression), {}) ?? {};
    const members = entries.filter(({ kind }) => kind === 'property' || kind === 'method');
    expect(members.map(({ name }) => name).toSorted()).toEqual([...expected]);
  });

  test('compilers name the option, or what is missing, and no overload', () => {
    const found = editor.getSemanticDiagnostics(pathOf('mistaken.ts'));
    const texts = found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    expect(texts).toEqual(Object.values(mistaken).map((part) => expect.stringContaining(part)));
  });

  test.each(['scope', 'acr', 'maxAge', 'authorize'])('editors document the route option %s', (name) => {
    const details = editor.getCompletionEntryDetails(...cursorIn(route), name, {}, undefined, {}, undefined);
    expect(ts.displayPartsToString(details?.documentation)).toMatch(name === 'maxAge' ? /seconds/ : /token|scope/);
  });
});

/** Returns a file with these expressions. */
function textOf(expressions: readonly string[]): string {
  return `import { Elysia } from 'elysia';\nimport { createGuard, resourceServer } from 'protected-api/elysia';
import { requireToken } from 'protected-api/hono';
const url = 'https://api.example.test';\nconst guard = createGuard({ issuer: url, audience: url });
${expressions.join(';\n')}`.replaceAll(' | }', ' }');
}

/** Returns the file that an expression stands in, and the place of its cursor. */
function cursorIn(expression: string): [file: string, at: number] {
  const start = `\n${expression.split('|')[0]?.trimEnd()} }`;
  return [pathOf('completed.ts'), (edited['completed.ts']?.indexOf(start) ?? Number.NaN) + start.length - 1];
}

/** Returns the language service of an editor with these files, which reads the declarations when it is first asked. */
function editorOf(files: Readonly<Record<string, string>>): ts.LanguageService {
  const settings = { target: 10, module: 199, moduleResolution: 99, strict: true, types: ['node'] };
  const read = (path: string) => files[path] ?? ts.sys.readFile(path);
  return ts.createLanguageService({
    ...ts.sys,
    useCaseSensitiveFileNames: () => true,
    readFile: read,
    fileExists: (path) => path in files || ts.sys.fileExists(path),
    getScriptFileNames: () => [...Object.keys(files), ...doors],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => ts.ScriptSnapshot.fromString(read(path) ?? ''),
    getCurrentDirectory: () => folder,
    getCompilationSettings: () => settings,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  });
}
