import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { $ } from 'bun';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * The servers that npm does not have: got on first use, with the tools of their languages, into a folder that git
 * ignores. Each name has its versions in it, so a new version is another folder.
 */

const folder = join(import.meta.dir, '.cache');

/** Returns the folder with this name. If there is none, `get` fills it. */
export async function kept(name: string, get: (path: string) => Promise<unknown>): Promise<string> {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  const unfinished = `${path}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  await get(unfinished);
  renameSync(unfinished, path);
  return path;
}

/** Returns the folder with the JAR files that a POM in `java/` names. */
export const javaLibraries = (name: string, version: string) =>
  kept(`${name}-${version}`, async (path) => {
    const pom = join(import.meta.dir, 'java', `${name}.xml`);
    await $`mvn -q -B -f ${pom} dependency:copy-dependencies -DoutputDirectory=${path}`.quiet();
  });

/** Returns the folder of Keycloak's distribution, built for these tests. */
export const keycloak = (version: string) =>
  kept(`keycloak-${version}-nginx`, async (path) => {
    const artifact = `org.keycloak:keycloak-quarkus-dist:${version}:zip`;
    await $`mvn -q -B dependency:copy -Dartifact=${artifact} -DoutputDirectory=${path}`.quiet();
    await $`unzip -q ${path}/keycloak-quarkus-dist-${version}.zip -d ${path}`;
    await $`mv ${path}/keycloak-${version} ${path}/server && rm ${path}/keycloak-quarkus-dist-${version}.zip`;
    await $`${path}/server/bin/kc.sh build --db=dev-file --features=dpop --spi-x509cert-lookup--provider=nginx`.quiet();
  });

/** Returns the Python that has the packages of this file in `python/`. */
export async function python(name = 'requirements'): Promise<string> {
  const requirements = join(import.meta.dir, `python/${name}.txt`);
  const version = Bun.hash(await Bun.file(requirements).text()).toString(36);
  const path = await kept(`python-${version}`, async (unfinished) => {
    await $`python3 -m venv ${unfinished} && ${unfinished}/bin/python -m pip install -q -r ${requirements}`.quiet();
  });
  return join(path, 'bin/python');
}

interface GoBuild {
  readonly tags?: string;
  /** What is changed in a copy of this module, which cannot be built as the proxy has it. */
  readonly copy?: { readonly module: string; readonly edits: readonly GoEdit[] };
}

type GoEdit = readonly [file: string, from: string, to: string];

/** Returns the folder with programs of a Go module, which a file in `go/` names with its version. */
export const goPrograms = (name: string, version: string, packages: readonly string[], build: GoBuild = {}) =>
  kept(`go-${name}-${version}`, async (unfinished) => {
    const { tags = '', copy } = build;
    await $`cp ${join(import.meta.dir, 'go', `${name}.mod`)} ${unfinished}/go.mod`;
    if (copy) {
      const download = $`go mod download -json ${copy.module}@v${version}`.cwd(unfinished);
      const { Dir }: { readonly Dir: string } = await download.json();
      // Not in the cache, where tests would read its files as ours.
      const module = join(temporaryFolder(), 'module');
      await $`cp -r ${Dir} ${module} && chmod -R u+w ${module}`;
      for (const [path, from, to] of copy.edits) {
        const file = Bun.file(join(module, path));
        await file.write((await file.text()).replace(from, to));
      }
      await $`go mod edit -replace ${copy.module}=${module}`.cwd(unfinished);
    }
    const flags = ['-mod=mod', '-buildvcs=false', '-tags', tags, '-o', '.'];
    await $`go build ${flags} ${packages}`.cwd(unfinished).quiet();
  });

/** Returns the program of a Go module, which has its name. */
export const goProgram = async (name: string, version: string, path: string, build?: GoBuild) =>
  join(await goPrograms(name, version, [path], build), name);
