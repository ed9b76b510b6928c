import { parseArgs } from 'node:util';
import { type CaseName, cases } from './harness/cases.ts';
import { type Context, steps } from './harness/contestants.ts';
import { startKeySetServer } from './harness/key-set-server.ts';
import { describeMachine } from './harness/machine.ts';
import type { Measurement } from './harness/measure.ts';
import { table, writeSection } from './harness/results-page.ts';
import { runRound } from './harness/round.ts';
import { pinSelf } from './harness/server-process.ts';
import { ratios, summarize } from './harness/statistics.ts';
import { prepareTokens } from './harness/tokens.ts';
import { createLookup } from './report/goals.ts';

const usage = `Measures servers that each do one thing more than the one before, and writes a section of bench/results.md
  --rounds N    fresh processes of each server (4)
  --print       print the section instead of writing it`;

const titles: Partial<Record<CaseName, string>> = {
  'one token': 'One token, remembered',
  '20,000 tokens': 'Valid tokens, each verified',
  'bad signature': 'Bad signatures',
};

/** A row per step: CPU time, and the part of it that the first step takes. */
function renderCase(caseName: CaseName, measurements: readonly Measurement[]): string {
  const lookup = createLookup(measurements);
  const taking = steps.filter((step) => step.cases.includes(caseName));
  const microseconds = (name = '') => lookup(name, caseName, 'cpuMicroseconds');
  const first = microseconds(taking[0]?.name);
  const show = (values: readonly number[], digits: number) => {
    const { median, min, max } = summarize(values);
    return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
  };
  const rows = taking.map(({ name, label }) => [
    label,
    show(microseconds(name), 1),
    show(ratios(first, microseconds(name)), 2),
  ]);
  return `### ${titles[caseName]}\n\n${table(['', 'CPU time, µs', 'requests, relative to the first'], rows)}`;
}

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '4' }, print: { type: 'boolean' }, help: { type: 'boolean' } },
});
if (values.help) console.log(usage);
else {
  const machine = describeMachine();
  pinSelf(1);
  const tokens = prepareTokens();
  const keySet = startKeySetServer(tokens.jwks);
  const context: Context = { tokens, keySet, answers: '' };
  const chosen = cases.filter(({ name }) => name in titles);
  const measurements: Measurement[] = [];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    console.error(`Round ${round + 1} of ${values.rounds}`);
    measurements.push(...(await runRound(round, steps, chosen, context, 1)));
  }
  await keySet.stop();
  const section = `## Where the time goes (\`bun run bench:steps\`)

${machine}
- Method: as above. Each server does what the one before it does, and one thing more. All send the headers of the service. Medians (lowest–highest) of ${values.rounds} fresh processes; the last two rows are the same server.

${chosen.map(({ name }) => renderCase(name, measurements)).join('\n\n')}
`;
  if (values.print) console.log(section);
  else writeSection('steps', section);
  const problems = measurements.flatMap((one) => one.problems);
  for (const problem of problems) console.error(problem);
  process.exit(problems.length === 0 ? 0 : 1);
}
