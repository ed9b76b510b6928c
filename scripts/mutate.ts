import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { $ } from 'bun';

const usage = `Usage: bun run mutate [--all] [--since=COMMIT] [--count=N] [FILE...]

Changes one place of the guard or the service at a time and runs the tests. By default it tries at most 16 mutants of single
lines in the files that changed since HEAD~1, those of changed lines first, or in all files if none did; the same text gives the same mutants. Exit
status 1 if less than 75 % are killed.
A mutant that no test can notice gets a comment above its line:
  // Stryker disable next-line ConditionalExpression: speed only, the general form reads the same

  --all           every mutant of src/auth and of the service, which takes hours
  --since=COMMIT  the files that changed since then
  --count=N       at most so many mutants
  FILE            these files or ranges of lines, such as src/auth/guard/scopes.ts:10-30
`;
const leastKilledPercent = 75;
const serviceRooms = ['dev', 'http', 'observe', 'openapi', 'redis', 'routes'];
const sources = ['src/auth/**/*.ts', '!src/auth/elysia.ts', 'src/*.ts', `src/{${serviceRooms}}/**/*.ts`];
const rooms = 'explain guard keys lookup mcp nestjs node openapi options proof redis testing token'.split(' ');
const others = [
  'auth/elysia/requirements.test.ts',
  'guards.test.ts',
  'http/http-table.test.ts',
  'http/dpop.test.ts',
  'openapi/document.test.ts',
];
const suites = [...rooms.map((room) => `auth/${room}`), ...others].map((suite) => `./tests/${suite}`);
const ofService = ['*.test.ts', 'http', 'observe', 'openapi'].map((suite) => `./tests/${suite}`);
/**
 * Tests in the process itself, without those that measure heap. `timeout` ends endless loops before Stryker counts them
 * as killed.
 */
const testOf = (paths: string) =>
  `timeout --kill-after=5 120 bun test --isolate --bail --timeout 30000 --only-failures -t '^(?!.*(?:heap|src/index|dist/))' ${paths}`;
/**
 * The tests of the room that holds the mutant come first, if it has any, because most mutants are killed there. The
 * matrix of Elysia takes longer than all others together, so it runs only for mutants of the adapter, and tests of the
 * service alone run only for mutants of the service.
 */
const command = `
  file=$(grep -rlF "stryMutAct_9fa48(\\"$__STRYKER_ACTIVE_MUTANT__\\")" src | head -1)
  room=tests/$(dirname "\${file#src/}")
  case "$room" in tests/auth | tests/.) room= ;; esac
  if [ -n "$file" ] && [ -n "$room" ] && ls "$room"/*.test.ts >/dev/null 2>&1; then ${testOf('"./$room"')} || exit 1; fi
  case "$file" in
    src/auth/*) ${testOf(suites.join(' '))} ;;
    *) ${testOf(ofService.join(' '))} ;;
  esac`;

const { values, positionals } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    since: { type: 'string', default: 'HEAD~1' },
    count: { type: 'string', default: '16' },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

type Mutant = Awaited<ReturnType<Stryker['runMutationTest']>>[number];

/** Returns the result for each mutant in these files or ranges when the command is run. */
const tryMutants = (mutate: readonly string[], testCommand: string): Promise<readonly Mutant[]> =>
  new Stryker({
    configFile: 'scripts/stryker.json',
    concurrency: availableParallelism(),
    mutate: [...mutate],
    commandRunner: { command: testCommand },
  }).runMutationTest();

async function changedLines(): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
  const { stdout } = await $`git diff --unified=0 --diff-filter=d ${values.since} -- src ':!src/probe'`
    .nothrow()
    .quiet();
  const lines = new Map<string, Set<number>>();
  let file = '';
  for (const line of stdout.toString().split('\n')) {
    file = /^\+\+\+ b\/(.*)$/.exec(line)?.[1] ?? file;
    const [, first, count = '1'] = /^ \S+ \+(\d+)(?:,(\d+))? /.exec(line) ?? [];
    if (first === undefined || !file.endsWith('.ts') || file === 'src/auth/elysia.ts') continue;
    const added = Array.from({ length: Number(count) }, (_, index) => Number(first) + index);
    lines.set(file, new Set([...(lines.get(file) ?? []), ...added]));
  }
  return lines;
}

/**
 * Returns lines with at most so many mutants in all: changed lines first, in an order that the text of each decides.
 */
function sample(mutants: readonly Mutant[], changed: Awaited<ReturnType<typeof changedLines>>): readonly string[] {
  const onOneLine = mutants.filter(({ location }) => location.start.line === location.end.line);
  const byLine = Map.groupBy(
    onOneLine,
    ({ fileName, location }) => `${relative('.', fileName)}:${location.start.line}`,
  );
  const order = (place: string) => {
    const [file = '', line] = place.split(':');
    const hash = Bun.hash.xxHash32(`${place} ${byLine.get(place)?.map(({ replacement }) => replacement)}`);
    return changed.get(file)?.has(Number(line)) ? hash - 2 ** 32 : hash;
  };
  let left = Number(values.count);
  const ranges: string[] = [];
  for (const place of [...byLine.keys()].toSorted((a, b) => order(a) - order(b))) {
    const { length } = byLine.get(place) ?? [];
    if (length > left) continue;
    left -= length;
    ranges.push(place.replace(/:(\d+)$/, ':$1-$1'));
  }
  return ranges;
}

/** A mutant is killed if a test fails. A suite that was ended, or a test that timed out, proves nothing. */
function verdictOn({ status, statusReason = '' }: Mutant): 'killed' | 'survived' | 'stalled' {
  if (status === 'Survived') return 'survived';
  return /^(?:\(fail\)|Bailed out)/m.test(statusReason) && !/ timed out after /.test(statusReason)
    ? 'killed'
    : 'stalled';
}

async function main(): Promise<number> {
  const named = values.all ? sources : positionals;
  const changed = await changedLines();
  const candidates = changed.size > 0 ? [...changed.keys()] : sources;
  const chosen = named.length > 0 ? named : sample(await tryMutants(candidates, 'true'), changed);
  const tried = (await tryMutants(chosen, command)).filter(({ status }) => status !== 'Ignored');
  const counts = { killed: 0, survived: 0, stalled: 0 };
  for (const mutant of tried) {
    const verdict = verdictOn(mutant);
    counts[verdict] += 1;
    if (verdict === 'killed') continue;
    const { start } = mutant.location;
    const place = `${relative('.', mutant.fileName)}:${start.line}:${start.column}`;
    console.log(`${verdict}: ${place} ${mutant.mutatorName} to ${mutant.replacement}`);
    // Indented, so nobody mistakes its failures for those of this run.
    if (verdict === 'stalled') console.log((mutant.statusReason ?? '').replaceAll(/^/gm, '  | '));
  }
  console.log(`${tried.length} mutants: ${JSON.stringify(counts)}`);
  return counts.killed * 100 >= tried.length * leastKilledPercent ? 0 : 1;
}

if (values.help) process.stdout.write(usage);
else process.exit(await main());
