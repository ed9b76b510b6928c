import { beforeAll, describe, expect, test } from 'bun:test';
import { copyFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { compilePackage } from '../../scripts/package.ts';
import { root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder('dist');
const compilerOptions = {
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: true },
  ...{ target: 'es2023', lib: ['es2023'], types: ['node'], rewriteRelativeImportExtensions: true },
};
/** The files of each project, with what it has besides. The service is no application of the package. */
const projects: Readonly<Record<string, object>> = {
  programs: { compilerOptions: { ...compilerOptions, noEmit: true }, include: ['*.ts'], exclude: ['exported-*'] },
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
  return Bun.spawn(['node', path, ...options], { cwd: folder, stdout: 'pipe' }).stdout.text();
}

/** Writes an application with 200 routes. */
async function writeRoutes(plugin: string, hook: string): Promise<string> {
  const routes = Array.from({ length: 200 }, (_, at) => `.get('/${at}/:id', ({ params }) => params.id${hook})`);
  const imports = "import { Elysia } from 'elysia';\nimport { resourceServer } from 'protected-api';\n";
  const options = "const options = { issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' };";
  const text = `${imports}${options}\nvoid resourceServer;\nexport const app = new Elysia()${plugin}${routes.join('')};`;
  const file = { compilerOptions: { ...compilerOptions, noEmit: true, module: 'nodenext' }, files: ['routes/app.ts'] };
  await Bun.write(join(folder, 'routes/app.ts'), text);
  await Bun.write(join(folder, 'routes.json'), JSON.stringify(file));
  return 'routes.json';
}

describe('with the declarations of the package', () => {
  beforeAll(async () => {
    await compilePackage(join(folder, 'node_modules/protected-api/dist'));
    await copyFile(join(root, 'src/auth/package.json'), join(folder, 'node_modules/protected-api/package.json'));
    await Bun.write(join(folder, 'package.json'), '{ "type": "module" }');
    for (const name of await readdir(import.meta.dir))
      if (!/test|service/.test(name)) await copyFile(join(import.meta.dir, name), join(folder, name));
  });

  test.each([
    ['typescript', 'nodenext', 'nodenext'],
    ['typescript', 'esnext', 'bundler'],
    ['typescript-5', 'nodenext', 'nodenext'],
    ['typescript-5', 'esnext', 'bundler'],
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

  // One tenth above what was measured.
  test.each([
    ['200 routes', '', '', 153_000],
    ['200 guarded routes', '.use(resourceServer(options))', '', 184_000],
    ['200 routes with a scope', '.use(resourceServer(options))', ", { scope: 'a' }", 640_000],
  ])('%s cost no more instantiations than they did', async (_, plugin, hook, limit) => {
    const said = await tsc('typescript', '-p', await writeRoutes(plugin, hook), '--extendedDiagnostics');
    expect(said).not.toContain('error');
    expect(Number(/Instantiations: +(\d+)/.exec(said)?.[1])).toBeLessThan(limit);
  });
});
