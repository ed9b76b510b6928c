import { max, median, min } from 'simple-statistics';
import type { CaseName } from './cases.ts';
import { type Contestant, contestants } from './contestants.ts';
import { table } from './machine.ts';
import type { Measurement } from './measure.ts';

type Figure = 'cpuMicroseconds' | 'requestsPerSecond';

/** A server, a case, and the server and the case to compare with; how good it is at least, as wanted. */
const goals: readonly (readonly [string, CaseName, string, CaseName, number])[] = [
  ['ours', 'public', 'equal', 'public', 0.92],
  ['ours', 'one token', 'equal', 'one token', 0.9],
  ['ours', 'no header', 'equal', 'no header', 0.92],
  ['ours', 'one token', 'haproxy', 'one token', 3.3],
  ['metrics', 'public', 'ours', 'public', 0.95],
  ['metrics', 'one token', 'ours', 'one token', 0.95],
];

/** How many times as good a server is: rates as they are, CPU time inverted. Within a turn, because the speed of a machine changes. */
function compare(measurements: readonly Measurement[], figure: Figure) {
  const figuresOf = (name: string, caseName: CaseName) =>
    measurements.filter((one) => one.contestant === name && one.caseName === caseName).map((one) => one[figure]);
  return (one: string, caseName: CaseName, other: string, otherCase = caseName): number[] => {
    const others = figuresOf(other, otherCase);
    const ratios = figuresOf(one, caseName).flatMap((value, turn) => {
      const base = others[turn];
      return base === undefined ? [] : [value / base];
    });
    return figure === 'cpuMicroseconds' ? ratios.map((ratio) => 1 / ratio) : ratios;
  };
}

const range = (values: readonly number[], digits: number) =>
  values.length === 0
    ? '-'
    : `${median([...values]).toFixed(digits)} (${min([...values]).toFixed(digits)}–${max([...values]).toFixed(digits)})`;

const labelOf = (name: string) => contestants.find((one) => one.name === name)?.label ?? name;

function renderGoals(measurements: readonly Measurement[]): string {
  const byCpu = compare(measurements, 'cpuMicroseconds');
  const byRate = compare(measurements, 'requestsPerSecond');
  const rows = goals.map(([one, caseName, other, otherCase, atLeast]) => [
    `${caseName}: ${labelOf(one)} / ${labelOf(other)}`,
    atLeast.toFixed(2),
    range(byCpu(one, caseName, other, otherCase), 2),
    range(byRate(one, caseName, other, otherCase), 2),
  ]);
  return table(['', 'goal', 'by CPU time', 'by rate'], rows);
}

/** Two identical servers, and the service of another checkout where one was measured. */
function renderSpread(measurements: readonly Measurement[], names: readonly CaseName[]): string {
  const pairs = [
    ['ours', 'twin'],
    ['ours', 'other'],
  ] as const;
  const rows = pairs.flatMap(([one, other]) =>
    (['cpuMicroseconds', 'requestsPerSecond'] as const).map((figure) => [
      `this service / ${other === 'twin' ? 'twin' : 'other checkout'}, by ${figure === 'cpuMicroseconds' ? 'CPU time' : 'rate'}`,
      ...names.map((name) => range(compare(measurements, figure)(one, name, other), 2)),
    ]),
  );
  const isMeasured = (cells: readonly string[]) => cells.slice(1).some((cell) => cell !== '-');
  return table(['', ...names], rows.filter(isMeasured));
}

export interface Page {
  /** What describeMachine() said before the first round. */
  readonly machine: string;
  readonly measurements: readonly Measurement[];
  readonly servers: readonly Contestant[];
  readonly names: readonly CaseName[];
  readonly rounds: number;
}

/** Returns the section of the results page that the comparison makes. */
export function renderPage({ machine, measurements, servers, names, rounds }: Page): string {
  const perCase = (cell: (all: readonly Measurement[]) => string) =>
    table(
      ['', ...names],
      servers.map(({ name, label }) => [
        label,
        ...names.map((caseName) => {
          const all = measurements.filter((one) => one.contestant === name && one.caseName === caseName);
          return all.length === 0 ? '-' : cell(all);
        }),
      ]),
    );
  const middle = (all: readonly Measurement[], figure: keyof Measurement) =>
    median(all.map((one) => Number(one[figure])));
  const problems = measurements.flatMap((one) => one.problems);

  return `## The service and other servers (\`bun run bench\`)

${machine}
- Method: ${rounds} fresh processes of each server (one of the last two) on core 0; wrk with one thread and 64 connections on core 1, with the key-set server. Each process is warmed up with all its cases for a second. Then each case is measured for a second, the servers taking turns, twice in opposite order. CPU time is that of all threads of the server, by the scheduler. NODE_ENV is production; the service has its default settings unless its name says otherwise. Cells are medians, with the lowest and the highest in brackets; ratios are computed within a turn.

${problems.length === 0 ? '' : `### Invalid measurements\n\n${problems.map((one) => `- ${one}`).join('\n')}\n\n`}### Goals

${renderGoals(measurements)}

### Difference between two identical servers

Smaller differences are not significant.

${renderSpread(measurements, names)}

### CPU time per request, in microseconds

${perCase((all) =>
  range(
    all.map((one) => one.cpuMicroseconds),
    1,
  ),
)}

### Thousand requests per second

${perCase((all) => (middle(all, 'requestsPerSecond') / 1000).toFixed(1))}

### Resident memory after each case, in MiB, and key-set fetches caused by it

The cases run in this order in one process.

${perCase((all) => `${middle(all, 'residentMebibytes').toFixed(0)}, ${middle(all, 'keySetFetches').toFixed(0)}`)}

### What the servers check

A server does not spend time on what it does not check.

${servers.map(({ label, note }) => `- **${label}**: ${note}`).join('\n')}
`;
}
