import { stackNames } from '../advice/advice.ts';
import { topicOf } from '../advice/topics.ts';
import { groupBy } from '../values/group-by.ts';
import { adviceOf, byHarm, harmOf, harms, senders, summaryOf } from './harm.ts';
import type { ProbedRow, ProbeReport } from './result.ts';

// Here a report is written for a terminal.

const colourOf = { failed: 31, warning: 33, inconclusive: 35, known: 36, skipped: 2, 'not tried': 2 } as const;
type Kind = keyof typeof colourOf;
const margin = 13;
/** A terminal may have no columns. */
const minColumns = 60;
/** From here on, IDs have a column of their own. */
const wideColumns = 100;
/** How many targets of a row, or rows of a fix, are listed. */
const maxListed = 3;

/** What a reader can do who gets no settings. */
const nameStack = `For the settings of a library or server, name it: --stack ${stackNames.join(', ')}`;

type Line = (kind: Kind | '', text: string, id?: string) => string;

/** Returns the report as text: a sentence, the faults by harm, what to write, and what was not judged. */
export function renderReport(report: Omit<ProbeReport, 'render'>, hasColour = false, columns = 120): string {
  const { rows, passed, failed, warnings, skipped, inconclusive, notTried } = report;
  const known = rows.filter((row) => row.known !== undefined);
  const faults = byHarm([...failed, ...warnings]);
  const width = Math.max(columns, minColumns);
  const line = lineOf([...known, ...inconclusive, ...faults], width, hasColour);
  const targets = new Set(rows.map(({ target }) => target));
  const rowsOf = (kind: Kind, of: readonly ProbedRow[]) => rowLines(line, kind, of, targets.size > 1);
  const counts = Object.entries({ passed, failed, warnings, skipped, inconclusive, known });
  const lines = [
    ...wrapped(summaryOf(report), width),
    ...[...targets].map((target) => `Target: ${target}`),
    ...[report.depth, ''],
    ...[...groupBy(faults, headingOf)].flatMap(([heading, found]) => [
      ...wrapped(heading, width),
      ...explained(found, line, rowsOf),
    ]),
    ...ownCode(faults, line, width),
    ...(faults.some(({ id, setting }) => topicOf(id) && !setting) ? [...wrapped(nameStack, width), ''] : []),
    ...rowsOf('known', known),
    ...counted('inconclusive', inconclusive, line, rowsOf, true),
    ...counted('skipped', skipped, line, rowsOf),
    ...notTried.map((text) => line('not tried', text)),
    counts.map(([name, { length }]) => `${length} ${name}`).join(', '),
    ...(report.isComplete ? [] : wrapped(incomplete(report), width)),
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns what a fault does, and who could do it with what is let in. */
function headingOf(row: ProbedRow): string {
  const heading = harms[harmOf(row)] ?? '';
  return heading.endsWith(':') ? heading : heading + senders[row.needs];
}

/** Returns what writes a line, or several that begin in the same column. */
function lineOf(shown: readonly ProbedRow[], width: number, hasColour: boolean): Line {
  const idWidth = shown.reduce((most, { id }) => Math.max(most, id.length), 0) + 2;
  return (kind, text, id = '') => {
    const isBelow = id !== '' && width < wideColumns;
    const start = kind.padEnd(margin) + (isBelow || id === '' ? id : id.padEnd(idWidth));
    const indent = ' '.repeat(isBelow ? margin : start.length);
    const pieces = wrapped(text, width - indent.length).join(`\n${indent}`);
    const painted = hasColour && kind ? `\u001b[${colourOf[kind]}m${kind}\u001b[0m${start.slice(kind.length)}` : start;
    return painted + (isBelow ? `\n${indent}` : '') + pieces;
  };
}

/** Returns a line for each row, however many targets it has. */
function rowLines(line: Line, kind: Kind, rows: readonly ProbedRow[], hasTargets: boolean): readonly string[] {
  return [...groupBy(rows, ({ id, got }) => `${id} ${got}`).values()].flatMap(([row, ...others]) => {
    if (row === undefined) return [];
    const where = listed([row, ...others].map(({ target }) => target));
    const why = row.known === undefined ? '' : ` (known: ${row.known})`;
    return line(kind, `${row.sent}: ${row.got}${hasTargets ? ` at ${where}` : ''}${why}`, row.id);
  });
}

type RowsOf = (kind: Kind, of: readonly ProbedRow[]) => readonly string[];

/** Returns the rows that have one remedy, and under them what they expect. */
function explained(faults: readonly ProbedRow[], line: Line, rowsOf: RowsOf): readonly string[] {
  const groups = groupBy(faults, (row) => `Expected ${row.expected} (RULES). ${adviceOf(row)}`);
  return [...groups].flatMap(([words, group]) => {
    const rules = new Set(group.flatMap(({ rule }) => rule.split('; ')));
    const kind = group.some(({ verdict }) => verdict === 'failed') ? 'failed' : 'warning';
    return [...rowsOf(kind, group), line('', words.replace('RULES', [...rules].join('; '))), ''];
  });
}

/** Returns what to write, apart from what to set. */
function ownCode(faults: readonly ProbedRow[], line: Line, width: number): readonly string[] {
  const groups = groupBy(
    faults.filter((row) => row.ownCode !== undefined),
    (row) => row.ownCode,
  );
  const lines = [...groups].map(([words, group]) => {
    const ids = [...new Set(group.map(({ id }) => id))];
    return line('', `${words}: ${listed(ids)}`);
  });
  return lines.length === 0 ? [] : [...wrapped('If you write the validation yourself:', width), ...lines, ''];
}

function incomplete({ inconclusive }: Pick<ProbeReport, 'inconclusive'>): string {
  if (inconclusive.length === 0) return 'The run is incomplete: every row was skipped';
  const isThrown = inconclusive.some(({ got }) => got?.startsWith('500'));
  const cure = isThrown ? '. Return a 401 instead of a 500 for what the library throws, and run it again' : '';
  return `The run is incomplete: what is inconclusive was not judged${cure}`;
}

const listed = (names: readonly string[], most = maxListed) =>
  names.slice(0, most).join(', ') + (names.length > most ? ` and ${names.length - most} more` : '');

/** How many rows that were not judged for one reason are named. */
const maxNamed = 40;
/** Returns the number of rows of each reason, and their IDs, or each row if there are few. */
const counted = (kind: Kind, of: readonly ProbedRow[], line: Line, rowsOf: RowsOf, isNamed = false) =>
  [...groupBy(of, ({ got }) => got)].flatMap(([reason, group]) => {
    if (isNamed && group.length <= 2) return rowsOf(kind, group);
    const ids = listed([...new Set(group.map(({ id }) => id))], maxNamed);
    return [line(kind, `${group.length}: ${reason}${isNamed ? ` (${ids})` : ''}`)];
  });

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
