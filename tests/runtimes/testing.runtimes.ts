import { describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { runToEnd } from '../support/child-process.ts';
import { compiled, installedPackage } from '../support/installed-package.ts';
import { isNight, newestNode, nodePath, nodeVersions } from '../support/node-versions.ts';
import { readText } from '../support/repository.ts';

const folder = installedPackage('', 'runtimes', ['own-tests.mjs']);

const commands = [
  ['Bun', 'bun test --timeout 60000'],
  ...nodeVersions.map((version) => [`Node.js ${version}`, `${nodePath(version)} --test`]),
  // Deno finds packages by its working directory, and does not type-check a tarball.
  ['Deno', 'deno test --no-prompt --no-check'],
] as const;

for (const [name, command] of commands)
  test(`an application without Elysia is tested by ${name}`, async () => {
    const inFolder = ['sh', '-c', `cd "$0" && exec ${command} ./own-tests.mjs`, folder()];
    const { status, stdout, stderr } = await runToEnd(inFolder, { NO_COLOR: '1' });
    expect(status, stdout + stderr).toBe(0);
    expect(stdout + stderr).toMatch(/\b2 pass(ed)?\b|pass 2\b/);
  });

describe('Jest, as docs/guides/testing.md has it', async () => {
  const [, section = ''] = (await readText('docs/guides/testing.md')).split('## Jest and Vitest\n');
  const [, command = ''] = /^```sh \[Jest\]\n.*\n(.*)\n/m.exec(section) ?? [];
  const [, vitest = ''] = /^```js\n(.*?)^```$/ms.exec(section) ?? [];
  const block = vitest.replace("'vitest'", "'@jest/globals'");
  const [babelConfig = '', jestConfig = ''] = section.match(/^module\.exports = .*?;$/gms) ?? [];
  const folder = installedPackage('jest@30.5.2 express @babel/plugin-transform-modules-commonjs@7.29.14');
  const lines = `
    test('a token with the scope is accepted', async () => {
      const issuer = await createTestIssuer();
      const headers = { authorization: \`Bearer \${await issuer.token({ scope: 'read:messages' })}\` };
      const request = new Request('http://localhost/', { headers });
      const result = await createGuard(issuer.options).check(request, { scope: 'read:messages' });
      expect(result).toMatchObject({ claims: { sub: 'test' } });
    });`;
  const required = `const { createGuard } = require('protected-api');
    const { createTestIssuer } = require('protected-api/testing');`;

  const forms = [
    ['app.test.mjs', block, command, {}],
    ['app.test.cjs', required + lines, 'npx jest', { 'jest.config.cjs': jestConfig, 'babel.config.cjs': babelConfig }],
  ] as const;
  // The second compiles every package. By day, managers.package.ts loads a door in CommonJS.
  test.each(isNight ? forms : forms.slice(0, 1))('%s passes', async (name, text, run, files) => {
    for (const [file, content] of Object.entries({ [name]: text, ...files }))
      await Bun.write(join(folder(), file), content);
    const inFolder = ['sh', '-c', `cd "$0" && ${run} ${name}`, folder()];
    const { status, stdout, stderr } = await runToEnd(inFolder, { HOME: folder() });
    expect(status, stdout + stderr).toBe(0);
    expect(stderr).toContain('1 passed');
  });
});

if (isNight)
  describe('the configuration of docs/guides/testing.md', async () => {
    const guide = await readText('docs/guides/testing.md');
    const [, ignored = ''] = /^ +transformIgnorePatterns: (\[.*?\]),$/ms.exec(guide) ?? [];
    const runtimePath = () => `${dirname(nodePath(newestNode))}:${process.env.PATH}`;
    const [, babelOfPage = ''] = /^\/\/ babel\.config\.js\n(.*?;)$/ms.exec(guide) ?? [];
    const patterns: unknown = new Function(`return ${ignored}`)();
    const [, block = ''] = /^```js\n(.*?)^```$/ms.exec(guide) ?? [];
    const [replacing = ''] = /^vi\.mock\(.*?guard\.js'\);$/ms.exec(guide) ?? [];
    const spec = (load: string) => `${load}
      test('a token is accepted', async () => {
        const issuer = await createTestIssuer();
        const headers = { authorization: \`Bearer \${await issuer.token()}\` };
        const { claims } = await createGuard(issuer.options).requireToken(new Request('http://localhost/', { headers }));
        expect(claims.sub).toBe('test');
      });`;
    const required = `const { createGuard } = require('protected-api');
      const { createTestIssuer } = require('protected-api/testing');`;
    const imported = `import { createGuard } from 'protected-api';
      import { createTestIssuer } from 'protected-api/testing';`;
    const ofNest = {
      rootDir: 'src',
      moduleFileExtensions: ['js', 'json', 'ts'],
      testRegex: '.*\\.spec\\.ts$',
      transform: { '^.+\\.(t|j)s$': 'ts-jest' },
    };
    const compilerOptions = { module: 'nodenext', target: 'es2023', isolatedModules: true, skipLibCheck: true };
    const nest = '@nestjs/common@11.1.9 @nestjs/core@11.1.9 reflect-metadata rxjs';

    describe.each([
      [
        'Jest with packages that pnpm has installed',
        'jest@30.5.2 @babel/plugin-transform-modules-commonjs@7.29.14',
        'pnpm',
        { jest: {} },
        { 'app.test.js': spec(required), 'babel.config.js': babelOfPage },
        'jest',
      ],
      [
        'Jest of NestJS 11',
        `jest@30.5.2 ts-jest@29.4.15 typescript@5.9.3 @types/jest@30.0.0 @types/node ${nest}`,
        'bun',
        { jest: ofNest },
        {
          'src/app.spec.ts': spec(`${imported} import 'protected-api/nestjs';`),
          'tsconfig.json': JSON.stringify({ compilerOptions }),
        },
        'jest',
      ],
      ['Vitest', 'vitest@5.1.1 express', 'bun', {}, { 'app.test.mjs': block }, 'vitest run'],
      [
        'Vitest, which replaces the file of the guard',
        'vitest@5.1.1',
        'bun',
        {},
        {
          'guard.js': "throw new Error('ISSUER is not set');",
          'app.js': "import { guard } from './guard.js';\nexport const app = (request) => guard.check(request);",
          'app.test.mjs': `import { expect, test, vi } from 'vitest';${imported}
            ${replacing}
            test('a token is accepted', async () => {
              const { app } = await import('./app.js');
              const headers = { authorization: \`Bearer \${await issuer.token()}\` };
              const { claims } = await app(new Request('http://localhost/', { headers }));
              expect(claims.sub).toBe('test');
            });`,
        },
        'vitest run',
      ],
    ] as const)('is right for %s', (_, packages, installer, manifest, files, command) => {
      const folder = installedPackage(packages, '', [], installer);

      test('which runs a test', async () => {
        const path = join(folder(), 'package.json');
        const { type: _, ...installed } = await Bun.file(path).json();
        const jest = 'jest' in manifest && { jest: { ...manifest.jest, transformIgnorePatterns: patterns } };
        await Bun.write(path, JSON.stringify({ ...installed, ...manifest, ...jest }));
        for (const [file, text] of Object.entries(files)) await Bun.write(join(folder(), file), text);
        const inFolder = ['sh', '-c', `cd "$0" && npx ${command}`, folder()];
        const { status, stdout, stderr } = await runToEnd(inFolder, { HOME: folder(), PATH: runtimePath() });
        expect(status, stdout + stderr).toBe(0);
        expect(stdout + stderr).toContain('1 passed');
      });
    });
  });

describe('servers of Node.js, with the tarball', () => {
  const fastify = 'fastify @fastify/compress @fastify/cors @fastify/helmet';
  const folder = installedPackage(`${fastify} express express-4 connect cors polka hono @hono/node-server`);

  const runs = nodeVersions.flatMap((version) =>
    ['node/servers', 'mcp/node-servers', 'mcp/targets'].map((tests) => [tests, version] as const),
  );
  test.each(runs)('pass tests/auth/%s.test.ts under Node.js %s', async (tests, version) => {
    const file = await compiled(join(import.meta.dir, `../auth/${tests}.test.ts`), folder());
    const { status, stdout, stderr } = await runToEnd([nodePath(version), '--test', file]);
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/pass [1-9]/);
  });
});

/** Fastify with its oldest middie that is maintained, and what NestJS brings. */
const nests = ['12.5.1', '11.2.10', '10.4.9'];
for (const nest of isNight ? nests : nests.slice(0, 1))
  describe(`an MCP endpoint on Fastify and NestJS ${nest}, with the tarball under Node.js`, () => {
    const ofNest = ['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@${nest}`).join(' ');
    const ofFastify = 'fastify @fastify/middie@9.3.6 fastify-4@npm:fastify@4.29.1 middie-8@npm:@fastify/middie@8.3.3';
    const folder = installedPackage(`${ofFastify} ${ofNest} reflect-metadata rxjs`);

    test('no spelling leads to it without a token', async () => {
      const file = await compiled(join(import.meta.dir, 'mcp-targets.mjs'), folder());
      const { status, stdout, stderr } = await runToEnd([nodePath(newestNode), '--test', file]);
      expect(status, stdout + stderr).toBe(0);
      expect(stdout).toMatch(/pass 4/);
    });
  });
