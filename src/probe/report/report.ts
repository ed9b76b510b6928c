import { ownRows } from '../row/own-rows.ts';
import { printable } from '../values/text.ts';
import { adviceOf } from './harm.ts';
import { redactorOf } from './redact.ts';
import { renderReport } from './render.ts';
import type { ProbedRow, ProbeReport, Verdict } from './result.ts';

// Here the result of a run is counted, and written for CI systems.

/** Returns the report of a run. Nothing of a server is in it as it came. */
export function reportOf(
  raw: readonly ProbedRow[],
  named: readonly string[],
  depth: string,
  redact: (text: string) => string = redactorOf([]),
): ProbeReport {
  // What a server or its document says may be long, and may hold a token, or anything that a terminal obeys.
  const shown = (text: string) => printable(redact(text), 1000);
  const rows = raw.map((row) => ({ ...row, target: shown(row.target), got: shown(row.got) }));
  const notTried = named.map(shown);
  const of = (verdict: Verdict) => rows.filter((row) => row.verdict === verdict && row.known === undefined);
  const [passed, failed, skipped] = [of('passed'), of('failed'), of('skipped')];
  const [warnings, inconclusive] = [of('warning'), of('inconclusive')];
  const own = ownRows.map(({ id }) => id);
  const chosen = rows.filter(({ id }) => !own.includes(id));
  const isTried = chosen.length === 0 || chosen.some(({ verdict }) => verdict !== 'skipped');
  const isComplete = inconclusive.length === 0 && isTried;
  const report = { rows, passed, failed, warnings, skipped, inconclusive, notTried, depth, isComplete };
  return { ...report, render: (...options) => renderReport(report, ...options) };
}

const xml = (text: string) =>
  printable(text, Number.POSITIVE_INFINITY).replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Returns the report in the format of JUnit, which CI systems read. What is inconclusive is an error. */
export function junitOf({ rows, failed, inconclusive }: ProbeReport): string {
  const [failures, errors] = [new Set(failed), new Set(inconclusive)];
  const of = (row: ProbedRow) =>
    failures.has(row) ? 'failure' : errors.has(row) ? 'error' : row.verdict === 'passed' ? '' : 'skipped';
  const cases = rows.map((row) => {
    const { id, target, verdict, sent, got, expected, rule, known } = row;
    const element = of(row);
    const message = known === undefined ? `${verdict}: ${got}` : `known: ${known}`;
    const told = `Sent ${sent}. Got ${got}, expected ${expected} (${rule}). ${adviceOf(row)}`;
    const inside = element && `<${element} message="${xml(message)}">${xml(told)}</${element}>`;
    return `    <testcase classname="${xml(target)}" name="${xml(id)}">${inside}</testcase>\n`;
  });
  const skipped = rows.filter((row) => of(row) === 'skipped').length;
  const counts = `tests="${rows.length}" failures="${failed.length}" errors="${inconclusive.length}" skipped="${skipped}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n  <testsuite name="protected-api-probe" ${counts}>\n${cases.join('')}  </testsuite>\n</testsuites>\n`;
}
