import type { Case, CaseName } from '../harness/cases.ts';
import type { Contestant } from '../harness/contestants.ts';
import type { Flood } from '../harness/flood.ts';
import { describePeers } from '../harness/machine.ts';
import type { Durations, Measurement } from '../harness/measure.ts';
import { table } from '../harness/results-page.ts';
import { median, ratios, spreadFactor, summarize } from '../harness/statistics.ts';
import { createLookup, type Figure, type Lookup } from './figures.ts';
import { renderGoals } from './goals.ts';

export interface Comparison {
  /** What describeMachine() said before the first round. */
  readonly machine: string;
  /** The measurements of each round. */
  readonly rounds: readonly (readonly Measurement[])[];
  readonly contestants: readonly Contestant[];
  readonly cases: readonly Case[];
  readonly durations: Durations;
  readonly flood: Flood | undefined;
}

const thousands = (value: number) => `${(value / 1000).toFixed(1)}k`;
const ratio = (value: number) => value.toFixed(2);
const mebibytes = (value: number) => (value / 2 ** 20).toFixed(0);

function cell(values: readonly number[], format: (value: number) => string): string {
  if (values.length === 0 || values.some(Number.isNaN)) return '-';
  const { median: middle, min, max } = summarize(values);
  return values.length === 1 ? format(middle) : `${format(middle)} (${format(min)}..${format(max)})`;
}

/** A row per server, a column per case. */
function perCase(
  { contestants, cases }: Comparison,
  values: (contestant: string, caseName: CaseName) => readonly number[],
  format: (value: number) => string,
): string {
  const rows = contestants.map(({ name, label }) => [
    label,
    ...cases.map((testCase) => cell(values(name, testCase.name), format)),
  ]);
  return table(['', ...cases.map(({ name }) => name)], rows);
}

const timeFigures = ['requestsPerSecond', 'requestsPerCpuSecond'] as const;

function renderSpread({ cases }: Comparison, lookup: Lookup): string {
  const rows = timeFigures.map((figure) => [
    figure === 'requestsPerSecond' ? 'by wall time' : 'by CPU time',
    ...cases.map(({ name }) => cell([spreadFactor(lookup('ours', name, figure), lookup('twin', name, figure))], ratio)),
  ]);
  return table(['', ...cases.map(({ name }) => name)], rows);
}

/** This service divided by each other server; a difference that two identical servers show as well is marked. */
function renderAgainst({ contestants, cases }: Comparison, lookup: Lookup): string {
  const against = (other: string, caseName: CaseName, figure: (typeof timeFigures)[number]) => {
    const ours = lookup('ours', caseName, figure);
    const value = median(ratios(ours, lookup(other, caseName, figure)));
    if (Number.isNaN(value)) return '-';
    const isResolved = Math.max(value, 1 / value) > spreadFactor(ours, lookup('twin', caseName, figure));
    return isResolved ? ratio(value) : `${ratio(value)} ~`;
  };
  const others = contestants.filter(({ name }) => name !== 'ours');
  const rows = others.map(({ name, label }) => [
    label,
    ...cases.map((one) => timeFigures.map((figure) => against(name, one.name, figure)).join(' / ')),
  ]);
  return table(['', ...cases.map(({ name }) => name)], rows);
}

function renderProblems(rounds: Comparison['rounds']): string {
  const problems = rounds.flat().flatMap((one) => one.problems);
  return problems.length === 0 ? '' : `### Not to be trusted\n\n${problems.map((one) => `- ${one}`).join('\n')}\n\n`;
}

/** Returns the section of the results page that the comparison makes. */
export async function renderComparison(comparison: Comparison): Promise<string> {
  const { rounds, durations, contestants } = comparison;
  const lookup = createLookup(rounds);
  const toBare = (figure: Figure) => (name: string, caseName: CaseName) =>
    ratios(lookup(name, caseName, figure), lookup('bare', caseName, figure));
  const figures = (figure: Figure) => (name: string, caseName: CaseName) => lookup(name, caseName, figure);
  const serverBusy = (name: string, caseName: CaseName) =>
    ratios(lookup(name, caseName, 'requestsPerSecond'), lookup(name, caseName, 'requestsPerCpuSecond'));
  const notes = contestants.map(({ label, note }) => `- **${label}**: ${note}`);
  const percent = (value: number) => `${(value * 100).toFixed(0)} %`;

  return `## The service beside its peers (\`bun run bench\`)

${comparison.machine}
- Peers: ${await describePeers()}
- Method: ${rounds.length} fresh processes of each server on core 0; wrk with one thread and 64 connections on core 1, which the key-set server shares. Each case: one answer checked, ${durations.warmupSeconds} s to warm up, ${durations.seconds} s measured, all servers in turn before the next case. Ratios are taken within a round. NODE_ENV is production for all; the service has no other setting than its issuer, audience, key set and address.
- A cell: the median of the rounds (lowest..highest).

${renderProblems(rounds)}### Goals

${renderGoals(lookup, comparison.cases, comparison.flood)}

### How far two identical servers are apart

The service and its twin, as a factor, in the worst round. No difference smaller than this is a result.

${renderSpread(comparison, lookup)}

### Requests per second

${perCase(comparison, figures('requestsPerSecond'), thousands)}

### The same, divided by the bare server

${perCase(comparison, toBare('requestsPerSecond'), ratio)}

### Requests per second of the server's CPU time, divided by the bare server's

Where wrk is the limit (see below), this and not the wall time tells what a request costs.

${perCase(comparison, toBare('requestsPerCpuSecond'), ratio)}

### This service divided by each other server

By wall time / by CPU time. ~ marks what is not resolved: two identical servers differ as much.

${renderAgainst(comparison, lookup)}

### Latency, 99th percentile, in milliseconds

With 64 connections that never pause, latency is the reciprocal of the rate; it shows outliers, not what a caller of an idle server would see.

${perCase(comparison, figures('p99Ms'), (value) => value.toFixed(1))}

### Resident memory after each case, in MiB

The cases run in this order in one process.

${perCase(comparison, figures('residentBytes'), mebibytes)}

### Key-set fetches caused by each case

${perCase(comparison, figures('keySetFetches'), (value) => value.toFixed(0))}

### How busy each server kept its core

Below 100 %, wrk or the fetching of keys was the limit.

${perCase(comparison, serverBusy, percent)}

### How busy wrk kept its own core

${perCase(comparison, figures('generatorBusy'), percent)}

### Where they differ

What a server does not check costs it nothing, and keys given at the start are never refreshed.

${notes.join('\n')}
`;
}
