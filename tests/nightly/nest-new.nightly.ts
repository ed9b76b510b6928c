import { beforeAll, describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { $ } from 'bun';
import { exampleFixture } from '../examples/server-rows.ts';
import { run } from '../support/child-process.ts';
import { START_TIMEOUT_MS } from '../support/fixture.ts';
import { packed } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { readText } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * Applications that `nest new` made, with the tarball, and what docs/start/nestjs.md and docs/guides/testing.md say of
 * them.
 */

const page = await readText('docs/start/nestjs.md');
const [section = ''] = page.split('## In an application that `nest new` made\n')[1]?.split('\n## ') ?? [];
const blocks = Array.from(section.matchAll(/^```ts nightly\n(.*?)^```$/gms), ([, text = '']) => text);
const files = Array.from(section.matchAll(/`((?:src|test)\/[\w./-]+\.ts)`/g), ([, file = '']) => file);
const [, jestLine = ''] = /^```json\n(.*)$/m.exec(await readText('docs/guides/testing.md')) ?? [];

const path = `${dirname(nodePath(newestNode))}:${process.env.PATH}`;

/** NestJS, whether its tests are those of Jest, and what `tsconfig.json` of its applications has. */
const releases = [
  ['10', true, 'commonjs'],
  ['11', true, 'nodenext'],
  ['12', false, 'nodenext'],
] as const;

describe.each(releases)('an application that `nest new` of NestJS %s made', (release, usesJest, module) => {
  const parent = temporaryFolder();
  const folder = join(parent, 'app');
  /** Runs a command with the environment of the tests, which npm needs, and returns its status and output. */
  const shell = async (command: string, cwd = folder) => {
    const ended = await $`bash -c ${command}`
      .cwd(cwd)
      .env({ ...process.env, PATH: path })
      .nothrow()
      .quiet();
    return { status: ended.exitCode, output: ended.stdout.toString() + ended.stderr.toString() };
  };
  const succeeds = async (command: string, cwd?: string) => {
    const { status, output } = await shell(command, cwd);
    expect(status, output).toBe(0);
    return output;
  };
  const edit = async (file: string, ...changes: readonly (readonly [text: string, by: string])[]) => {
    let text = await Bun.file(join(folder, file)).text();
    for (const [from, by] of changes) {
      expect(text).toContain(from);
      text = text.replace(from, by);
    }
    await Bun.write(join(folder, file), text);
  };

  beforeAll(async () => {
    await succeeds(`npx --yes @nestjs/cli@${release} new app --skip-git --skip-install --package-manager npm`, parent);
    await succeeds(`npm install --no-audit --no-fund --ignore-scripts && npm install --no-audit ${await packed()}`);
    expect(files).toEqual(['src/app.module.ts', 'test/guard.e2e-spec.ts']);
    const written = (text = '') => {
      const own = usesJest ? text.replaceAll(/\.js';$/gm, "';") : text;
      return release === '10' ? own.replace('import request', 'import * as request') : own;
    };
    for (const [index, file] of files.entries()) await Bun.write(join(folder, file), written(blocks[index]));
    // The generated method stays guarded.
    await edit(
      'src/app.controller.ts',
      [
        "'@nestjs/common';",
        "$&\nimport { Auth, type Authentication, Public, RequireToken } from 'protected-api/nestjs';",
      ],
      [
        '  @Get()',
        `  @Get('health')
  @Public()
  health(): string {
    return 'ok';
  }

  @Get('messages')
  @RequireToken({ scope: 'read:messages' })
  list(@Auth() { claims }: Authentication) {
    return { hello: claims.sub };
  }

  @Get()`,
      ],
    );
    // The generated test requests `/` without a token.
    await edit('test/app.e2e-spec.ts', ['.expect(200)', '.expect(401)'], ["\n      .expect('Hello World!')", '']);
  }, START_TIMEOUT_MS);

  if (module === 'commonjs')
    test('compiles with the paths of docs/start/install.md, or with nodenext from TypeScript 5.8 on', async () => {
      const fails = async (error: string) =>
        expect(await shell('npm run build')).toEqual({ status: 1, output: expect.stringContaining(error) });
      await succeeds('npm run build');
      await edit('tsconfig.json', ['"module": "commonjs"', '"module": "nodenext"']);
      await succeeds('npm install --no-audit --no-fund --no-save typescript@5.7.3');
      await fails('TS1479');
      await succeeds('npm install --no-audit --no-fund --no-save typescript@5.8.3');
    });

  test('compiles and passes its lint', async () => {
    await succeeds('npm run build');
    await succeeds('npm run lint');
  });

  if (usesJest)
    test('fails its tests without the line for Jest', async () => {
      expect(await shell('npm test')).toEqual({ status: 1, output: expect.stringContaining('protected-api') });
      await edit('package.json', ['"jest": {', `$&\n    ${jestLine}`]);
      await edit('test/jest-e2e.json', ['{', `$&\n  ${jestLine}`]);
    });

  test('passes its own tests, and that of the page', async () => {
    expect(await succeeds('npm test')).toMatch(/Tests: +1 passed|Tests .*1 passed/);
    expect(await succeeds('npm run test:e2e')).toMatch(/Tests: +2 passed|Tests .*2 passed/);
  });

  describe('started', () => {
    const fixture = exampleFixture(`nest ${release}`, async ({ ISSUER = '', AUDIENCE = '', ...environment }) => {
      await edit('src/app.module.ts', ['http://localhost:4010/', ISSUER], ['https://api.example.com', AUDIENCE]);
      await succeeds('npm run build');
      return run(['bash', '-c', `cd ${folder} && exec node dist/main`], { ...environment, PATH: path });
    });

    test.each([
      ['/health', undefined, 200, 'ok'],
      ['/', undefined, 401, 'missing_token'],
      ['/', '', 200, 'Hello World!'],
      ['/messages', undefined, 401, 'missing_token'],
      ['/messages', '', 403, 'insufficient_scope'],
      ['/messages', 'read:messages', 200, 'ada'],
    ])('responds at %s to a token with the scope %p with %i', async (at, scope, status, part) => {
      const headers = scope === undefined ? {} : bearer(fixture().mint({ claims: { scope, sub: 'ada' } }));
      const response = await fixture().service.fetch(at, { headers });
      expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(part)]);
    });
  });
});
