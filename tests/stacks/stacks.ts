import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { $ } from 'bun';
import { serveIssuer } from '../../src/probe/command/issuer.ts';
import { startApi } from '../../src/probe/command/start.ts';
import type { ProbedRow } from '../../src/probe/index.ts';
import { publishPlain } from '../../src/probe/issuer/served-issuer.ts';
import { runProbe } from '../../src/probe/run/probe.ts';
import { type Library, notConfirmed } from '../compare/page.ts';
import { freePort } from '../support/child-process.ts';
import { root } from '../support/repository.ts';
import listed from './stacks.json';

// Here stacks of other languages are built, started as their documentation has it, and tried twice: by the probe, and
// by a program that shares no code with it.

export interface Stack extends Library {
  readonly language: string;
  readonly file: string;
  readonly start: string;
  /** Whether it rejects a whole key set for one weak key, so that the issuer publishes its own alone. */
  readonly isPlain?: boolean;
}
export const stacks: readonly Stack[] = listed;
export const audience = 'https://api.example.com';
/** Rows that are not published: the maintainers of a library are told first what they show. */
const setAside = ['alg-spelling', 'fetch-redirect', 'fetch-redirect-forged'];

const here = import.meta.dir;
const cache = join(root, 'node_modules/.cache/stacks');
const folders = {
  PYTHON: join(cache, 'python/bin/python'),
  GO: join(cache, 'go'),
  JAVA: join(cache, 'java'),
  RUST: join(cache, 'rust/release'),
};
const confirming = join(cache, 'confirm');

/** A program of another module, by its version. */
const oauth2Proxy = 'github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6';

