import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Version } from '@cyclonedx/cyclonedx-library/Spec';
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation';
import { $ } from 'bun';
import manifest from '../../package.json';
import { licenceProblems, packagesIn } from '../../scripts/bill-of-materials.ts';
import { build } from '../../scripts/build.ts';
import { signatureOf } from '../../scripts/code-signature.ts';
import { packageBill } from '../../scripts/release.ts';
import { thirdPartyNotices } from '../../scripts/third-party-notices.ts';
import guardManifest from '../../src/auth/package.json';
import { packed } from '../support/installed-package.ts';
import { isNight } from '../support/node-versions.ts';
import { copyRepository, copySources } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Bill {
  readonly metadata: { readonly component: { readonly hashes: readonly { readonly content: string }[] } };
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly components: readonly { readonly name: string; readonly version: string; readonly purl: string }[];
}

const isValid = async (bill: string) => (await new JsonStrictValidator(Version.v1dot6).validate(bill)) === null;

const sha256 = async (file: string) =>
  new Bun.CryptoHasher('sha256').update(await Bun.file(file).bytes()).digest('hex');

describe('build()', async () => {
  const folder = temporaryFolder();
  await build(folder);
  const text = await Bun.file(join(folder, 'protected-api.cdx.json')).text();
  const bill: Bill = JSON.parse(text);

  test('writes a valid CycloneDX 1.6 bill of materials', async () => expect(await isValid(text)).toBe(true));

  test('lists every package in the bundle, this one too, and nothing else but Bun', async () => {
    // A second witness, which shares nothing with the metafile: the comments that an unminified bundle has before each
    // module.
    const { outputs } = await Bun.build({ entrypoints: ['src/index.ts'], target: 'bun' });
    const code = (await Promise.all(outputs.map((output) => output.text()))).join('\n');
    const comments = code.matchAll(/^\/\/ ((?:.*\/)?node_modules\/(?:@[^/\n]+\/)?[^/\n]+)\/.*$/gm);
    const folders = new Set([...comments].map(([, path = '']) => path));
    const found = await packagesIn([...folders, 'src/auth']);
    expect(code).toContain('\n// src/auth/');
    const namesOf = (packages: readonly { name: string; version: string }[]) =>
      packages.map(({ name, version }) => `${name}@${version}`);
    expect(namesOf(bill.components).toSorted()).toEqual([`bun@${Bun.version}`, ...namesOf(found)].toSorted());
    expect(bill.components.map(({ purl }) => purl)).toContain(`pkg:npm/protected-api@${manifest.version}`);

    const notices = await Bun.file(join(folder, 'THIRD-PARTY-NOTICES')).text();
    const titles = [...notices.matchAll(/^={80}\n(\S+) (\S+) \(.*\)\n={80}$/gm)].map(([, name, at]) => `${name}@${at}`);
    expect([...titles, `protected-api@${manifest.version}`].toSorted()).toEqual(namesOf(found).toSorted());
  });

  test('says what the service itself depends on', () => {
    const names = bill.dependencies[0]?.dependsOn.map((reference) => reference.replace(/^pkg:npm\/(.+)@.*$/, '$1'));
    expect(names).toEqual(expect.arrayContaining(['elysia', 'protected-api', 'pino', 'prom-client']));
  });

  test('makes the same executable in any folder, and names it by its digest', async () => {
    await copyRepository(folder);
    await $`${process.execPath} run scripts/build.ts`.cwd(folder).quiet();
    const digest = await sha256(join(folder, 'protected-api'));
    expect(await sha256(join(folder, 'dist/protected-api'))).toBe(digest);
    expect(bill.metadata.component.hashes.map(({ content }) => content)).toEqual([digest]);
  });
});

test('the bill of materials of the package is valid, and has its digest and what it depends on', async () => {
  const text = await packageBill(await packed());
  const bill: Bill = JSON.parse(text);
  expect(await isValid(text)).toBe(true);
  const digest = new Bun.CryptoHasher('sha512').update(await Bun.file(await packed()).bytes()).digest('hex');
  expect(bill.metadata.component.hashes.map(({ content }) => content)).toEqual([digest]);
  expect(bill.components.map(({ name }) => name)).toEqual(Object.keys(guardManifest.dependencies));
  expect(bill.dependencies[0]).toEqual({
    ref: `pkg:npm/protected-api@${manifest.version}`,
    dependsOn: bill.components.map(({ purl }) => purl),
  });
});

describe('THIRD-PARTY-NOTICES', () => {
  test('has what Bun itself contains, as the documentation of this version of Bun has it', async () => {
    const page = await Bun.file('node_modules/bun-types/docs/project/license.mdx').text();
    const notices = await thirdPartyNotices([]);
    expect(notices).toContain(page.replace(/^---.*?^---$/ms, '').trim());
    expect(notices).toContain('GNU LESSER GENERAL PUBLIC LICENSE');
  });

  test('is not written without the licence of a package', async () => {
    const found = { name: 'a', version: '1.0.0', license: 'MIT', folder: temporaryFolder() };
    await expect(thirdPartyNotices([found])).rejects.toThrow('Cannot ship a@1.0.0: it has no file with its licence');
  });
});

describe('for macOS, build() leaves no signature that does not match', () => {
  const built = async (target: string) => {
    const folder = temporaryFolder();
    await build(folder, target);
    return Buffer.from(await Bun.file(join(folder, 'protected-api')).arrayBuffer());
  };

  // Bun signs it, and build() leaves it alone.
  if (isNight)
    test('on arm64: the signature has the SHA-256 of each page', async () => {
      const file = await built('bun-darwin-arm64');
      const { start = 0, end } = signatureOf(file) ?? {};
      // A SuperBlob with one CodeDirectory (`kern/cs_blobs.h`).
      const directory = start + file.readUInt32BE(start + 16);
      const [hashes = 0, , , count = 0, limit = 0] = [16, 20, 24, 28, 32].map((at) =>
        file.readUInt32BE(directory + at),
      );
      const pageSize = 2 ** file.readUInt8(directory + 39);
      expect([end, limit, count]).toEqual([file.length, start, Math.ceil(start / pageSize)]);
      const wrong = Array.from({ length: count }, (_, page) => page).filter((page) => {
        const bytes = file.subarray(page * pageSize, Math.min((page + 1) * pageSize, limit));
        const at = directory + hashes + page * 32;
        return !file.subarray(at, at + 32).equals(new Bun.CryptoHasher('sha256').update(bytes).digest());
      });
      expect(wrong).toEqual([]);
    });

  test('on x64: there is none, and the file ends with its last segment', async () => {
    const file = await built('bun-darwin-x64');
    expect(signatureOf(file)).toBeUndefined();
    const [linkEdit] = [file.indexOf('__LINKEDIT') - 8];
    expect(file.readBigUInt64LE(linkEdit + 40) + file.readBigUInt64LE(linkEdit + 48)).toBe(BigInt(file.length));
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
