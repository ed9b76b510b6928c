import { parseArgs } from 'node:util';
import { cases } from './harness/cases.ts';
import { type Contestant, type Context, contestants, loadCore, startContestant } from './harness/contestants.ts';
import { measureFlood } from './harness/flood.ts';
import { startKeySetServer } from './harness/key-set-server.ts';
import { describeMachine } from './harness/machine.ts';
import { type Measurement, measure, type Subject } from './harness/measure.ts';
import { writeSection } from './harness/results-page.ts';
import { pinSelf } from './harness/server-process.ts';
import { prepareTokens } from './harness/tokens.ts';
import { type Comparison, renderComparison } from './report/comparison.ts';

const usage = `Measures the service beside its peers and writes bench/results.md
  --rounds N          fresh processes of each server (6)
  --seconds N         measured part of a case (2)
  --warmup N          before it (1)
  --flood-seconds N   unknown kids, key set up and then down, for the count of fetches (35)
  --executable        dist/protected-api as well
  --only A,B          these servers and the bare one: ${contestants.map(({ name }) => name).join(', ')}
  --cases 'A;B'       these cases: ${cases.map(({ name }) => name).join('; ')}
  --quick             one short round of everything, printed and not written`;

function readFlags() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '6' },
      seconds: { type: 'string', default: '2' },
      warmup: { type: 'string', default: '1' },
      'flood-seconds': { type: 'string', default: '35' },
      executable: { type: 'boolean', default: false },
      only: { type: 'string' },
      cases: { type: 'string' },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { quick } = values;
  return {
    ...values,
    rounds: quick ? 1 : Number(values.rounds),
    floodSeconds: quick ? 2 : Number(values['flood-seconds']),
    durations: { seconds: quick ? 1 : Number(values.seconds), warmupSeconds: Number(values.warmup) },
    only: values.only?.split(','),
    cases: values.cases?.split(';').map((name) => name.trim()),
  };
}

/** A misspelt name must not end in a run of half an hour that leaves out what was wanted. */
function checkNames(wanted: readonly string[] | undefined, all: readonly { readonly name: string }[]): void {
  const known = all.map(({ name }) => name);
  const unknown = wanted?.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  console.error(`Cannot find ${JSON.stringify(unknown)} among ${known.join('; ')}`);
  process.exit(1);
}

function chooseContestants(only: readonly string[] | undefined, hasExecutable: boolean): Contestant[] {
  const isWanted = (name: string) => only?.includes(name) ?? (name !== 'executable' || hasExecutable);
  const wanted = contestants.filter(({ name }) => name === 'bare' || isWanted(name));
  return wanted.filter(({ label, isMissing }) => {
    const reason = isMissing?.();
    if (reason) console.error(`Left out: ${label} (${reason})`);
    return reason === undefined;
  });
}

/** Starts a fresh process of everyone, and goes through the cases with all of them in turn: a case's ratios are taken seconds apart. */
async function runRound(round: number, context: Context, comparison: Omit<Comparison, 'rounds'>) {
  const subjects: Subject[] = [];
  const measurements: Measurement[] = [];
  try {
    for (const contestant of comparison.contestants)
      subjects.push({ contestant, server: await startContestant(contestant, context), sent: new Map() });
    for (const testCase of comparison.cases) {
      // Everyone starts a case as often as the others.
      const first = round % subjects.length;
      const order = [...subjects.slice(first), ...subjects.slice(0, first)];
      const taking = order.filter(({ contestant }) => testCase.name !== 'outage' || contestant.keys === 'fetched');
      for (const subject of taking) measurements.push(await measure(testCase, subject, context, comparison.durations));
    }
  } finally {
    await Promise.all(subjects.map(({ server }) => server.stop()));
  }
  return measurements;
}

async function main(): Promise<void> {
  const flags = readFlags();
  if (flags.help) return console.log(usage);
  checkNames(flags.only, contestants);
  checkNames(flags.cases, cases);
  const machine = describeMachine();
  pinSelf(loadCore);
  const tokens = prepareTokens();
  const keySet = startKeySetServer(tokens.jwks);
  const context = { tokens, keySet };
  const chosen = chooseContestants(flags.only, flags.executable);
  const chosenCases = cases.filter(({ name }) => flags.cases?.includes(name) ?? true);
  const service = chosen.find(({ isService }) => isService);
  const flood = service && (await measureFlood(service, context, flags.floodSeconds));

  const rounds: Measurement[][] = [];
  const comparison = { machine, rounds, contestants: chosen, cases: chosenCases, durations: flags.durations, flood };
  for (let round = 0; round < flags.rounds; round += 1) {
    console.error(`Round ${round + 1} of ${flags.rounds}`);
    rounds.push(await runRound(round, context, comparison));
    // After each round: what was measured is not lost when the run is cut short.
    if (!flags.quick) writeSection('comparison', await renderComparison(comparison));
  }
  await keySet.stop();
  if (flags.quick) console.log(await renderComparison(comparison));
  const problems = rounds.flat().flatMap((one) => one.problems);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

await main();
