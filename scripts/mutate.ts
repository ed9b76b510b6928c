import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createCompiler, type Mutant, mutantsOf } from './mutants.ts';
import { mutantsLeft } from './mutants-left.ts';

const usage = `Usage: bun run mutate [--all] [--seed=N] [--only=PATTERN]

Changes one place of src/auth at a time, in a private copy, and runs the tests that cover its line. By default it takes
mutants of the verifier at random for a minute. Exit status 1 when a mutant survives that scripts/mutants-left.ts does not list.

  --all           every mutant, however long it takes
  --seed=N        repeat the order of an earlier run
  --only=PATTERN  every mutant whose FILE:LINE matches this regular expression
`;
const sampleMs = 60_000;
const sources = [...new Bun.Glob('src/auth/**/*.ts').scanSync('.')]
  .filter((file) => file !== 'src/auth/index.ts')
  .sort();
/** What samples are taken from: every mutant of these files was tried. */
const sampled = ['claims', 'scopes', 'token', 'verifier'].map((name) => `src/auth/${name}.ts`);
/** Tests in the process itself, without those that measure heap. */
const suites = [
  ...new Bun.Glob('tests/auth/*.test.ts').scanSync('.'),
  ...new Bun.Glob('tests/adversary/{known,key-set}-*.adversary.ts').scanSync('.'),
  'tests/openapi/document.test.ts',
  'tests/auth/elysia/resource-metadata.test.ts',
  'tests/guards.test.ts',
  'tests/http/dpop.test.ts',
  'tests/http/http-table.test.ts',
];
const inThisProcess = ['-t', '^(?!.*(?:heap|src/index|dist/))'];
/** A mutant that never ends is as dead as one that fails. */
const suiteTimeoutMs = 60_000;

/** How often a suite killed a mutant of a file: it comes first next time. */
const kills = new Map<string, number>();

interface Suite {
  readonly file: string;
  readonly ms: number;
  /** `FILE:LINE` of each line that it runs. */
  readonly lines: ReadonlySet<string>;
}

const { values } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(usage);
else process.exit(await main());

async function main(): Promise<number> {
  const copies = Array.from({ length: availableParallelism() }, makeCopy);
  try {
    const mutants = sources.flatMap((file) => mutantsOf(file, readFileSync(file, 'utf8')));
    const covering = await measureSuites(copies);
    const { only } = values;
    const isTimed = !values.all && only === undefined;
    const chosen = shuffled(mutants, Number(values.seed)).filter(({ file, line }) =>
      isTimed ? sampled.includes(file) : new RegExp(only ?? '').test(`${file}:${line}`),
    );
    const deadline = isTimed ? Date.now() + sampleMs : Number.POSITIVE_INFINITY;
    const compiles = createCompiler(sources);
    const queue = chosen.values();
    const tried: { mutant: Mutant; isKilled: boolean }[] = [];
    await inParallel(copies, async (copy) => {
      for (const mutant of queue) {
        if (!compiles(mutant.file, mutant.source)) continue;
        // The last takes seconds.
        const isKilled =
          (await isKilledBy(copy, mutant, covering)) ||
          (!isListed(mutant) && !compiles(mutant.file, mutant.source, true));
        tried.push({ mutant, isKilled });
        if (!isKilled) console.log(describe('survived', mutant));
        if (Date.now() > deadline) return;
      }
    });
    return report(mutants, tried);
  } finally {
    for (const copy of copies) rmSync(copy, { recursive: true, force: true });
  }
}

