import { groupBy } from '../values/group-by.ts';
import { printable } from '../values/text.ts';
import { byHarm, harmOf, harms, summaryOf } from './harm.ts';
import type { ProbedRow, ProbeReport, Verdict } from './result.ts';

// Here the result of a run is counted and written.

/** What a server or its document says may be long, and may hold anything that a terminal obeys. */
const shown = (text: string) => printable(text, 1000);

/** Returns the report of a run. Nothing of a server is in it as it came. */
export function reportOf(raw: readonly ProbedRow[], named: readonly string[], depth: string): ProbeReport {
  const rows = raw.map((row) => ({ ...row, target: shown(row.target), got: shown(row.got) }));
  const notTried = named.map(shown);
  const of = (verdict: Verdict) => rows.filter((row) => row.verdict === verdict && row.known === undefined);
  const [passed, failed, skipped] = [of('passed'), of('failed'), of('skipped')];
  const [warnings, inconclusive] = [of('warning'), of('inconclusive')];
  const isComplete = inconclusive.length === 0;
  const report = { rows, passed, failed, warnings, skipped, inconclusive, notTried, depth, isComplete };
  return { ...report, render: (...options) => renderReport(report, ...options) };
}

const colourOf = { failed: 31, warning: 33, inconclusive: 35, known: 36, skipped: 2, 'not tried': 2 } as const;
type Kind = keyof typeof colourOf;
const margin = 13;
const minColumns = 60;

function renderReport(report: Omit<ProbeReport, 'render'>, hasColour = false, columns = 120): string {
  const { rows, passed, failed, warnings, skipped, inconclusive, notTried } = report;
  const known = rows.filter((row) => row.known !== undefined);
  const targets = new Set(rows.map(({ target }) => target));
  const faults = byHarm([...failed, ...warnings]);
  const shown = [...known, ...inconclusive, ...faults];
  const idWidth = Math.max(...shown.map(({ id }) => id.length), 0) + 2;
  /** A line, or several that begin in the same column. */
  const line = (kind: Kind | '', text: string, id = '') => {
    const start = kind.padEnd(margin) + id.padEnd(id === '' ? 0 : idWidth);
    // A terminal may have no columns.
    const pieces = wrapped(text, Math.max(columns, minColumns) - start.length).join(`\n${' '.repeat(start.length)}`);
    const painted = hasColour && kind ? `\u001b[${colourOf[kind]}m${kind}\u001b[0m${start.slice(kind.length)}` : start;
    return painted + pieces;
  };
  const rowLine = (kind: Kind) => (row: ProbedRow) => {
    const why = row.known === undefined ? '' : ` (known: ${row.known})`;
    return line(kind, `${row.sent}: ${row.got}${targets.size > 1 ? ` at ${row.target}` : ''}${why}`, row.id);
  };
  /** Rows of one rule, and under them what it demands. */
  const explained = (of: readonly ProbedRow[]) =>
    [...groupBy(of, ({ expected, rule, remedy }) => `Expected ${expected} (${rule}). ${remedy}`)].flatMap(
      ([words, group]) => [
        ...group.map((row) => rowLine(row.verdict === 'warning' ? 'warning' : 'failed')(row)),
        ...[line('', words), ''],
      ],
    );
  const counted = (kind: Kind, of: readonly ProbedRow[]) =>
    [...groupBy(of, ({ got }) => got)].flatMap(([reason, group]) =>
      kind === 'inconclusive' && group.length < 3
        ? group.map(rowLine(kind))
        : [line(kind, `${group.length}: ${reason}`)],
    );
  const counts = Object.entries({ passed, failed, warnings, skipped, inconclusive, known });
  const lines = [
    ...wrapped(summaryOf(report), Math.max(columns, minColumns)),
    ...[...targets].map((target) => `Target: ${target}`),
    report.depth,
    '',
    ...harms.flatMap((heading, harm) => {
      const found = faults.filter((row) => harmOf(row) === harm);
      return found.length === 0 ? [] : [...wrapped(heading, Math.max(columns, minColumns)), ...explained(found)];
    }),
    ...known.map(rowLine('known')),
    ...counted('inconclusive', inconclusive),
    ...counted('skipped', skipped),
    ...notTried.map((text) => line('not tried', text)),
    counts.map(([name, { length }]) => `${length} ${name}`).join(', '),
    ...(report.isComplete ? [] : ['The run is incomplete: what is inconclusive was not judged']),
  ];
  return `${lines.join('\n')}\n`;
}

/** Splits a text between words into lines of at most this length. A longer word is a line. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

const xml = (text: string) =>
  printable(text, Number.POSITIVE_INFINITY).replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Returns the report in the format of JUnit, which CI systems read. What is inconclusive is an error. */
export function junitOf({ rows, failed, inconclusive }: ProbeReport): string {
  const of = (row: ProbedRow) =>
    failed.includes(row) ? 'failure' : inconclusive.includes(row) ? 'error' : row.verdict === 'passed' ? '' : 'skipped';
  const cases = rows.map((row) => {
    const { id, target, verdict, sent, got, expected, rule, remedy, known } = row;
    const element = of(row);
    const message = known === undefined ? `${verdict}: ${got}` : `known: ${known}`;
    const told = `Sent ${sent}. Got ${got}, expected ${expected} (${rule}). ${remedy}`;
    const inside = element && `<${element} message="${xml(message)}">${xml(told)}</${element}>`;
    return `    <testcase classname="${xml(target)}" name="${xml(id)}">${inside}</testcase>\n`;
  });
  const skipped = rows.filter((row) => of(row) === 'skipped').length;
  const counts = `tests="${rows.length}" failures="${failed.length}" errors="${inconclusive.length}" skipped="${skipped}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n  <testsuite name="protected-api-probe" ${counts}>\n${cases.join('')}  </testsuite>\n</testsuites>\n`;
}
