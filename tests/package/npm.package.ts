import { beforeAll, describe, expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import manifest from '../../src/auth/package.json';
import { runToEnd } from '../support/child-process.ts';
import { installedPackage } from '../support/installed-package.ts';

const root = join(import.meta.dir, '../..');
/** They say what the compiler accepts, and at each `@ts-expect-error` what it rejects. */
const typeTests = ['protected-route.ts', 'typed-rejections.ts'];
/** Package of the compiler, module resolution, and the module system that goes with it. */
const compilations = [
  ['typescript', 'nodenext', 'nodenext'],
  ['typescript', 'bundler', 'esnext'],
  ['typescript-5', 'nodenext', 'nodenext'],
] as const;

describe('the package, installed from its tarball', () => {
  const folder = installedPackage(['elysia', '@elysiajs/eden'], 'types', typeTests);
  const inFolder = (...path: string[]) => join(folder(), ...path);
  const inPackage = (...path: string[]) => inFolder('node_modules', manifest.name, ...path);

  beforeAll(async () => {
    const readme = await Bun.file(join(root, 'src/auth/README.md')).text();
    const [, example = ''] = /```ts\n(import \{ Elysia \}.*?from 'protected-api';.*?)```/s.exec(readme) ?? [];
    await Bun.write(inFolder('readme.ts'), example);
  });

  test('holds JavaScript, declarations, LICENSE and README.md only', async () => {
    expect((await readdir(inPackage())).toSorted()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
    const entries = await readdir(inPackage('dist'), { recursive: true, withFileTypes: true });
    const others = entries.filter((entry) => entry.isFile() && !/\.(js|d\.ts)$/.test(entry.name));
    expect(others.map(({ name }) => name)).toEqual([]);
  });

  test('brings jose and lru-cache and nothing else', async () => {
    const { packages } = await Bun.file(inFolder('node_modules/.package-lock.json')).json();
    const { version, dependencies, peerDependencies } = packages['node_modules/protected-api'];
    expect([version, Object.keys(peerDependencies)]).toEqual([manifest.version, ['elysia']]);
    expect(Object.keys(dependencies).toSorted()).toEqual(['jose', 'lru-cache']);
    for (const name in dependencies) expect(packages[`node_modules/${name}`].dependencies ?? {}).toEqual({});
  });

  for (const [compiler, resolution, module] of compilations) {
    test(`compiles with ${compiler} under ${resolution}: the README's example and guarded routes`, async () => {
      const tsc = join(root, 'node_modules', compiler, 'bin/tsc');
      const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', module, '--moduleResolution'];
      const files = ['readme.ts', ...typeTests];
      const compiling = $`node ${tsc} ${options} ${resolution} ${files}`.cwd(folder());
      const { exitCode, stdout } = await compiling.nothrow().quiet();
      expect([0, 1, 2], 'the compiler ended by itself').toContain(exitCode);
      // The declarations of Elysia 1.4 and Eden do not compile by themselves, so applications set skipLibCheck. Ours do.
      const errors = stdout
        .toString()
        .split('\n')
        .filter((line) => /error TS/.test(line) && !/@?elysia(js)?\/\S*\.d\.ts/.test(line));
      expect(errors).toEqual([]);
    }, 300_000);
  }

  test("runs the README's example, which guards its routes", async () => {
    const [start, listen] = ['\nnew Elysia()\n', '.listen(3010)'];
    const example = await Bun.file(inFolder('readme.ts')).text();
    expect(example).toContain(start);
    expect(example).toContain(listen);
    const app = example.replace(start, '\nconst app = new Elysia()\n').replace(listen, '');
    await Bun.write(
      inFolder('run.ts'),
      // No test looks up a name: nothing listens at this address.
      `${app.replaceAll('https://tenant.example.com/', 'http://127.0.0.1:1/')}
      for (const path of ['/me', '/reports']) {
        const response = await app.handle(new Request('http://localhost' + path));
        console.log(response.status, response.headers.get('www-authenticate'), (await response.json()).code);
      }`,
    );
    const { stdout } = await runToEnd([process.execPath, inFolder('run.ts')]);
    const code = 'authorization_header_missing';
    expect(stdout).toBe(`401 Bearer ${code}\n401 Bearer scope="read:reports" ${code}\n`);
  });
});
