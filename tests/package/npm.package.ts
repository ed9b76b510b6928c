import { beforeAll, describe, expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { $ } from 'bun';
import manifest from '../../src/auth/package.json';
import { freePort, run, runToEnd, untilProcess, untilReachable } from '../support/child-process.ts';
import { documentedExports, doors } from '../support/doors.ts';
import { installedPackage, packed } from '../support/installed-package.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, mintToken } from '../support/mint.ts';
import { isNight, nodePath, nodeVersions, testedOf } from '../support/node-versions.ts';
import { readText, root } from '../support/repository.ts';

/** They say what the compiler accepts, and at each `@ts-expect-error` what it rejects. */
const typeTests = ['guarded-routes.ts', 'typed-client.ts', 'node-servers.ts'];
const applications =
  'elysia @elysia/eden hono fastify express @types/express koa @types/koa polka @types/polka zod @types/node jose @nestjs/common @nestjs/core reflect-metadata rxjs bun-types @cloudflare/workers-types@4.20260702.1';
/** Package of the compiler, module resolution with its module system, and the types of Node.js. */
const compilations = [
  // Without skipLibCheck, each takes seconds.
  ...(isNight
    ? ([
        ['typescript', 'bundler', 'esnext', '26.6.6'],
        ['typescript', 'nodenext', 'nodenext', '26.6.6'],
        ['typescript-5', 'nodenext', 'nodenext', '26.6.6'],
      ] as const)
    : []),
  ...testedOf(['20.19.43', '22.20.1', '24.13.3']).map(
    (version) => ['typescript', 'nodenext', 'nodenext', version] as const,
  ),
] as const;
// Neither the DOM library nor skipLibCheck: applications on Node.js have the types of Node.js only.
const strict = '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --target es2023 --lib es2023';
const words = (text: string) => text.split(' ');
/** What each door exports besides types. */
const documented = await documentedExports();

describe('the package, installed from its tarball', () => {
  const folder = installedPackage(applications, 'types', typeTests, 'npm');
  const inFolder = (...path: string[]) => join(folder(), ...path);
  const inPackage = (...path: string[]) => inFolder('node_modules', manifest.name, ...path);

  beforeAll(async () => {
    const readme = await readText('src/auth/README.md');
    const [, example = ''] = /```ts\n(import \{ Elysia \}.*?from 'protected-api\/elysia';.*?)```/s.exec(readme) ?? [];
    await Bun.write(inFolder('readme.ts'), example);
  });

  test('holds JavaScript, declarations, the documentation, LICENSE and README.md only', async () => {
    expect((await readdir(inPackage())).toSorted()).toEqual(['LICENSE', 'README.md', 'dist', 'docs', 'package.json']);
    const entries = await readdir(inPackage('dist'), { recursive: true, withFileTypes: true });
    const others = entries.filter((entry) => entry.isFile() && !/\.(js|d\.ts)$/.test(entry.name));
    expect(others.map(({ name }) => name)).toEqual([]);
  });

  test('takes at most 200 kB, packed', async () => expect(Bun.file(await packed()).size).toBeLessThanOrEqual(200_000));

  test('has docstrings in the declarations of what doors export, and none in JavaScript', async () => {
    const declared = await Bun.file(inPackage('dist/types.d.ts')).text();
    for (const option of ['issuer', 'isRevoked', 'clockToleranceSeconds'])
      expect(declared).toMatch(new RegExp(`\\*/\\n +readonly ${option}\\??:`));
    for (const file of ['guard/guard', 'elysia/plugins', 'testing/test-issuer'])
      expect(await Bun.file(inPackage(`dist/${file}.d.ts`)).text()).toContain('*/\nexport declare function');
    for (const name of new Bun.Glob('**/*.js').scanSync(inPackage('dist')))
      expect(await Bun.file(inPackage('dist', name)).text(), name).not.toMatch(/^ *\/\*\*/m);
  });

  test('holds the pages that its list names', async () => {
    const list = await Bun.file(inPackage('docs/llms.txt')).text();
    const named = Array.from(list.matchAll(/\]\(([^)]*)\)/g), ([, page = '']) => page);
    expect(named).toContain('start/elysia.md');
    for (const page of named) expect(await Bun.file(inPackage('docs', page)).text()).toStartWith('# ');
    const others = (await readdir(inPackage('docs'), { recursive: true })).filter((file) => file.endsWith('.md'));
    expect(others.toSorted()).toEqual([...new Set(named)].toSorted());
  });

  test('holds every file to which its pages link', async () => {
    const files = (await readdir(inPackage('docs'), { recursive: true })).filter((file) => file.endsWith('.md'));
    expect(files).toContain('quick-reference.md');
    for (const file of ['../README.md', ...files]) {
      const page = inPackage('docs', file);
      for (const [, link = ''] of (await Bun.file(page).text()).matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g))
        expect(await Bun.file(join(dirname(page), link)).exists(), `${file}: ${link}`).toBeTrue();
    }
  });

  test('brings jose and nothing else', async () => {
    const { packages } = await Bun.file(inFolder('node_modules/.package-lock.json')).json();
    const { version, dependencies, peerDependencies } = packages['node_modules/protected-api'];
    expect([version, Object.keys(peerDependencies)]).toEqual([
      manifest.version,
      Object.keys(manifest.peerDependencies),
    ]);
    expect(Object.keys(dependencies).toSorted()).toEqual(['jose']);
    for (const name in dependencies) expect(packages[`node_modules/${name}`].dependencies ?? {}).toEqual({});
  });

  test("uses the application's own jose if it has it", async () => {
    for (const range of Object.values(manifest.dependencies)) expect(range).toStartWith('^');
    const copies = await readdir(inFolder('node_modules'), { recursive: true });
    const found = copies.filter((path) => /(?:^|node_modules\/)jose$/.test(path));
    expect(found.toSorted()).toEqual(['jose']);
  });

  test.each(['publint run --strict=true', 'attw --profile esm-only'])('passes %s', async (command) => {
    const [tool = '', ...options] = words(command);
    const tarball = await packed();
    const path = join(root, 'node_modules/.bin', tool);
    const { exitCode, stdout } = await $`${path} ${options} ${tarball}`.nothrow().quiet();
    expect({ exitCode, output: exitCode === 0 ? '' : stdout.toString() }).toEqual({ exitCode: 0, output: '' });
  });

  test.each(nodeVersions)(
    'exports from each door the names of the documentation to CommonJS on Node.js %s',
    async (version) => {
      const names = [...documented.keys()].map((door) => `'${door}': Object.keys(require('${door}')).sort()`);
      const script = `console.log(JSON.stringify({ ${names} }))`;
      const exported = await $`${nodePath(version)} --input-type=commonjs -e ${script}`.cwd(folder()).quiet().json();
      expect(exported).toEqual(Object.fromEntries(documented));
    },
  );

  test('has one copy of what its doors share: a guard from one works with the others', async () => {
    const imports = ['/node', '/hono', '/fastify'].map(
      (door) => `(await import('${manifest.name}${door}')).requireToken`,
    );
    const script = `
      const { createGuard } = await import('${manifest.name}');
      const { resourceServer } = await import('${manifest.name}/elysia');
      const guard = createGuard({ issuer: 'http://127.0.0.1:9/', audience: 'a' });
      for (const requireToken of [${imports}, resourceServer]) console.log(typeof requireToken(guard));`;
    const { stdout } = await $`node --input-type=module -e ${script}`.cwd(folder()).quiet();
    expect(stdout.toString().trim().split('\n')).toEqual(['function', 'function', 'function', 'object']);
  });

  test('is loaded again by a hot reload, and works with a guard that was kept', async () => {
    const turn = `
      import { Hono } from 'hono';
      import { createGuard, RejectionError } from '${manifest.name}';
      import { resourceServer } from '${manifest.name}/elysia';
      import { authOf, requireToken } from '${manifest.name}/hono';
      import { createTestIssuer } from '${manifest.name}/testing';
      const issuer = await createTestIssuer();
      const kept = (globalThis.kept ??= { guard: createGuard(issuer.options), authorization: 'Bearer ' + (await issuer.token({ sub: 'ada' })), doors: new Set() });
      const { guard, authorization, doors } = kept;
      doors.add(requireToken);
      const app = new Hono().get('/', requireToken(guard, {}, { rejection: 'throw' }), (c) => c.text(authOf(c).claims.sub));
      app.onError((error) => (error instanceof RejectionError ? error.response : new Response(String(error))));
      const [rejected, accepted] = [await app.request('/'), await app.request('/', { headers: { authorization } })];
      console.log(doors.size, rejected.status, await accepted.text());
      try { resourceServer(guard); } catch ({ message }) { console.log(message); }
      if (doors.size > 1) process.exit();
      setInterval(() => {}, 1000);`;
    await Bun.write(inFolder('hot.mjs'), turn);
    const hot = run([process.execPath, '--hot', inFolder('hot.mjs')]);
    await untilProcess(hot, () => hot.stdout().includes('\n'), 'the first turn');
    await Bun.write(inFolder('hot.mjs'), `${turn}\n`);
    const lines = (await hot.finished).stdout.split('\n');
    expect(lines).toEqual([
      '1 401 ada',
      '2 401 ada',
      expect.stringContaining('Create it again after a hot reload'),
      '',
    ]);
  });

  // None of them is published yet.
  test.each(['1.5.0', '2.0.0'])('may be installed beside Elysia %s, where all doors but one work', async (other) => {
    expect(Bun.semver.satisfies(other, manifest.peerDependencies.elysia)).toBe(true);
    const path = inFolder('node_modules/elysia/package.json');
    const installed = await Bun.file(path).text();
    await Bun.write(path, installed.replace(/"version": "[^"]+"/, `"version": "${other}"`));
    const own = `import('${manifest.name}/elysia')`;
    const others = doors.map(({ name }) => `import('${name}')`).filter((door) => door !== own);
    const script = `await Promise.all([${others}]); await ${own}.catch(({ message }) => console.log(message))`;
    const said = await $`node --input-type=module -e ${script}`.cwd(folder()).text();
    await Bun.write(path, installed);
    expect(said).toStartWith(`Cannot use Elysia ${other}: the plugin needs Elysia 1.4.28 or a later 1.4.`);
  });

  test.each([...nodeVersions, 'Bun'])('explains a token by its command under %s', async (runtime) => {
    await using issuer = await startIssuer();
    const environment = { ISSUER: issuer.url, AUDIENCE, TOKEN: mintToken(issuer.url) };
    // npx would ask the registry for another version of npm.
    const command = inFolder('node_modules/.bin', manifest.name);
    const start = runtime === 'Bun' ? [process.execPath, '--bun', command] : [nodePath(runtime), command];
    const script = ['/bin/sh', '-c', 'echo "$TOKEN" | exec "$@" explain --scope read:messages', 'sh', ...start];
    const { status, stdout } = await runToEnd(script, environment);
    expect({ status, last: stdout.trim().split('\n').at(-1) }).toEqual({ status: 0, last: '200: Token is accepted' });
  });

  test.each([...nodeVersions, 'Bun', 'Deno'])('starts an issuer by its command under %s', async (runtime) => {
    const command = inFolder('node_modules/.bin', manifest.name);
    const others: Readonly<Record<string, readonly string[]>> = {
      Bun: [process.execPath, '--bun'],
      Deno: ['deno', 'run', '--quiet', '--allow-all'],
    };
    const start = others[runtime] ?? [nodePath(runtime)];
    const port = await freePort();
    const issuer = run([...start, command, 'issuer', '--port', String(port)]);
    await untilReachable(`http://127.0.0.1:${port}/.well-known/jwks.json`, issuer, ({ ok }) => ok);
    const { stdout } = await runToEnd(['bash', '-c', `${issuer.stdout()}\necho "$TOKEN"`]);
    expect(stdout).toMatch(/^(?:[\w-]+\.){2}[\w-]+\n$/);
    issuer.signal('SIGTERM');
    await issuer.finished;
  });

  test.each(compilations)('compiles with %s under %s and %s, with @types/node %s', async (...row) => {
    const [compiler, resolution, module, types] = row;
    const { version } = await Bun.file(inFolder('node_modules/@types/node/package.json')).json();
    if (version !== types)
      await $`npm install --no-audit --no-fund --ignore-scripts @types/node@${types}`.cwd(folder()).quiet();
    const tsc = join(root, 'node_modules', compiler, 'bin/tsc');
    const names = doors.map(({ name }, index) => `export * as door${index} from '${name}';`);
    await Bun.write(inFolder('doors.ts'), names.join('\n'));
    const options = words(`${strict} --types node --module ${module} --moduleResolution ${resolution}`);
    // Several checkers at a time take twice the CPU time.
    if (compiler === 'typescript') options.push('--singleThreaded');
    const compiling = $`node ${tsc} ${options} doors.ts readme.ts ${typeTests}`.cwd(folder());
    const { exitCode, stdout } = await compiling.nothrow().quiet();
    expect([0, 1, 2], 'the compiler ended by itself').toContain(exitCode);
    // Some declarations of other packages do not compile by themselves, so applications set skipLibCheck. Ours do.
    const errors = stdout.toString().match(/^(?!node_modules\/(?!protected-api\/)).*error TS.*$/gm);
    expect(errors ?? []).toEqual([]);
  });

  /** The doors that a runtime has, its types and libraries, and how its tools resolve modules. */
  test.each([
    [
      'Cloudflare Workers',
      ['', '/hono', '/mcp'],
      '--types @cloudflare/workers-types --lib es2023',
      'bundler',
      'esnext',
    ],
    [
      'a browser',
      ['', '/hono', '/mcp', '/explain', '/testing'],
      '--typeRoots none --lib es2023,dom,dom.iterable',
      'bundler',
      'esnext',
    ],
    [
      'Bun',
      doors.map(({ name }) => name.replace(manifest.name, '')),
      '--types bun-types --lib es2023',
      'bundler',
      'preserve',
    ],
    ['Node.js, as its 16', ['', '/node', '/fastify', '/testing'], '--types node --lib es2023', 'node16', 'node16'],
    ['CommonJS of Node.js', ['', '/node', '/fastify', '/testing'], '--types node --lib es2023', 'nodenext', 'nodenext'],
  ] as const)('compiles with the types of %s only', async (runtime, names, types, resolution, module) => {
    const file = `consumer.${runtime.startsWith('CommonJS') ? 'cts' : 'ts'}`;
    const lines = names.map(
      (name, index) => `import * as door${index} from '${manifest.name}${name}';\nvoid door${index};`,
    );
    const mistake = `import { createGuard } from '${manifest.name}';\n// @ts-expect-error\ncreateGuard({ issuer: 7 });`;
    await Bun.write(inFolder(file), [...lines, mistake].join('\n'));
    const flags =
      '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --target es2023 --singleThreaded';
    const options = words(`${flags} ${types} --module ${module} --moduleResolution ${resolution}`);
    const { stdout } = await $`node ${join(root, 'node_modules/typescript/bin/tsc')} ${options} ${file}`
      .cwd(folder())
      .nothrow()
      .quiet();
    const errors = stdout.toString().match(/^(?!node_modules\/(?!protected-api\/)).*error TS.*$/gm);
    expect(errors ?? []).toEqual([]);
  });

  test('compiles under Deno, whose own check is strict', async () => {
    // The types of these frameworks take half a minute.
    const checked = doors.filter(({ name }) => isNight || !/elysia|fastify|nestjs/.test(name));
    const lines = checked.map(({ name }, index) => `import * as door${index} from '${name}';\nvoid door${index};`);
    const mistake = `import { createGuard } from '${manifest.name}';\n// @ts-expect-error\ncreateGuard({ issuer: 7 });`;
    await Bun.write(inFolder('deno/consumer.ts'), [...lines, mistake].join('\n'));
    const compilerOptions = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false };
    await Bun.write(inFolder('deno/deno.json'), JSON.stringify({ nodeModulesDir: 'manual', compilerOptions }));
    const { stderr } = await $`deno check --all consumer.ts`
      .cwd(inFolder('deno'))
      .env({ ...process.env, NO_COLOR: '1' })
      .nothrow()
      .quiet();
    const errors = stderr.toString().split('\n\n');
    expect(errors.join()).toContain('Check ');
    // Its own types of Node.js do not compile by themselves.
    expect(errors.filter((error) => /at file:.*(?:consumer\.ts|\/protected-api\/)/.test(error))).toEqual([]);
  });

  test('compiles with the tsconfig.json of `bun create elysia` and `nest new`, whose moduleResolution is node', async () => {
    const names = doors.map(({ name }, index) => `import * as door${index} from '${name}';\nvoid door${index};`);
    // A door that is not found would have no types, and so no mistake.
    const mistake = "import { createGuard } from 'protected-api';\n// @ts-expect-error\ncreateGuard({ issuer: 7 });";
    await Bun.write(inFolder('node10.ts'), [...names, mistake].join('\n'));
    const options = words('--noEmit --strict --skipLibCheck --types node --module es2022 --moduleResolution node');
    const tsc = join(root, 'node_modules/typescript-5/bin/tsc');
    for (const module of isNight ? ['es2022', 'commonjs'] : ['commonjs']) {
      const given = options.map((word) => (word === 'es2022' ? module : word));
      const { stdout } = await $`node ${tsc} ${given} --target es2023 node10.ts readme.ts`
        .cwd(folder())
        .nothrow()
        .quiet();
      expect(stdout.toString()).toBe('');
    }
  });

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
      for (const path of ['/me', '/messages']) {
        const response = await app.handle(new Request('http://localhost' + path));
        console.log(response.status, response.headers.get('www-authenticate'), (await response.json()).error);
      }`,
    );
    const { stdout } = await runToEnd([process.execPath, inFolder('run.ts')]);
    const error = 'missing_token';
    expect(stdout).toBe(`401 Bearer ${error}\n401 Bearer scope="read:messages" ${error}\n`);
  });
});
