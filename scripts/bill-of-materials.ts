import { resolve } from 'node:path';
import lock from '../bun.lock';
import manifest from '../package.json';
import guardManifest from '../src/auth/package.json';

/** Licences that require only their notice. Any other licence needs a decision by a person, so it fails the build. */
const allowedLicences: ReadonlySet<string> = new Set(
  '0BSD Apache-2.0 BlueOak-1.0.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT Unlicense'.split(' '),
);

interface PackageManifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Returns the manifests of all packages with at least one byte in the bundle, ordered by name and version. */
export async function bundledPackages(metafile: Bun.BuildMetafile): Promise<PackageManifest[]> {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const folders = inputs.flatMap(([path, { bytesInOutput }]) =>
    bytesInOutput > 0 ? (/^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []) : [],
  );
  const packages = new Map<string, PackageManifest>();
  for (const folder of new Set(folders)) {
    const found: PackageManifest = await Bun.file(resolve(folder, 'package.json')).json();
    packages.set(purl(found), found);
  }
  return [...packages.values()].toSorted((a, b) => (purl(a) < purl(b) ? -1 : 1));
}

/** Returns a line for each package whose licence is missing or not on the list. Of a choice (`OR`), one must be on the list. */
export function licenceProblems(packages: readonly PackageManifest[]): string[] {
  const isAllowed = (expression: string) => expression.split(' OR ').some((licence) => allowedLicences.has(licence));
  return packages
    .filter(({ license }) => !isAllowed((license ?? '').replace(/^\((.*)\)$/, '$1')))
    .map(({ name, version, license }) => `${name}@${version}: licence "${license ?? ''}" is not on the list`);
}

/**
 * Returns a CycloneDX 1.6 bill of materials of an executable: the packages in its bundle, and Bun with the libraries
 * that Bun itself is built from. It has no serial number and no time, so the same source gives the same bill.
 * @cyclonedx/cyclonedx-esbuild is not used, because it includes neither Bun nor digests, and the image build would have to
 * install it.
 */
export function billOfMaterials(packages: readonly PackageManifest[], executableSha256: string): object {
  const reference = new Map(packages.map((found) => [found.name, purl(found)]));
  const dependsOn = (...lists: (Readonly<Record<string, string>> | undefined)[]) =>
    Object.keys(Object.assign({}, ...lists)).flatMap((name) => reference.get(name) ?? []);
  const bun = bunComponent();
  const direct = dependsOn(manifest.dependencies, guardManifest.dependencies);
  const { purl: ref, ...described } = componentOf(manifest, 'application', {
    alg: 'SHA-256',
    content: executableSha256,
  });
  const libraries = packages.map((found) => {
    const content = lockedSha512(`${found.name}@${found.version}`);
    return componentOf(found, 'library', { alg: 'SHA-512', content });
  });
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    metadata: { component: described },
    components: [bun, ...libraries],
    dependencies: [
      { ref, dependsOn: [bun.purl, ...direct] },
      ...packages.map((found) => ({
        ref: purl(found),
        dependsOn: dependsOn(found.dependencies, found.peerDependencies),
      })),
    ],
  };
}

const purl = ({ name, version }: { name: string; version: string }) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

function componentOf(found: PackageManifest, type: string, hash: { readonly alg: string; readonly content: string }) {
  const { name, version, license = '' } = found;
  const licenses = [license.includes(' ') ? { expression: license } : { license: { id: license } }];
  return { 'bom-ref': purl(found), type, name, version, purl: purl(found), licenses, hashes: [hash] };
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

function lockedSha512(nameAndVersion: string): string {
  const locked = Object.values(lock.packages).find(([resolution]) => resolution === nameAndVersion);
  const integrity = locked?.find((field) => typeof field === 'string' && field.startsWith('sha512-'));
  if (typeof integrity !== 'string') throw new Error(`Cannot find ${nameAndVersion} in bun.lock`);
  return Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
}