/** Builds what the stacks of a language need, in a folder that git ignores. */
const builds: Readonly<Record<string, () => Promise<unknown>>> = {
  async Python() {
    const marker = join(
      cache,
      'python',
      Bun.hash(await Bun.file(join(here, 'python/requirements.txt')).text()).toString(),
    );
    if (existsSync(marker)) return;
    await $`python3 -m venv ${join(cache, 'python')}`.quiet();
    await $`${folders.PYTHON} -m pip install --quiet --requirement ${join(here, 'python/requirements.txt')}`.quiet();
    await Bun.write(marker, '');
  },
  async Go() {
    await $`go build -o ${folders.GO}/ ./...`.cwd(join(here, 'go')).quiet();
    if (existsSync(join(folders.GO, 'oauth2-proxy'))) return;
    await $`go install ${oauth2Proxy}`.env({ ...process.env, GOBIN: folders.GO }).quiet();
  },
  Ruby: () => $`ruby -e ${"require 'sinatra/base'; require 'jwt'; require 'puma'"}`.quiet(),
  Perl: () => $`perl -MMojolicious -MCrypt::JWT -e 1`.quiet(),
  async Java() {
    const output = `-DoutputDirectory=${folders.JAVA}/quarkus`;
    await $`mvn -q -B -DskipTests ${output} package`.cwd(join(here, 'java/quarkus')).quiet();
    const [source, target] = [join(here, 'java/spring'), join(folders.JAVA, 'spring')];
    await $`mvn -q -B -DoutputDirectory=${target} dependency:copy-dependencies`.cwd(source).quiet();
    await $`javac -parameters -cp ${`${target}/*`} -d ${target}/classes Messages.java`.cwd(source).quiet();
  },
  Proxies: () => $`haproxy -v && apache2 -v && test -f /usr/lib/apache2/modules/mod_auth_openidc.so`.quiet(),
  Rust: () =>
    $`cargo build --quiet --release --locked --target-dir ${join(cache, 'rust')}`.cwd(join(here, 'rust')).quiet(),
};

/** Builds the languages that this machine has, and says why the others are left out. */
export async function buildAll(languages = Object.keys(builds)): Promise<ReadonlyMap<string, string | undefined>> {
  mkdirSync(cache, { recursive: true });
  await $`go build -o ${confirming} .`.cwd(join(here, 'confirm')).quiet();
  const built = new Map<string, string | undefined>();
  for (const language of languages) {
    const why = await builds[language]?.().then(
      () => undefined,
      (error: unknown) =>
        error instanceof $.ShellError ? error.stderr.toString().trim().split('\n').at(-1) : String(error),
    );
    built.set(language, why);
  }
  return built;
}

/** Tries a stack by the probe, with all rows or some. */
export async function tryStack(
  { start, file, isPlain = false }: Pick<Stack, 'start' | 'file' | 'isPlain'>,
  only?: readonly string[],
): Promise<readonly ProbedRow[]> {
  const port = String(await freePort());
  const served = await serveIssuer({ port: '0', audience, hasTls: false });
  if (isPlain) publishPlain(served.server);
  const api = startApi(commandIn(file, start), { ...folders, ...served.settings, PORT: port });
  const options = { issuer: served.issuer, targets: [`http://127.0.0.1:${port}/messages`], skip: setAside };
  try {
    const isReady = async () => (await runProbe({ ...options, only: ['control'] }, served.server)).isComplete;
    for (let left = 120; left > 0 && !(await isReady()); left -= 1) {
      const how = api.ended();
      if (how !== undefined) throw new Error(`Cannot start ${file}: it has ended ${how}`);
      await Bun.sleep(500);
    }
    if (!(await isReady())) throw new Error(`Cannot try ${file}: it does not accept a good token`);
    return (await runProbe(only ? { ...options, only } : options, served.server)).rows;
  } finally {
    await api.stop();
    await served.close();
  }
}
const commandIn = (file: string, start: string) => `cd "${join(here, dirname(file))}" && ${start}`;

/** Tries a stack by the second program, and returns the statuses by row. */
export async function confirm({
  start,
  file,
  isPlain = false,
}: Stack): Promise<Readonly<Record<string, readonly number[]>>> {
  const port = String(await freePort());
  const env = { ...process.env, ...folders, PORT: port };
  const text = await $`${confirming} -plain=${isPlain} -port ${port} -start ${commandIn(file, start)}`
    .env(env)
    .quiet()
    .text();
  return JSON.parse(text) as Record<string, number[]>;
}

/** Whether the second program got what the probe accuses a stack of. */
function isConfirmed({ expected, got }: ProbedRow, statuses: readonly number[] = []): boolean {
  const isServed = (status: number) => status >= 200 && status < 300;
  if (/^5\d\d/.test(got) || expected === 'no 5xx') return statuses.some((status) => status >= 500);
  const wanted = /^4\d\d(?: or 4\d\d)?/.exec(expected)?.[0].split(' or ');
  if (wanted) return statuses.some((status) => !wanted.includes(String(status)));
  if (expected.startsWith('success')) return statuses.some((status) => !isServed(status));
  return statuses.some(isServed);
}

/** Marks what accuses a stack and was not confirmed. */
export function confirmedRows(
  rows: readonly ProbedRow[],
  statuses: Awaited<ReturnType<typeof confirm>>,
): readonly ProbedRow[] {
  return rows.map((row) => {
    const isAccused = row.verdict !== 'passed' && row.verdict !== 'skipped';
    if (!isAccused || isConfirmed(row, statuses[row.id])) return row;
    return { ...row, verdict: 'inconclusive', got: notConfirmed };
  });
}

/** Where versions are written: a file, and what finds a name and its version in it. */
const written: readonly (readonly [file: string, versions: RegExp])[] = [
  ['python/requirements.txt', /^(\S+)==(\S+)$/gm],
  ['go/go.mod', /^\t(\S+) v(\S+)/gm],
  ['rust/Cargo.lock', /^name = "(axum|jsonwebtoken)"\nversion = "([^"]+)"/gm],
  ['java/spring/pom.xml', /<artifactId>(spring-boot)-starter-parent<\/artifactId>\s*<version>([^<]+)/g],
  ['java/quarkus/pom.xml', /<(quarkus)\.version>([^<]+)/g],
];
const debian = [
  ...['ruby-sinatra', 'ruby-jwt', 'libmojolicious-perl', 'libcrypt-jwt-perl'],
  ...['haproxy', 'apache2', 'libapache2-mod-auth-openidc'],
];

/** Returns the versions of what the stacks are built of. */
export async function versions(): Promise<Readonly<Record<string, string>>> {
  const [module = '', version = ''] = oauth2Proxy.split('@v');
  const found: Record<string, string> = { [module]: version };
  for (const [file, pattern] of written)
    for (const [, name = '', its = ''] of (await Bun.file(join(here, file)).text()).matchAll(pattern))
      found[name] = its;
  for (const name of debian)
    found[name] = (await $`dpkg-query --show ${name}`.nothrow().quiet().text()).split('\t')[1]?.trim() ?? '';
  return found;
}
