import { type CaseName, cases } from '../harness/cases.ts';
import { type Contestant, contestants } from '../harness/contestants.ts';
import { describePeers } from '../harness/machine.ts';
import type { Measurement } from '../harness/measure.ts';
import { table } from '../harness/results-page.ts';
import { median, spreadFactor, summarize } from '../harness/statistics.ts';
import { compare, createLookup, type Figure, type Lookup, measures, renderGoals } from './goals.ts';

export interface Comparison {
  /** What describeMachine() said before the first round. */
  readonly machine: string;
  readonly measurements: readonly Measurement[];
  readonly servers: readonly Contestant[];
  readonly rounds: number;
  readonly seconds: number;
}

const labelOf = (name: string) => contestants.find((one) => one.name === name)?.label ?? name;

/** What was measured; the functions below are made of it. */
interface Shown {
  readonly servers: readonly Contestant[];
  readonly caseNames: readonly CaseName[];
  readonly lookup: Lookup;
}

/** A row per server, a column per case; of several rounds the median, the lowest and the highest. */
function perCase(
  { servers, caseNames }: Shown,
  values: (contestant: Contestant, caseName: CaseName) => readonly number[],
  digits: number,
  hasRange = true,
): string {
  const format = (value: number) => value.toFixed(digits);
  const cell = (all: readonly number[]) => {
    if (all.length === 0) return '-';
    const { median: middle, min, max } = summarize(all);
    return all.length > 1 && hasRange ? `${format(middle)} (${format(min)}–${format(max)})` : format(middle);
  };
  const rows = servers.map((one) => [one.label, ...caseNames.map((name) => cell(values(one, name)))]);
  return table(['', ...caseNames], rows);
}

function renderSpread({ lookup, caseNames }: Shown): string {
  const rows = measures.map((by) => [
    `by ${by}`,
    ...caseNames.map((name) => {
      const factor = spreadFactor(compare(lookup, name, ['ours', 'twin'], by));
      return Number.isNaN(factor) ? '-' : factor.toFixed(2);
    }),
  ]);
  return table(['', ...caseNames], rows);
}

/** This service divided by each other server; a difference that two identical servers show as well is marked. */
function renderAgainst({ lookup, servers, caseNames }: Shown): string {
  const against = (other: string, caseName: CaseName, by: (typeof measures)[number]) => {
    const value = median(compare(lookup, caseName, ['ours', other], by));
    if (Number.isNaN(value)) return '-';
    const isResolved = Math.max(value, 1 / value) > spreadFactor(compare(lookup, caseName, ['ours', 'twin'], by));
    return isResolved ? value.toFixed(2) : `${value.toFixed(2)} ~`;
  };
  const rows = servers
    .filter(({ name }) => name !== 'ours')
    .map(({ name, label }) => [
      label,
      ...caseNames.map((caseName) => measures.map((by) => against(name, caseName, by)).join(' / ')),
    ]);
  return table(['', ...caseNames], rows);
}

/** A bar chart that GitHub draws: requests per second of the server's CPU time. */
function renderChart(lookup: Lookup, caseName: CaseName, servers: readonly string[]): string {
  const bars = servers.flatMap((name) => {
    const microseconds = median(lookup(name, caseName, 'cpuMicroseconds'));
    return Number.isNaN(microseconds) ? [] : [{ label: labelOf(name), thousands: (1000 / microseconds).toFixed(1) }];
  });
  return `\`\`\`mermaid
xychart-beta horizontal
  title "${caseName}: thousand requests per second of CPU time"
  x-axis [${bars.map(({ label }) => `"${label}"`).join(', ')}]
  y-axis "higher is better" 0 --> ${Math.ceil(Math.max(...bars.map(({ thousands }) => Number(thousands))) / 10) * 10}
  bar [${bars.map(({ thousands }) => thousands).join(', ')}]
\`\`\``;
}

function renderProblems(measurements: readonly Measurement[]): string {
  const problems = measurements.flatMap((one) => one.problems);
  return problems.length === 0 ? '' : `### Invalid measurements\n\n${problems.map((one) => `- ${one}`).join('\n')}\n\n`;
}

/** Returns the section of the results page that the comparison makes. */
export async function renderComparison({
  machine,
  measurements,
  servers,
  rounds,
  seconds,
}: Comparison): Promise<string> {
  const lookup = createLookup(measurements);
  const caseNames = cases
    .map(({ name }) => name)
    .filter((name) => measurements.some(({ caseName }) => caseName === name));
  const shown = { servers, caseNames, lookup };
  const figure = (name: Figure) => (one: Contestant, caseName: CaseName) => lookup(one.name, caseName, name);
  const thousands = (one: Contestant, caseName: CaseName) =>
    lookup(one.name, caseName, 'requestsPerSecond').map((rate) => rate / 1000);
  const charted = servers.map(({ name }) => name).filter((name) => name !== 'twin' && name !== 'hono-local');

  return `## The service and other servers (\`bun run bench\`)

${renderChart(lookup, 'one token', charted)}

${renderChart(lookup, 'bad signature', charted)}

${machine}
- Other servers: ${await describePeers()}
- Method: fresh processes of each server run on core 0, ${rounds} of each (one of servers that are several times faster or slower). wrk runs with one thread and 64 connections on core 1, together with the key-set server. Each is warmed up with all cases, 1 s each. Then, case by case, one response of each server is checked, and it is measured for ${seconds} s, in slices of 50 ms: wrk is paused while the other servers have their slice, because the speed of a virtual machine changes from second to second. CPU time is the time that the scheduler counted for all threads of the server. Ratios are computed within a round. NODE_ENV is production for all servers, and the service has its default settings unless its name says otherwise.
- Cells show the median (lowest–highest).

${renderProblems(measurements)}### Goals

${renderGoals(lookup, labelOf)}

### Difference between two identical servers

The service and a second process of it, as a factor, in the worst round. Smaller differences are not significant.

${renderSpread(shown)}

### CPU time per request, in microseconds

${perCase(shown, figure('cpuMicroseconds'), 1)}

### Thousand requests per second

${perCase(shown, thousands, 1, false)}

### This service relative to each other server

By rate / by CPU time. The service is better where the value is above 1. ~ marks differences that two identical servers have too.

${renderAgainst(shown)}

### Resident memory after each case, in MiB

The cases run in this order in one process.

${perCase(shown, figure('residentMebibytes'), 0, false)}

### Key-set fetches caused by each case

${perCase(shown, figure('keySetFetches'), 0)}

### What the servers check

A server does not spend time on what it does not check. Keys that are given at the start are never refreshed.

${servers.map(({ label, note }) => `- **${label}**: ${note}`).join('\n')}
`;
}
