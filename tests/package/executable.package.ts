import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Version } from '@cyclonedx/cyclonedx-library/Spec';
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation';
import { $ } from 'bun';
import manifest from '../../package.json';
import { licenceProblems } from '../../scripts/bill-of-materials.ts';
import { build } from '../../scripts/build.ts';
import { copyRepository, copySources } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Bill {
  readonly metadata: { readonly component: { readonly hashes: readonly { readonly content: string }[] } };
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly components: readonly { readonly name: string; readonly version: string; readonly licenses: unknown[] }[];
}

const sha256 = async (file: string) =>
  new Bun.CryptoHasher('sha256').update(await Bun.file(file).bytes()).digest('hex');

describe('build()', async () => {
  const folder = temporaryFolder();
  await build(join(folder, 'protected-api'));
  const text = await Bun.file(join(folder, 'protected-api.cdx.json')).text();
  const bill: Bill = JSON.parse(text);

  test('writes a valid CycloneDX 1.6 bill of materials', async () =>
    expect(await new JsonStrictValidator(Version.v1dot6).validate(text)).toBeNull());

  test('lists every package in the bundle and nothing else but Bun', async () => {
    // A second witness, which shares nothing with the metafile: the comments that an unminified bundle has before each module.
    const { outputs } = await Bun.build({ entrypoints: ['src/index.ts'], target: 'bun' });
    const code = (await Promise.all(outputs.map((output) => output.text()))).join('\n');
    const comments = code.matchAll(/^\/\/ ((?:.*\/)?node_modules\/(?:@[^/\n]+\/)?[^/\n]+)\/.*$/gm);
    const folders = new Set([...comments].map(([, path]) => path));
    const manifests = [...folders].map((path) => Bun.file(`${path}/package.json`).json());
    expect(bill.components.map(({ name, version }) => `${name}@${version}`).toSorted()).toEqual(
      [`bun@${Bun.version}`, ...(await Promise.all(manifests)).map(({ name, version }) => `${name}@${version}`)].sort(),
    );
  });

  test('says what the service itself depends on', () => {
    const names = bill.dependencies[0]?.dependsOn.map((reference) => reference.replace(/^pkg:npm\/(.+)@.*$/, '$1'));
    expect(names).toEqual(expect.arrayContaining(['elysia', 'jose', 'lru-cache', 'pino', 'prom-client']));
  });

  test('makes the same executable in any folder, and names it by its digest', async () => {
    await copyRepository(folder);
    await $`${process.execPath} run scripts/build.ts`.cwd(folder).quiet();
    const digest = await sha256(join(folder, 'protected-api'));
    expect(await sha256(join(folder, 'dist/protected-api'))).toBe(digest);
    expect(bill.metadata.component.hashes.map(({ content }) => content)).toEqual([digest]);
  });
});

test('a fresh clone starts with what bun install --production installs', async () => {
  const folder = temporaryFolder();
  await copySources(folder);
  await $`${process.execPath} install --production --frozen-lockfile`.cwd(folder).quiet();
  expect(await $`${process.execPath} run src/index.ts --version`.cwd(folder).text()).toBe(`${manifest.version}\n`);
});

test.each([
  ['MIT', true],
  ['Apache-2.0', true],
  ['BlueOak-1.0.0', true],
  ['(GPL-3.0-only OR MIT)', true],
  ['GPL-3.0-only', false],
  ['UNLICENSED', false],
  ['SEE LICENSE IN LICENSE', false],
  ['MIT AND GPL-3.0-only', false],
  ['', false],
])('licenceProblems() accepts %j: %p', (license, isAccepted) => {
  const problem = `a@1.0.0: licence "${license}" is not on the list`;
  const found = { name: 'a', version: '1.0.0', ...(license && { license }) };
  expect(licenceProblems([found])).toEqual(isAccepted ? [] : [problem]);
});
