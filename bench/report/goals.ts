import type { Case, CaseName } from '../harness/cases.ts';
import type { Flood } from '../harness/flood.ts';
import { table } from '../harness/results-page.ts';
import { median, ratios, spreadFactor } from '../harness/statistics.ts';
import type { Lookup } from './figures.ts';

interface RatioGoal {
  readonly caseName: CaseName;
  readonly against: string;
  readonly label: string;
  readonly atLeast: number;
}

const ratioGoals: readonly RatioGoal[] = [
  { caseName: 'public', against: 'bare', label: 'public / bare', atLeast: 0.9 },
  { caseName: 'one valid token', against: 'bare', label: 'one valid token / bare', atLeast: 0.85 },
  { caseName: 'one valid token', against: 'haproxy', label: 'one valid token / HAProxy', atLeast: 4 },
  { caseName: 'one valid token', against: 'fast-jwt', label: 'one valid token / Fastify + fast-jwt', atLeast: 2.5 },
  { caseName: '20,000 valid tokens', against: 'haproxy', label: '20,000 valid tokens / HAProxy', atLeast: 1 },
  { caseName: 'bad signature', against: 'haproxy', label: 'bad signature / HAProxy', atLeast: 1 },
  { caseName: 'no header', against: 'bare', label: 'no header / bare', atLeast: 0.6 },
  { caseName: 'bad header', against: 'bare', label: 'bad header / bare', atLeast: 0.6 },
];

const memoryGoalMebibytes = 128;
const goodTokensGoal = 0.5;
/** The default of JWKS_COOLDOWN_SECONDS. */
const cooldownSeconds = 30;

/** A reading within the spread of identical servers around the goal is neither met nor missed for certain. */
function verdict(value: number, goal: number, spread: number): string {
  if (Number.isNaN(value)) return 'not measured';
  const word = value >= goal ? 'met' : 'not met';
  if (Number.isNaN(spread)) return `${word}, spread not measured`;
  return Math.max(value / goal, goal / value) > spread ? word : `${word}, within the spread`;
}

function ratioRow({ caseName, against, label, atLeast }: RatioGoal, lookup: Lookup): string[] {
  const reached = (figure: 'requestsPerSecond' | 'requestsPerCpuSecond') => {
    const ours = lookup('ours', caseName, figure);
    const value = median(ratios(ours, lookup(against, caseName, figure)));
    const spread = spreadFactor(ours, lookup('twin', caseName, figure));
    return Number.isNaN(value) ? 'not measured' : `${value.toFixed(2)}: ${verdict(value, atLeast, spread)}`;
  };
  return [label, `at least ${atLeast.toFixed(2)}`, reached('requestsPerSecond'), reached('requestsPerCpuSecond')];
}

function goodTokensRow(lookup: Lookup): string[] {
  const alone = lookup('ours', 'one valid token', 'acceptedPerSecond');
  const mixed = lookup('ours', 'outage', 'acceptedPerSecond');
  const value = median(ratios(mixed, alone));
  const spread = spreadFactor(mixed, lookup('twin', 'outage', 'acceptedPerSecond'));
  const reached = Number.isNaN(value)
    ? 'not measured'
    : `${value.toFixed(2)}: ${verdict(value, goodTokensGoal, spread)}`;
  return [
    'good tokens, every other request an unknown kid, key set answering 500 / alone',
    'at least 0.50',
    reached,
    '',
  ];
}

function fetchRows(flood: Flood | undefined): string[][] {
  if (!flood) return [];
  // One attempt may fall on each end of the time span.
  const most = 1 + Math.floor(flood.seconds / cooldownSeconds);
  const row = (state: 'up' | 'down', words: string) => {
    const word = flood.fetches[state] <= most ? 'met' : 'not met';
    const label = `fetches in ${flood.seconds} s of unknown kids (${flood.requests[state]} requests), key set ${words}`;
    return [label, `at most ${most}`, `${flood.fetches[state]}: ${word}`, ''];
  };
  return [row('up', 'up'), row('down', 'answering 500')];
}

function memoryRow(lookup: Lookup, cases: readonly Case[]): string[] {
  const highestAfter = (names: readonly CaseName[]) =>
    Math.max(...names.flatMap((name) => lookup('ours', name, 'residentBytes'))) / 2 ** 20;
  const names = cases.map(({ name }) => name);
  const atEnd = highestAfter(names.slice(-1));
  const word = atEnd < memoryGoalMebibytes ? 'met' : 'not met';
  const reached = `${atEnd.toFixed(0)} MiB: ${word}; ${highestAfter(names).toFixed(0)} MiB after the case that takes most`;
  const label = 'resident memory after all cases, highest of the rounds';
  return [label, `under ${memoryGoalMebibytes} MiB`, Number.isFinite(atEnd) ? reached : 'not measured', ''];
}

/** Returns the table of what was wanted and what was reached. */
export function renderGoals(lookup: Lookup, cases: readonly Case[], flood: Flood | undefined): string {
  const rows = [
    ...ratioGoals.map((goal) => ratioRow(goal, lookup)),
    goodTokensRow(lookup),
    ...fetchRows(flood),
    memoryRow(lookup, cases),
  ];
  return table(['Case', 'Goal', 'By wall time', 'By CPU time'], rows);
}
