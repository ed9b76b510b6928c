import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Mutant, mutantsOf } from './mutants.ts';
import { type MutantLeft, mutantsLeft } from './mutants-left.ts';

const usage = `Usage: bun run mutate [--jobs=N] [--only=PATTERN] [--list]

Takes one check at a time out of src/auth and src/app.ts, in a private copy, and runs the tests that
should notice. Exit status 1 when a mutant survives that scripts/mutants-left.ts does not list.

  --jobs=N        so many copies at once (2)
  --only=PATTERN  only mutants whose FILE:LINE matches this regular expression
  --list          show the mutants, run nothing
`;

/** What is mutated: everything that decides who gets in and what is answered. */
const FILES = [...new Bun.Glob('src/auth/*.ts').scanSync(join(import.meta.dir, '..')), 'src/app.ts'].sort();
/** What kills, quickest first: a mutant meets the next only when it survived those before. */
const GROUPS: readonly (readonly string[])[] = [
  ['tests/auth', 'tests/guards.test.ts'],
  ['./tests/adversary/known-attacks.adversary.ts', './tests/adversary/known-cache-attacks.adversary.ts'],
  ['./tests/adversary/key-set-bounds.adversary.ts', './tests/adversary/key-set-times.adversary.ts'],
  ['./tests/adversary/known-key-set-attacks.adversary.ts', './tests/http/internal-error.test.ts'],
  ['tests/http/dpop.test.ts', '-t', 'in-process|DPOP=off'],
  ['tests/http/http-table.test.ts', '-t', 'in-process'],
  ['tests/http/internal-error.test.ts', 'tests/http/added-routes.test.ts', 'tests/http/hosts.test.ts'],
  // In a copy there is no executable to build, and no lockfile to build it from.
  ['tests/docs', '-t', '^(?!.*(?:dist/|executable|src/index|embedded))'],
  ['tests/operations/metrics.test.ts', '-t', 'src/index.ts'],
  ['./tests/adversary/generated.adversary.ts', './tests/adversary/proofs.adversary.ts'],
].map((tests) => ['test', '--bail', ...tests]);
/** The compiler is a test too: what it refuses cannot be committed. */
const COMPILER = ['run', 'types'];
/** A mutant that never ends is as dead as one that fails. */
const MAX_GROUP_MS = 60_000;
const ENVIRONMENT = { ...process.env, ADVERSARY_TOKENS: '3000', ADVERSARY_SEED: '1' };

const root = join(import.meta.dir, '..');

function makeCopy(): string {
  const copy = mkdtempSync(join(tmpdir(), 'mutate-'));
  for (const name of ['src', 'tests', 'scripts', 'package.json', 'tsconfig.json', 'bunfig.toml']) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** The tests of the file itself come first: most mutants die there within a second. */
function groupsFor(file: string): readonly (readonly string[])[] {
  const own = file.replace(/^src/, 'tests').replace(/\.ts$/, '.test.ts');
  const first = existsSync(join(root, own)) ? [['test', '--bail', own]] : [];
  return [...first, ...GROUPS, COMPILER];
}

/** Ends the services that tests which failed have left running: they are of the same process group. */
function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // None is left.
  }
}

/** Returns the first group that fails in this copy, where this file is changed; undefined when all pass. */
async function failingGroup(copy: string, file: string): Promise<string | undefined> {
  for (const group of groupsFor(file)) {
    const child = Bun.spawn([process.execPath, ...group], {
      cwd: copy,
      env: ENVIRONMENT,
      stdio: ['ignore', 'ignore', 'ignore'],
      timeout: MAX_GROUP_MS,
      killSignal: 'SIGKILL',
      detached: true,
    });
    const status = await child.exited;
    endGroup(child.pid);
    if (status !== 0) return group.join(' ');
  }
  return undefined;
}

interface Result {
  readonly mutant: Mutant;
  readonly killedBy: string | undefined;
}

/** Takes mutants from the queue until it is empty, each in this copy, which is whole again afterwards. */
async function work(copy: string, queue: Mutant[], results: Result[]): Promise<void> {
  for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
    const path = join(copy, mutant.file);
    const original = await Bun.file(path).text();
    await Bun.write(path, mutant.source);
    const killedBy = await failingGroup(copy, mutant.file);
    await Bun.write(path, original);
    results.push({ mutant, killedBy });
    console.log(
      `${killedBy ? 'killed  ' : 'SURVIVED'} ${mutant.file}:${mutant.line} ${mutant.what} [${queue.length} to go]`,
    );
  }
}

const isSame = (left: MutantLeft, { file, original, what }: Mutant) =>
  left.file === file && left.original === original && left.what.includes(what);

function report(results: readonly Result[]): number {
  for (const file of FILES) {
    const here = results.filter(({ mutant }) => mutant.file === file);
    if (here.length > 0)
      console.log(`${file}: ${here.filter(({ killedBy }) => killedBy).length} of ${here.length} killed`);
  }
  const survivors = results.flatMap(({ mutant, killedBy }) => (killedBy ? [] : [mutant]));
  const isListed = (mutant: Mutant) => mutantsLeft.some((left) => isSame(left, mutant));
  const unlisted = survivors.filter((mutant) => !isListed(mutant));
  const killedAfterAll = results.flatMap(({ mutant, killedBy }) => (killedBy && isListed(mutant) ? [mutant] : []));
  console.log(`${results.length} mutants, ${survivors.length} survived, ${unlisted.length} of them without a reason`);
  const tell = (heading: string, { file, line, what, original }: Mutant) =>
    console.log(`${heading}: ${file}:${line} ${what}\n    ${original}`);
  for (const mutant of unlisted) tell('Has no reason', mutant);
  for (const mutant of killedAfterAll) tell('Is killed, and listed as one left', mutant);
  return unlisted.length + killedAfterAll.length === 0 ? 0 : 1;
}

async function run(mutants: readonly Mutant[], jobs: number): Promise<number> {
  const copies = Array.from({ length: jobs }, makeCopy);
  try {
    const failing = await failingGroup(copies[0] ?? '', 'src/app.ts');
    if (failing) {
      process.stderr.write(`Cannot mutate: ${failing} fails before anything is changed\n`);
      return 1;
    }
    const queue = [...mutants];
    const results: Result[] = [];
    await Promise.all(copies.map((copy) => work(copy, queue, results)));
    return report(results);
  } finally {
    for (const copy of copies) rmSync(copy, { recursive: true, force: true });
  }
}

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const sources = await Promise.all(
  FILES.map(async (file) => ({ file, source: await Bun.file(join(root, file)).text() })),
);
const mutants = sources
  .flatMap(({ file, source }) => mutantsOf(file, source))
  .filter(({ file, line }) => new RegExp(values.only).test(`${file}:${line}`));

if (values.help) process.stdout.write(usage);
else if (values.list) for (const { file, line, what } of mutants) console.log(`${file}:${line} ${what}`);
else process.exit(await run(mutants, Number(values.jobs)));
