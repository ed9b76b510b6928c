import { parseArgs } from 'node:util';
import { cases } from './harness/cases.ts';
import { type Contestant, type Context, contestants, loadCore, startContestant } from './harness/contestants.ts';
import { measureFlood } from './harness/flood.ts';
import { startKeySetServer } from './harness/key-set-server.ts';
import { type Durations, type Measurement, measure, type Subject } from './harness/measure.ts';
import { writeSection } from './harness/results-page.ts';
import { pinSelf } from './harness/server-process.ts';
import { prepareTokens } from './harness/tokens.ts';
import { renderComparison } from './report/comparison.ts';

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
async function runRound(round: number, chosen: readonly Contestant[], context: Context, options: RoundOptions) {
  const subjects: Subject[] = [];
  const measurements: Measurement[] = [];
  try {
    for (const contestant of chosen)
      subjects.push({ contestant, server: await startContestant(contestant, context), sent: new Map() });
    for (const testCase of options.cases) {
      // Everyone starts a case as often as the others.
      const first = round % subjects.length;
      const order = [...subjects.slice(first), ...subjects.slice(0, first)];
      const taking = order.filter(({ contestant }) => testCase.name !== 'outage' || contestant.keys === 'fetched');
      for (const subject of taking) measurements.push(await measure(testCase, subject, context, options.durations));
    }
  } finally {
    await Promise.all(subjects.map(({ server }) => server.stop()));
  }
  return measurements;
}

interface RoundOptions {
  readonly cases: typeof cases;
  readonly durations: Durations;
}

async function main(): Promise<void> {
  const flags = readFlags();
  if (flags.help) return console.log(usage);
  pinSelf(loadCore);
  const tokens = prepareTokens();
  const keySet = startKeySetServer(tokens.jwks);
  const context = { tokens, keySet };
  const chosen = chooseContestants(flags.only, flags.executable);
  const options = {
    cases: cases.filter(({ name }) => flags.cases?.includes(name) ?? true),
    durations: flags.durations,
  };

  const rounds: Measurement[][] = [];
  for (let round = 0; round < flags.rounds; round += 1) {
    console.error(`Round ${round + 1} of ${flags.rounds}`);
    rounds.push(await runRound(round, chosen, context, options));
  }
  const service = chosen.find(({ name }) => name === 'ours');
  const flood = service && (await measureFlood(service, context, flags.floodSeconds));
  await keySet.stop();
  const page = await renderComparison({
    rounds,
    contestants: chosen,
    cases: options.cases,
    durations: flags.durations,
    flood,
  });
  if (flags.quick) console.log(page);
  else await writeSection('comparison', page);
}

await main();
