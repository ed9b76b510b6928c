import { resolve } from 'node:path';
import lock from '../bun.lock';

/** Licences that require only their notice. Any other licence needs a decision by a person, so it fails the build. */
const allowedLicences: ReadonlySet<string> = new Set(
  '0BSD Apache-2.0 BlueOak-1.0.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT Unlicense'.split(' '),
);

interface PackageManifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface BundledPackage extends PackageManifest {
  readonly folder: string;
}

/** What is shipped: its manifest, what kind of thing it is, and its digest in hexadecimal. */
interface Subject {
  readonly manifest: PackageManifest;
  readonly type: 'application' | 'library';
  readonly hash: { readonly alg: string; readonly content: string };
}

/** The package of this repository, which a bundle contains as source. */
export const ownFolder = 'src/auth';

/** Returns the packages in these folders, ordered by name and version. */
export async function packagesIn(folders: Iterable<string>): Promise<BundledPackage[]> {
  const packages = new Map<string, BundledPackage>();
  for (const folder of new Set(folders)) {
    const manifest: PackageManifest = await Bun.file(resolve(folder, 'package.json')).json();
    packages.set(purl(manifest), { ...manifest, folder });
  }
  return [...packages.values()].toSorted((a, b) => (purl(a) < purl(b) ? -1 : 1));
}

/** Returns all packages with at least one byte in the bundle, ordered by name and version. */
export function bundledPackages(metafile: Bun.BuildMetafile): Promise<BundledPackage[]> {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const folder = new RegExp(`^.*node_modules/(?:@[^/]+/)?[^/]+|^${ownFolder}(?=/)`);
  return packagesIn(
    inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? (folder.exec(path) ?? []) : [])),
  );
}

/**
 * Returns a line for each package whose licence is missing or not on the list. Of a choice (`OR`), one must be on the
 * list.
 */
export function licenceProblems(packages: readonly PackageManifest[]): string[] {
  const isAllowed = (expression: string) => expression.split(' OR ').some((licence) => allowedLicences.has(licence));
  return packages
    .filter(({ license }) => !isAllowed((license ?? '').replace(/^\((.*)\)$/, '$1')))
    .map(({ name, version, license }) => `${name}@${version}: licence "${license ?? ''}" is not on the list`);
}

/**
 * Returns a CycloneDX 1.6 bill of materials: what is shipped, these packages, and for an executable Bun with the
 * libraries that Bun itself is built from. It has no serial number and no time, so the same source gives the same bill.
 * @cyclonedx/cyclonedx-esbuild is not used, because it includes neither Bun nor digests, and the image build would have
 * to install it.
 */
export function billOfMaterials({ manifest, type, hash }: Subject, packages: readonly BundledPackage[]): string {
  const reference = new Map(packages.map((found) => [found.name, purl(found)]));
  const dependsOn = (...lists: (Readonly<Record<string, string>> | undefined)[]) =>
    Object.keys(Object.assign({}, ...lists)).flatMap((name) => reference.get(name) ?? []);
  const runtime = type === 'application' ? [bunComponent()] : [];
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    metadata: { component: componentOf(manifest, type, [hash]) },
    components: [...runtime, ...packages.map((found) => componentOf(found, 'library', lockedHashes(found)))],
    dependencies: [
      { ref: purl(manifest), dependsOn: [...runtime.map((bun) => bun.purl), ...dependsOn(manifest.dependencies)] },
      ...packages.map((found) => ({
        ref: purl(found),
        dependsOn: dependsOn(found.dependencies, found.peerDependencies),
      })),
    ],
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}

const purl = ({ name, version }: PackageManifest) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

function componentOf(found: PackageManifest, type: Subject['type'], hashes: readonly Subject['hash'][]) {
  const { name, version, license = '' } = found;
  const licenses = [license.includes(' ') ? { expression: license } : { license: { id: license } }];
  // A private package is on no registry, which a purl would say.
  const published = found.private ? {} : { purl: purl(found) };
  return { 'bom-ref': purl(found), type, name, version, ...published, licenses, hashes };
}

/** Entries of `process.versions` whose interfaces Bun imitates, but which it does not contain. */
const imitated: ReadonlySet<string> = new Set(['bun', 'node', 'modules', 'napi', 'openssl', 'uv', 'v8']);

/** Bun is not in the lockfile but is most of the executable; WebKit's JavaScriptCore in it is under the LGPL. */
function bunComponent() {
  const { bun: version } = process.versions;
  const purl = `pkg:github/oven-sh/bun@bun-v${version}`;
  const components = Object.entries(process.versions)
    .filter(([name]) => !imitated.has(name))
    .map(([name, version]) => {
      const licenses = name === 'webkit' ? [{ license: { id: 'LGPL-2.0-or-later' } }] : undefined;
      return { type: 'library', name, version, licenses };
    });
  const licenses = [{ license: { id: 'MIT' } }];
  return { 'bom-ref': purl, type: 'platform', name: 'bun', version, purl, licenses, components };
}

/** The package of this repository has no digest in the lockfile. */
function lockedHashes({ name, version, folder }: BundledPackage): Subject['hash'][] {
  if (folder === ownFolder) return [];
  const locked = Object.values(lock.packages).find(([resolution]) => resolution === `${name}@${version}`);
  const integrity = locked?.find((field) => typeof field === 'string' && field.startsWith('sha512-'));
  if (typeof integrity !== 'string') throw new Error(`Cannot find ${name}@${version} in bun.lock`);
  return [{ alg: 'SHA-512', content: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex') }];
}
