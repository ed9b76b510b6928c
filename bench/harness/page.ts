import { max, median, min } from 'simple-statistics';
import { type CaseName, caseNames } from './cases.ts';
import { type Contestant, contestants } from './contestants.ts';
import { table } from './machine.ts';
import type { Measurement } from './measure.ts';

/** A case, the server that handles it, and the server to compare with; how many times as good the first should be. */
type Goal = readonly [CaseName, string, string, number];

const goals: Readonly<Record<string, readonly Goal[]>> = {
  'What a user gains': [
    ['public', 'ours', 'by-hand', 1.2],
    ['one token', 'ours', 'by-hand-map', 1.2],
    ['every token new', 'cold', 'by-hand', 1.15],
    ['no header', 'ours', 'by-hand', 1],
    ['one token', 'ours', 'haproxy', 3.3],
    ['every token new', 'cold', 'haproxy', 0.85],
  ],
  'What is left to the limit, and what metrics cost': [
    ['public', 'ours', 'equal', 0.92],
    ['one token', 'ours', 'equal', 0.85],
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

  /** How many times the CPU time of a server another takes, round by round. */
  const compare = (caseName: CaseName, one: string, other: string) => {
    const others = measured(other, caseName, 'cpuMicroseconds');
    const ratios = measured(one, caseName, 'cpuMicroseconds').flatMap((own, round) => {
      const theirs = others[round];
      return theirs === undefined ? [] : [theirs / own];
    });
    return rangeOf(ratios, 2);
  };

  const goalTables = Object.entries(goals).map(([title, rows]) => {
    const cells = rows.map(([caseName, one, other, atLeast]) => [
      `${caseName}: ${labelOf(one)} / ${labelOf(other)}`,
      atLeast.toFixed(2),
      compare(caseName, one, other),
    ]);
    return `### ${title}\n\n${table(['', 'goal', 'measured'], cells)}`;
  });

  const spreadRows = ['twin', 'other'].map((other) => [
    `this service / ${other === 'twin' ? 'twin' : 'other checkout'}`,
    ...caseNames.map((caseName) => compare(caseName, 'ours', other)),
  ]);

  const perCase = (cell: (name: string, caseName: CaseName) => string) =>
    table(
      ['', ...caseNames],
      servers.map(({ name, label }) => [
        label,
        ...caseNames.map((caseName) =>
          measured(name, caseName, 'cpuMicroseconds').length > 0 ? cell(name, caseName) : '-',
        ),
      ]),
    );
  const middle = (name: string, caseName: CaseName, figure: keyof Measurement) =>
    median(measured(name, caseName, figure));
  const problems = measurements.flatMap((one) => one.problems);

  return `## The service and other servers (\`bun run bench\`)

${machine}
- Method: ${rounds} fresh processes of each server. All servers of a case run at the same moment on core 0, each with 32 connections of a wrk of its own on core 1, where the key-set server is too. Each process is warmed up with all its cases for six seconds, and measured for four seconds a case. CPU time is that of all threads of the server, by the scheduler. NODE_ENV is production; the service has its default settings unless its name says otherwise. Cells are medians, with the lowest and the highest in brackets; ratios are computed within a round.

${problems.length === 0 ? '' : `### Invalid measurements\n\n${problems.map((one) => `- ${one}`).join('\n')}\n\n`}How many times the CPU time of the first server the other takes for the same requests. Rejections have equal statuses and headers.

${goalTables.join('\n\n')}

### Difference between two identical servers

Smaller differences are not significant.

${table(
  ['', ...caseNames],
  spreadRows.filter(([, ...cells]) => cells.some((cell) => cell !== '-')),
)}

### CPU time per request, in microseconds

${perCase((...where) => rangeOf(measured(...where, 'cpuMicroseconds'), 1))}

### Resident memory after each case, in MiB, and key-set fetches caused by it

The cases run in this order in one process.

${perCase((...where) => `${middle(...where, 'residentMebibytes').toFixed(0)}, ${middle(...where, 'keySetFetches').toFixed(0)}`)}

### What the servers check

A server does not spend time on what it does not check.

${servers.map(({ label, note }) => `- **${label}**: ${note}`).join('\n')}
`;
}
