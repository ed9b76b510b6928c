import { max, median, min } from 'simple-statistics';
import { type CaseName, caseNames } from './cases.ts';
import { type Contestant, contestants } from './contestants.ts';
import { table } from './machine.ts';
import type { Measurement } from './measure.ts';

const figures = { cpuMicroseconds: 'CPU time', requestsPerSecond: 'rate' } as const;
type Figure = keyof typeof figures;

/** A case, the server that handles it, and the server to compare with; how many times as good the first should be. */
type Goal = readonly [CaseName, string, string, number];

const goals: Readonly<Record<string, readonly Goal[]>> = {
  'What a user gains': [
    ['public', 'ours', 'by-hand', 1],
    ['one token', 'ours', 'by-hand-map', 1],
    ['every token new', 'cold', 'by-hand', 1],
    ['no header', 'ours', 'by-hand', 1],
    ['one token', 'ours', 'haproxy', 3.3],
  ],
  'What is left to the limit, and what metrics cost': [
    ['public', 'ours', 'equal', 0.92],
    ['one token', 'ours', 'equal', 0.9],
    ['no header', 'ours', 'equal', 0.92],
    ['public', 'metrics', 'ours', 0.95],
    ['one token', 'metrics', 'ours', 0.95],
  ],
};

const rangeOf = (values: number[], digits: number) =>
  values.length === 0
    ? '-'
    : `${median(values).toFixed(digits)} (${min(values).toFixed(digits)}–${max(values).toFixed(digits)})`;

const labelOf = (name: string) => contestants.find((one) => one.name === name)?.label;

/** Returns the section of the results page that the comparison makes; `machine` was described before the first round. */
export function renderPage(
  machine: string,
  measurements: readonly Measurement[],
  servers: readonly Contestant[],
  rounds: number,
): string {
  const measured = (name: string, caseName: CaseName, figure: keyof Measurement) =>
    measurements
      .filter((one) => one.contestant === name && one.caseName === caseName)
      .map((one) => Number(one[figure]));

  /** How many times as good a server is: rates as they are, CPU time inverted. Within a turn, because the speed of a machine changes. */
  const compare = (caseName: CaseName, one: string, other: string, figure: Figure) => {
    const others = measured(other, caseName, figure);
    const ratios = measured(one, caseName, figure).map((value, turn) => value / (others[turn] ?? Number.NaN));
    const known = ratios.filter((ratio) => !Number.isNaN(ratio));
    return rangeOf(figure === 'cpuMicroseconds' ? known.map((ratio) => 1 / ratio) : known, 2);
  };

  const goalTables = Object.entries(goals).map(([title, rows]) => {
    const cells = rows.map(([caseName, one, other, atLeast]) => [
      `${caseName}: ${labelOf(one)} / ${labelOf(other)}`,
      atLeast.toFixed(2),
      compare(caseName, one, other, 'cpuMicroseconds'),
      compare(caseName, one, other, 'requestsPerSecond'),
    ]);
    return `### ${title}\n\n${table(['', 'goal', 'by CPU time', 'by rate'], cells)}`;
  });

  const spreadRows = ['twin', 'other'].flatMap((other) =>
    (Object.keys(figures) as Figure[]).map((figure) => [
      `this service / ${other === 'twin' ? 'twin' : 'other checkout'}, by ${figures[figure]}`,
      ...caseNames.map((caseName) => compare(caseName, 'ours', other, figure)),
    ]),
  );

  const perCase = (cell: (name: string, caseName: CaseName) => string) =>
    table(
      ['', ...caseNames],
      servers.map(({ name, label }) => [
        label,
        ...caseNames.map((caseName) =>
          measured(name, caseName, 'requestsPerSecond').length > 0 ? cell(name, caseName) : '-',
        ),
      ]),
    );
  const middle = (name: string, caseName: CaseName, figure: keyof Measurement) =>
    median(measured(name, caseName, figure));
  const problems = measurements.flatMap((one) => one.problems);

  return `## The service and other servers (\`bun run bench\`)

${machine}
- Method: ${rounds} fresh processes of each server (one of the last two) on core 0; wrk with one thread and 64 connections on core 1, with the key-set server. Each process is warmed up with all its cases for a second. Then each case is measured for a second, the servers taking turns, twice in opposite order. CPU time is that of all threads of the server, by the scheduler. NODE_ENV is production; the service has its default settings unless its name says otherwise. Cells are medians, with the lowest and the highest in brackets; ratios are computed within a turn.

${problems.length === 0 ? '' : `### Invalid measurements\n\n${problems.map((one) => `- ${one}`).join('\n')}\n\n`}How many times as fast the first server is. Rejections have equal statuses and headers.

${goalTables.join('\n\n')}

### Difference between two identical servers

Smaller differences are not significant.

${table(
  ['', ...caseNames],
  spreadRows.filter(([, ...cells]) => cells.some((cell) => cell !== '-')),
)}

### CPU time per request, in microseconds

${perCase((...where) => rangeOf(measured(...where, 'cpuMicroseconds'), 1))}

### Thousand requests per second

${perCase((...where) => (middle(...where, 'requestsPerSecond') / 1000).toFixed(1))}

### Resident memory after each case, in MiB, and key-set fetches caused by it

The cases run in this order in one process.

${perCase((...where) => `${middle(...where, 'residentMebibytes').toFixed(0)}, ${middle(...where, 'keySetFetches').toFixed(0)}`)}

### What the servers check

A server does not spend time on what it does not check.

${servers.map(({ label, note }) => `- **${label}**: ${note}`).join('\n')}
`;
}