function makeCopy(): string {
  const copy = mkdtempSync(join(tmpdir(), 'mutate-'));
  for (const name of ['src', 'tests', 'package.json', 'tsconfig.json', 'bunfig.toml'])
    cpSync(name, join(copy, name), { recursive: true });
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Runs each suite once and returns them, the quickest first. */
async function measureSuites(copies: readonly string[]): Promise<readonly Suite[]> {
  const measured: Suite[] = [];
  const queue = suites.values();
  await inParallel(copies, async (copy) => {
    for (const file of queue) {
      const startedAt = performance.now();
      const coverage = join(copy, 'coverage');
      const arguments_ = ['--coverage', '--coverage-reporter=lcov', `--coverage-dir=${coverage}`];
      if (!(await passes(copy, ['test', ...arguments_, ...inThisProcess, `./${file}`])))
        throw new Error(`Cannot mutate: ${file} fails before anything is changed`);
      const lines = readCoverage(readFileSync(join(coverage, 'lcov.info'), 'utf8'));
      measured.push({ file, ms: performance.now() - startedAt, lines });
    }
  });
  return measured.toSorted((a, b) => a.ms - b.ms);
}

/** Returns `FILE:LINE` of each line with a count above 0, from a report in LCOV's format. */
function readCoverage(report: string): ReadonlySet<string> {
  const lines = new Set<string>();
  let file = '';
  for (const [, kind, value = '', count] of report.matchAll(/^(SF|DA):([^,\n]+)(?:,(\d+))?$/gm)) {
    if (kind === 'SF') file = value;
    else if (count !== '0') lines.add(`${file}:${value}`);
  }
  return lines;
}

/** Whether a test that covers the changed line fails. */
async function isKilledBy(copy: string, mutant: Mutant, covering: readonly Suite[]): Promise<boolean> {
  const path = join(copy, mutant.file);
  const original = readFileSync(path, 'utf8');
  await Bun.write(path, mutant.source);
  try {
    const suitesOfLine = covering.filter(({ lines }) => lines.has(`${mutant.file}:${mutant.line}`));
    const killsOf = ({ file }: Suite) => kills.get(`${file} ${mutant.file}`) ?? 0;
    for (const suite of suitesOfLine.toSorted((a, b) => killsOf(b) - killsOf(a))) {
      if (await passes(copy, ['test', '--bail', ...inThisProcess, `./${suite.file}`])) continue;
      kills.set(`${suite.file} ${mutant.file}`, killsOf(suite) + 1);
      return true;
    }
    return false;
  } finally {
    await Bun.write(path, original);
  }
}

async function passes(copy: string, command: readonly string[]): Promise<boolean> {
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: copy,
    stdio: ['ignore', 'ignore', 'ignore'],
    timeout: suiteTimeoutMs,
    killSignal: 'SIGKILL',
  });
  return (await child.exited) === 0;
}

function isListed({ file, original, what }: Mutant): boolean {
  return mutantsLeft.some((left) => left.file === file && left.original === original && left.what.includes(what));
}

function report(mutants: readonly Mutant[], tried: readonly { mutant: Mutant; isKilled: boolean }[]): number {
  const unlisted = tried.filter(({ mutant, isKilled }) => !isKilled && !isListed(mutant));
  const killed = tried.filter(({ mutant, isKilled }) => isKilled && isListed(mutant));
  const gone = mutantsLeft.flatMap(({ file, original, what }) =>
    what
      .filter((one) => !mutants.some((it) => it.file === file && it.original === original && it.what === one))
      .map((one) => `listed, but cannot be made any more: ${file} ${one}\n    ${original}`),
  );
  for (const { mutant } of unlisted) console.log(describe('survived, and is not listed', mutant));
  for (const { mutant } of killed) console.log(describe('listed, but killed', mutant));
  for (const entry of gone) console.log(entry);
  const survivors = tried.filter(({ isKilled }) => !isKilled).length;
  console.log(`Seed ${values.seed}: ${tried.length} of ${mutants.length} mutants tried, ${survivors} survived`);
  return unlisted.length + killed.length + gone.length === 0 ? 0 : 1;
}

function describe(verdict: string, { file, line, what, original }: Mutant): string {
  return `${verdict}: ${file}:${line} ${what}\n    ${original}`;
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  await Promise.all(items.map(work));
}

/** Returns the items in an order that the seed decides. */
function shuffled<Item>(items: readonly Item[], seed: number): readonly Item[] {
  return items
    .map((item, index) => ({ item, place: Bun.hash(`${seed} ${index}`) }))
    .toSorted((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ item }) => item);
}
