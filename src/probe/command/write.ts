import { writeFileSync } from 'node:fs';
import { summaryOf } from '../report/harm.ts';
import { junitOf } from '../report/report.ts';
import type { ProbeReport } from '../report/result.ts';
import { sarifOf } from '../report/sarif.ts';
import type { Flags } from './flags.ts';

// Here a report goes to the terminal and into files.

const written = ['junit', 'sarif', 'write-known'] as const;

function writeTo(flag: string, file: string, text: string, mode = 'w'): void {
  try {
    writeFileSync(file, text, { flag: mode });
  } catch {
    throw new TypeError(`Cannot write the file that --${flag} names`);
  }
}

/** Fails early if a file cannot be written: otherwise the run would be for nothing. */
export function checkFiles(values: Flags['values']): void {
  for (const flag of written) {
    const file = values[flag];
    // What is in it may be the list that is read now.
    if (file !== undefined) writeTo(flag, file, '', 'a');
  }
}

/** Returns a line for each row that failed or is known: its ID and the reason. */
function knownOf({ rows, failed, warnings }: ProbeReport): string {
  const day = new Date().toISOString().slice(0, 10);
  const found = new Map(rows.flatMap(({ id, known }) => (known === undefined ? [] : [[id, known] as const])));
  for (const { id, got } of [...failed, ...warnings])
    if (!got.includes('remove it from the known')) found.set(id, found.get(id) ?? `found on ${day}: ${got}`);
  return [...found].map(([id, reason]) => `${id}  ${reason}\n`).join('');
}

/** Writes the report to standard output, and to each file that a flag names. */
export function writeReport(report: ProbeReport, values: Flags['values']): void {
  const { json, junit, sarif, 'write-known': known } = values;
  if (junit !== undefined) writeTo('junit', junit, junitOf(report));
  if (sarif !== undefined) writeTo('sarif', sarif, sarifOf(report));
  if (known !== undefined) writeTo('write-known', known, knownOf(report));
  const { rows, notTried, depth, isComplete } = report;
  const summary = summaryOf(report);
  if (json) process.stdout.write(`${JSON.stringify({ summary, depth, isComplete, notTried, rows }, undefined, 2)}\n`);
  else process.stdout.write(report.render(process.stdout.isTTY && !process.env.NO_COLOR, process.stdout.columns));
}
