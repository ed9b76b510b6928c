import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import { copyRepository, readText } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const page = await readText('CONTRIBUTING.md');
/** The line before which the block of a guide for this file is added. */
const anchors: Readonly<Record<string, RegExp>> = {
  'src/routes/messages.ts': /^ {4}\.get\('\/api\/private-scoped'/m,
  'src/auth/types.ts': /^ {2}\/\*\* Verified tokens to cache/m,
  'src/auth/options/rules.ts': /^ {2}tokenCacheSize: /m,
  'src/auth/guard/decide.ts': /^ *const revocation = /m,
  'tests/auth/options/options.test.ts': /^ {2}tokenCacheSize: /m,
  'tests/auth/options/option-effects.test.ts': /^ {2}tokenCacheSize: /m,
  'tests/observe/log.test.ts': /^ {2}CLOCK_TOLERANCE_SECONDS=/m,
};
/** The tests that look at routes, and those that look at options. */
const ofRoutes = ['guards.test.ts', 'dev', 'openapi', 'routes'];
const ofOptions = ['auth/options', 'observe/log.test.ts', 'docs/generated-pages.test.ts'];

describe('CONTRIBUTING.md', async () => {
  const folder = temporaryFolder();
  await copyRepository(folder);

  /** Adds the blocks of a guide to the files that their first lines name. */
  async function follow(guide: string): Promise<void> {
    const [, section = ''] = page.split(`## ${guide}\n`);
    const blocks = [...(section.split('\n## ')[0] ?? '').matchAll(/```ts\n *\/\/ (\S+)\n(.*?) *```/gs)];
    expect(blocks.length).toBeGreaterThan(0);
    for (const [, name = '', code = ''] of blocks) {
      const file = Bun.file(join(folder, name));
      const text = await file.text();
      const at = text.search(anchors[name] ?? /^$/);
      expect(at, name).toBeGreaterThan(0);
      await Bun.write(file, `${text.slice(0, at)}${code}${text.slice(at)}`);
    }
    await $`${process.execPath} x biome check --write src tests/auth`.cwd(folder).quiet();
  }

  async function failures(suites: readonly string[]): Promise<readonly string[]> {
    const command = [process.execPath, 'test', '--timeout', '60000', '--only-failures'];
    const { stderr } = await $`${command} ${suites.map((suite) => `./tests/${suite}`)}`.cwd(folder).quiet().nothrow();
    const output = stderr.toString();
    expect(output).toMatch(/^ *\d+ pass$/m);
    return [
      ...new Set([...output.matchAll(/^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/gm)].map(([, name = '']) => name)),
    ].sort();
  }

  const write = (script: string) => $`${process.execPath} run ${script}`.cwd(folder).quiet();
  const types = () => $`${process.execPath} x tsc --noEmit`.cwd(folder).nothrow().quiet().text();

  test('says how to add a route', async () => {
    await follow('Add a route');
    expect(await failures(ofRoutes)).toEqual([
      'docs/openapi.json > is the document of the executable',
      'docs/openapi.json > is the document of the service: `bun run openapi` writes it',
    ]);
    await write('openapi');
    expect(await failures(['openapi'])).toEqual([]);
  });

  test('says how to add an option', async () => {
    await follow('Add an option');
    await write('docs');
    expect([await failures(ofOptions), await types()]).toEqual([[], '']);
  });
});
