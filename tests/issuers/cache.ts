import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { $ } from 'bun';

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

/** Returns the Python that has the packages of `python/requirements.txt`. */
export async function python(): Promise<string> {
  const requirements = join(import.meta.dir, 'python/requirements.txt');
  const version = Bun.hash(await Bun.file(requirements).text()).toString(36);
  const path = await kept(`python-${version}`, async (unfinished) => {
    await $`python3 -m venv ${unfinished} && ${unfinished}/bin/python -m pip install -q -r ${requirements}`.quiet();
  });
  return join(path, 'bin/python');
}

/** Returns the program of a Go module, which a file in `go/` names with its version. */
export async function goProgram(name: string, version: string, module: string): Promise<string> {
  const path = await kept(`${name}-${version}`, async (unfinished) => {
    await $`cp ${join(import.meta.dir, 'go', `${name}.mod`)} ${unfinished}/go.mod`;
    const build = ['-buildvcs=false', '-tags', 'sqlite', '-o', 'program'];
    await $`go mod tidy && go build ${build} ${module}`.cwd(unfinished).quiet();
  });
  return join(path, 'program');
}
