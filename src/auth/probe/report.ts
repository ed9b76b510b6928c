import { groupBy } from '../values/group-by.ts';
import { printable } from '../values/url.ts';
import type { Level, Needs } from './row.ts';

// Here the result of a run is counted and written.

/** The result of a row. */
export type Verdict = 'passed' | 'failed' | 'warning' | 'skipped' | 'inconclusive';

/** The result of a row on a target. */
export interface ProbedRow {
  /** Stable: for lists of known deviations. */
  readonly id: string;
  /** Method and URL. */
  readonly target: string;
  /** The standard and section that demand it. */
  readonly rule: string;
  /** Whether the standard says must or should. */
  readonly level: Level;
  /** What the probe must have to send it. */
  readonly needs: Needs;
  /** What was sent. */
  readonly sent: string;
  /** What the standard demands. */
  readonly expected: string;
  /** What came, or why the row was skipped. */
  readonly got: string;
  /** Whether the response is what the standard demands. */
  readonly verdict: Verdict;
  /** How such a fault is usually repaired. */
  readonly remedy: string;
  /** Why it is known that the row fails. */
  readonly known?: string;
}

/** The result of a run. */
export interface ProbeReport {
  /** Every row. */
  readonly rows: readonly ProbedRow[];
  /** Rows that passed. */
  readonly passed: readonly ProbedRow[];
  /** Rows of level `must` that failed, and known ones that no longer do. Known deviations are in `rows` only. */
  readonly failed: readonly ProbedRow[];
  /** Rows of level `should` that failed. */
  readonly warnings: readonly ProbedRow[];
  /** Rows for which something was missing. */
  readonly skipped: readonly ProbedRow[];
  /** Rows whose responses decide nothing. */
  readonly inconclusive: readonly ProbedRow[];
  /** Operations that the OpenAPI document calls public, and methods that were not named: they were not tried. */
  readonly notTried: readonly string[];
  /** Whether every row that applies has a verdict. */
  readonly isComplete: boolean;
  /** Returns a line for each row that has not passed, failures last, and the counts. Defaults to no colour. */
  render(hasColour?: boolean): string;
}

/** Returns the report of a run. */
export function reportOf(rows: readonly ProbedRow[], notTried: readonly string[]): ProbeReport {
  const of = (verdict: Verdict) => rows.filter((row) => row.verdict === verdict && row.known === undefined);
  const report = {
    rows,
    passed: of('passed'),
    failed: of('failed'),
    warnings: of('warning'),
    skipped: of('skipped'),
    inconclusive: of('inconclusive'),
    notTried,
  };
  const isComplete = report.inconclusive.length === 0;
  return { ...report, isComplete, render: (hasColour = false) => renderReport({ ...report, isComplete }, hasColour) };
}

const colours = { failed: 31, warning: 33, inconclusive: 35, known: 36, skipped: 2, passed: 32 } as const;

function renderReport(report: Omit<ProbeReport, 'render'>, hasColour: boolean): string {
  const { rows, passed, failed, warnings, skipped, inconclusive, notTried } = report;
  const paint = (kind: keyof typeof colours, text: string) =>
    hasColour ? `\u001b[${colours[kind]}m${text}\u001b[0m` : text;
  const known = rows.filter((row) => row.known !== undefined);
  const targets = new Set(rows.map(({ target }) => target));
  const at = ({ target }: ProbedRow) => (targets.size > 1 ? `  ${target}` : '');
  const line = (kind: keyof typeof colours, row: ProbedRow) =>
    `${paint(kind, kind.padEnd(13))}${row.id.padEnd(26)} ${row.sent}: ${row.got}${at(row)}`;
  const full = (kind: keyof typeof colours, row: ProbedRow) =>
    [
      line(kind, row),
      ...(['expected', 'rule', 'remedy'] as const).map((name) => `${' '.repeat(13)}${name.padEnd(9)} ${row[name]}`),
    ].join('\n');
  const reasons = groupBy(skipped, ({ got }) => got);
  const lines = [
    ...[...targets].map((target) => `Target: ${target}`),
    ...[...reasons].map(([reason, group]) => `${paint('skipped', 'skipped'.padEnd(13))}${group.length}: ${reason}`),
    ...notTried.map((text) => `${paint('skipped', 'not tried'.padEnd(13))}${text}`),
    ...known.map((row) => `${line('known', row)} (known: ${row.known})`),
    ...[...groupBy(inconclusive, ({ got }) => got)].flatMap(([reason, group]) =>
      group.length > 2
        ? [`${paint('inconclusive', 'inconclusive'.padEnd(13))}${group.length}: ${reason}`]
        : group.map((row) => line('inconclusive', row)),
    ),
    ...warnings.map((row) => full('warning', row)),
    ...failed.map((row) => full('failed', row)),
    Object.entries({ passed, failed, warnings, skipped, inconclusive, known })
      .map(([name, { length }]) => `${length} ${name}`)
      .join(', '),
    ...(report.isComplete ? [] : ['The run is incomplete: what is inconclusive was not judged']),
  ];
  return `${lines.join('\n')}\n`;
}

const xml = (text: string) =>
  printable(text, Number.POSITIVE_INFINITY).replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Returns the report in the format of JUnit, which CI systems read. */
export function junitOf({ rows, failed }: ProbeReport): string {
  const cases = rows.map((row) => {
    const { id, target, verdict, sent, got, expected, rule, remedy, known } = row;
    const told = xml(`Sent ${sent}. Got ${got}, expected ${expected} (${rule}). ${remedy}`);
    const inside = failed.includes(row)
      ? `<failure message="${xml(got)}">${told}</failure>`
      : verdict === 'passed'
        ? ''
        : `<skipped message="${xml(known === undefined ? `${verdict}: ${got}` : `known: ${known}`)}"/>`;
    return `    <testcase classname="${xml(target)}" name="${xml(id)}">${inside}</testcase>\n`;
  });
  const skipped =
    rows.length -
    failed.length -
    rows.filter(({ verdict, known }) => verdict === 'passed' && known === undefined).length;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n  <testsuite name="protected-api probe" tests="${rows.length}" failures="${failed.length}" skipped="${skipped}">\n${cases.join('')}  </testsuite>\n</testsuites>\n`;
}
