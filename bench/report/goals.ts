import type { CaseName } from '../harness/cases.ts';
import type { Measurement } from '../harness/measure.ts';
import { table } from '../harness/results-page.ts';
import { median, ratios, spreadFactor } from '../harness/statistics.ts';

/** A member of a measurement that is a number. */
export type Figure = Exclude<keyof Measurement, 'contestant' | 'caseName' | 'problems'>;

/** Returns the figure of each round, in order; empty when it was not measured. */
export type Lookup = (contestant: string, caseName: CaseName, figure: Figure) => number[];

export const createLookup =
  (measurements: readonly Measurement[]): Lookup =>
  (contestant, caseName, figure) =>
    measurements.filter((one) => one.contestant === contestant && one.caseName === caseName).map((one) => one[figure]);

/** By what servers are compared. Both are higher for the better one: rates as they are, CPU time inverted. */
export const measures = ['rate', 'CPU time'] as const;
type Measure = (typeof measures)[number];

/** Returns the figure of a server in each round, higher for a better one. */
function figuresOf(lookup: Lookup, caseName: CaseName, name: string, by: Measure): number[] {
  return by === 'rate'
    ? lookup(name, caseName, 'requestsPerSecond')
    : lookup(name, caseName, 'cpuMicroseconds').map((microseconds) => 1 / microseconds);
}

/** Returns how many times as good as the other a server is, in each round that measured both. */
export function compare(lookup: Lookup, caseName: CaseName, [one, other]: readonly [string, string], by: Measure) {
  return ratios(figuresOf(lookup, caseName, one, by), figuresOf(lookup, caseName, other, by));
}

const goals: readonly (readonly [CaseName, string, string, number])[] = [
  ['public', 'ours', 'bare', 0.9],
  ['one token', 'ours', 'bare', 0.85],
  ['one token', 'ours', 'equal', 0.9],
  ['one token', 'ours', 'haproxy', 4],
  ['20,000 tokens', 'cold', 'haproxy', 0.85],
  ['bad signature', 'ours', 'haproxy', 0.85],
  ['no header', 'ours', 'bare', 0.7],
  ['public', 'metrics', 'ours', 0.95],
  ['one token', 'metrics', 'ours', 0.95],
];

/** A value within the spread of identical servers around the goal is neither met nor missed for certain. */
function verdict(value: number, goal: number, spread: number): string {
  if (Number.isNaN(value)) return 'not measured';
  const word = value >= goal ? 'met' : 'not met';
  const isCertain = Math.max(value / goal, goal / value) > spread;
  return `${value.toFixed(2)}: ${word}${isCertain ? '' : ', within the spread'}`;
}

/** Returns the table of what was wanted and what was reached. */
export function renderGoals(lookup: Lookup, labelOf: (contestant: string) => string): string {
  const rows = goals.map(([caseName, one, other, atLeast]) => [
    `${caseName}: ${labelOf(one)} / ${labelOf(other)}`,
    `at least ${atLeast.toFixed(2)}`,
    ...measures.map((by) => {
      const spread = spreadFactor(compare(lookup, caseName, ['ours', 'twin'], by));
      return verdict(median(compare(lookup, caseName, [one, other], by)), atLeast, spread);
    }),
  ]);
  const inOutage = measures.map((by) => {
    const pairs = figuresOf(lookup, 'outage', 'ours', by).map((requests) => requests / 2);
    const share = median(ratios(pairs, figuresOf(lookup, 'outage, valid only', 'ours', by)));
    return verdict(share, 0.5, spreadFactor(compare(lookup, 'outage', ['ours', 'twin'], by)));
  });
  const label = 'valid tokens, with every second request an unknown kid while the key set answers with 500 / alone';
  rows.push([label, 'at least 0.50', ...inOutage]);
  return table(['Case', 'Goal', 'By rate', 'By CPU time'], rows);
}
