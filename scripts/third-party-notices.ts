import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type BundledPackage, ownFolder } from './bill-of-materials.ts';

const licences = join(import.meta.dir, 'licences');
const isLicence = (name: string) => /^(?:licen[cs]e|notice|copying)\b/i.test(name);

/**
 * Returns the licences of everything in an executable that is not of this repository: of each package in the bundle,
 * and of Bun.
 *
 * @throws Error if a package has no file with its licence.
 */
export async function thirdPartyNotices(packages: readonly BundledPackage[]): Promise<string> {
  const ofPackages = packages.filter(({ folder }) => folder !== ownFolder).map(noticeOf);
  const { webkit, bun } = process.versions;
  return [
    'protected-api contains the following software, under these licences.\n',
    ...(await Promise.all(ofPackages)),
    section(`Bun ${bun}`, await Bun.file(join(licences, 'bun.md')).text()),
    section(
      `JavaScriptCore ${webkit} and tinycc, which Bun contains`,
      'To use another version of them, build Bun with it and run `bun run build` with that Bun in a clone of\n' +
        'https://github.com/protected-api/protected-api, which has the source of everything else.\n\n' +
        (await Bun.file(join(licences, 'LGPL-2.1.txt')).text()),
    ),
  ].join('\n');
}

async function noticeOf({ name, version, license, folder }: BundledPackage): Promise<string> {
  const files = (await readdir(folder)).filter(isLicence).toSorted();
  if (files.length === 0) throw new Error(`Cannot ship ${name}@${version}: it has no file with its licence`);
  const texts = await Promise.all(files.map((file) => Bun.file(join(folder, file)).text()));
  return section(`${name} ${version} (${license})`, texts.join('\n'));
}

const section = (title: string, text: string) => `${'='.repeat(80)}\n${title}\n${'='.repeat(80)}\n\n${text.trim()}\n`;
