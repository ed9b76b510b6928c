import { beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Version } from '@cyclonedx/cyclonedx-library/Spec';
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation';
import { $ } from 'bun';
import { licenceProblems } from '../../scripts/bill-of-materials.ts';
import { build } from '../../scripts/build.ts';

interface Bill {
  readonly metadata: { readonly component: { readonly hashes: readonly { readonly content: string }[] } };
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly components: readonly { readonly name: string; readonly version: string; readonly licenses: unknown[] }[];
}

describe('build()', () => {
  let text: string;
  let bill: Bill;
  let executableSha256: string;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'protected-api-build-'));
    const outfile = join(folder, 'protected-api');
    await build(outfile);
    text = await Bun.file(`${outfile}.cdx.json`).text();
    bill = JSON.parse(text);
    executableSha256 = new Bun.CryptoHasher('sha256').update(await Bun.file(outfile).bytes()).digest('hex');
    await rm(folder, { recursive: true });
  }, 60_000);

  test('writes a valid CycloneDX 1.6 bill of materials', async () => {
    expect(await new JsonStrictValidator(Version.v1dot6).validate(text)).toBeNull();
  });

  test('lists every package in the bundle and nothing else but Bun', async () => {
    const listed = bill.components.map(({ name, version }) => `${name}@${version}`);
    expect(listed.toSorted()).toEqual([`bun@${Bun.version}`, ...(await packagesByPathComments())].toSorted());
  });

  test('says what the service itself depends on', () => {
    const [service] = bill.dependencies;
    const names = service?.dependsOn.map((reference) => reference.replace(/^pkg:npm\/(.+)@.*$/, '$1'));
    expect(names).toEqual(expect.arrayContaining(['elysia', 'jose', 'lru-cache', 'pino', 'prom-client']));
  });

  test('makes the same executable in any folder', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'protected-api-elsewhere-'));
    const copy = (options: string) =>
      $`cp ${options} package.json bun.lock scripts src node_modules ${folder}`.quiet().nothrow();
    // Links where the file system allows them: copying the packages takes seconds.
    if ((await copy('-rl')).exitCode !== 0) await copy('-rf');
    await $`${process.execPath} run scripts/build.ts`.cwd(folder).quiet();
    const elsewhere = await Bun.file(join(folder, 'dist/protected-api')).bytes();
    expect(new Bun.CryptoHasher('sha256').update(elsewhere).digest('hex')).toBe(executableSha256);
    await rm(folder, { recursive: true });
  }, 60_000);

  test('names the executable that it describes by its digest', () => {
    expect(bill.metadata.component.hashes.map(({ content }) => content)).toEqual([executableSha256]);
  });
});

describe('licenceProblems()', () => {
  const accepted = ['MIT', 'Apache-2.0', 'BlueOak-1.0.0', '(GPL-3.0-only OR MIT)'];
  const refused = ['GPL-3.0-only', 'UNLICENSED', 'SEE LICENSE IN LICENSE', 'MIT AND GPL-3.0-only', undefined];

  for (const license of accepted) {
    test(`accepts ${license}`, () => {
      expect(licenceProblems([{ name: 'a', version: '1.0.0', license }])).toEqual([]);
    });
  }
  for (const license of refused) {
    test(`refuses ${license}`, () => {
      const found = { name: 'a', version: '1.0.0', ...(license && { license }) };
      expect(licenceProblems([found])).toEqual([`a@1.0.0: licence "${license ?? ''}" is not on the list`]);
    });
  }
});

/** A second witness, which shares nothing with the metafile: the comment that an unminified bundle puts before each module. */
async function packagesByPathComments(): Promise<string[]> {
  const { outputs } = await Bun.build({ entrypoints: ['src/index.ts'], target: 'bun' });
  const code = (await Promise.all(outputs.map((output) => output.text()))).join('\n');
  const folders = new Set<string>();
  for (const [, folder] of code.matchAll(/^\/\/ ((?:.*\/)?node_modules\/(?:@[^/\n]+\/)?[^/\n]+)\/.*$/gm)) {
    if (folder) folders.add(folder);
  }
  const manifests = [...folders].map((folder) => Bun.file(`${folder}/package.json`).json());
  return (await Promise.all(manifests)).map(({ name, version }) => `${name}@${version}`);
}
