import { join } from 'node:path';
import { $ } from 'bun';
import { kept } from '../cache.ts';

/*
 * Here clients in other languages are built on first use, each with the packages that its users install. A change of
 * its files is another folder in the cache.
 */

interface Client {
  readonly name: string;
  /** The program that builds it. */
  readonly needs: string;
  /** Returns the command, without its arguments. */
  readonly command: () => Promise<readonly string[]>;
}

const source = (path: string) => join(import.meta.dir, path);

async function built(language: string, files: readonly string[], build: (path: string) => Promise<unknown>) {
  const texts = await Promise.all(files.map((file) => Bun.file(source(`${language}/${file}`)).text()));
  return kept(`client-${language}-${Bun.hash(texts.join()).toString(36)}`, build);
}

export const clients: readonly Client[] = [
  {
    name: 'Authlib (Python)',
    needs: 'python3',
    async command() {
      const path = await built('python', ['requirements.txt'], async (unfinished) => {
        const requirements = source('python/requirements.txt');
        await $`python3 -m venv ${unfinished} && ${unfinished}/bin/python -m pip install -q -r ${requirements}`.quiet();
      });
      return [join(path, 'bin/python'), source('python/client.py')];
    },
  },
  {
    name: 'golang.org/x/oauth2 (Go)',
    needs: 'go',
    async command() {
      const path = await built('go', ['main.go', 'go.sum'], (unfinished) =>
        $`go build -buildvcs=false -o ${unfinished}/client .`.cwd(source('go')).quiet(),
      );
      return [join(path, 'client')];
    },
  },
  {
    name: 'Spring Security (Java)',
    needs: 'mvn',
    async command() {
      const path = await built('java', ['Client.java', 'pom.xml'], async (unfinished) => {
        const pom = source('java/pom.xml');
        await $`mvn -q -B -f ${pom} dependency:copy-dependencies -DoutputDirectory=${unfinished}`.quiet();
        await $`javac -d ${unfinished} -cp ${`${unfinished}/*`} ${source('java/Client.java')}`.quiet();
      });
      return ['java', '-cp', `${path}:${path}/*`, 'Client'];
    },
  },
  {
    name: 'oauth2 (Rust)',
    needs: 'cargo',
    async command() {
      const path = await built('rust', ['src/main.rs', 'Cargo.lock'], async (unfinished) => {
        await $`cargo build --quiet --locked --target-dir ${unfinished}`.cwd(source('rust')).quiet();
        await $`mv debug/client client && rm -r debug`.cwd(unfinished).quiet();
      });
      return [join(path, 'client')];
    },
  },
];
