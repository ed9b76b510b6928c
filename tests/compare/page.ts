import { groupBy } from '../../src/auth/values/group-by.ts';
import type { ProbedRow } from '../../src/probe/index.ts';
import libraries from './libraries.json';

/**
 * The page sets it up, below its name, as its documentation does. `leaves` has beginnings of IDs of rows, by the words
 * of that.
 */
export interface Library {
  readonly name: string;
  readonly packages: readonly string[];
  readonly leaves: Readonly<Record<string, readonly string[] | undefined>>;
}
export const compared: readonly Library[] = libraries;

/** Topics of rows, by the headings under which the page has them. The last has all others. */
const sections: Readonly<Record<string, RegExp>> = {
  'Forged tokens': /^(?:none|hmac|alg|embedded|signature|altered)-/,
  'Claims of tokens that the issuer signed': /^(?:accepts|issuer|audience|expiry|notbefore|claims)-/,
  'Types and kinds of tokens': /^(?:crit|type|kind|bound|dpop)-/,
  Scopes: /^scope-/,
  'Keys and fetches': /^(?:key|kid|fetch)-/,
  'Encodings and malformed tokens': /^(?:encoding|text|encrypted|header)-/,
  'What a rejection says': /^(?:challenge|error|leak|manners|metadata)-/,
  'Requests and credentials': /^/,
};
/** How rows are counted that do not pass, and how libraries differ in them. */
const outcomes = ['`must`', '`should`', 'with a 500', 'need your code', 'do not apply', 'not confirmed'];
const labels = ['Accept', 'Reject', 'Differ', 'Respond with a 500', 'Needs your code'];

/** What a row got that a second program did not see, so that it accuses nobody. */
export const notConfirmed = 'not confirmed';

/** Returns the result of a row: how it is counted, how the library differs, and what its documentation says. */
function cellOf({ name, leaves }: Library, row: ProbedRow) {
  const { id, verdict, expected, got, level } = row;
  const meant = `${id.replace('challenge-scope', 'scope')}-`;
  const words = Object.keys(leaves).find((key) => leaves[key]?.some((start) => meant.startsWith(`${start}-`)));
  const cell = (outcome: string, label = '') => ({ name, row, outcome, label, words });
  if (verdict === 'skipped' || verdict === 'passed') return cell(verdict === 'passed' ? 'pass' : 'do not apply');
  if (words !== undefined) return cell('need your code', 'Needs your code');
  if (got === notConfirmed) return cell(notConfirmed);
  if (verdict !== 'inconclusive')
    return cell(`\`${level}\``, { 'a rejection': 'Accept', 'success, ': 'Reject' }[expected.slice(0, 9)] ?? 'Differ');
  if (/^5\d\d/.test(got)) return cell('with a 500', 'Respond with a 500');
  throw new Error(`Cannot compare ${id} of ${name}: ${got}`);
}
type Cell = ReturnType<typeof cellOf>;

const table = (header: readonly string[], rows: readonly (readonly string[])[]) =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
const code = (names: Iterable<string>) => [...new Set(names)].map((name) => `\`${name}\``).join(', ');
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');

function section(title: string, cells: readonly Cell[], same: string): string {
  const rows = [...groupBy(cells, ({ row }) => row.id)].map(([id, ofRow]) => {
    const found = groupBy(ofRow, ({ label }) => label);
    const names = (label: string) => found.get(label)?.map(({ name }) => name);
    const lines = labels.flatMap((label) => (found.has(label) ? [`${label}: ${names(label)?.join(', ')}`] : []));
    return { id, row: ofRow[0]?.row, lines: lines.join('<br>') };
  });
  const isBrief = ({ lines }: { lines: string }) => lines === '' || /^Respond with a 500: [^:]*$/.test(lines);
  const told = rows
    .filter((each) => !isBrief(each))
    .map(({ id, row, lines }) => [
      `${row?.sent.replace(/__\w+__/g, '`$&`')}<br>\`${id}\``,
      `${row?.level}: ${row?.rule}`,
      lines,
    ]);
  const brief = [...groupBy(rows.filter(isBrief), ({ lines }) => lines)].map(([lines, group]) => {
    const words = lines === '' ? same : `${lines.replace('Respond', 'Reject')}, in these rows`;
    return `${words}: ${code(group.map(({ id }) => id))}.`;
  });
  return [
    `## ${title}`,
    ...(told.length > 0 ? [table(['Sent', 'Demanded by', 'Who differs'], told)] : []),
    ...brief,
  ].join('\n\n');
}

export interface Tables {
  readonly summary: string;
  readonly rows: string;
}

/** Returns the text with what stands below a mark replaced. */
export const replacePart = (text: string, mark: string, part: string) =>
  text.replace(
    new RegExp(`(<!-- ${mark} -->\\n\\n).*?(\\n\\n<!-- end -->)`, 's'),
    (_, start, end) => start + part + end,
  );

/** The text without what a formatter changes, and without the day. */
export const plainOf = (markdown: string) =>
  markdown
    .replace(/Generated on \S+(?: with Node.js \d+)?/, '')
    .replace(/ *\| */g, '|')
    .replace(/-{3,}/g, '---');

/** Returns the table of `docs/comparison.md`, and the rows that a file in `bench` has. */
export function tablesOf(
  results: readonly (readonly [library: Library, rows: readonly ProbedRow[]])[],
  versions: Readonly<Record<string, string>>,
  {
    linkOf = (name: string) => `../bench/comparison-setup.md#${anchorOf(name)}`,
    same = 'All pass, if they apply',
  } = {},
): Tables {
  const cells = results.flatMap(([library, rows]) => rows.map((row) => cellOf(library, row)));
  const summary = results.map(([{ name }]) => {
    const counts = groupBy(
      cells.filter((cell) => cell.name === name),
      ({ outcome }) => outcome,
    );
    const count = (outcome: string) => counts.get(outcome)?.length ?? 0;
    const others = outcomes.filter(count).map((outcome) => `${count(outcome)} ${outcome}`);
    return [`[${name}](${linkOf(name)})`, String(count('pass')), others.join(', ')];
  });
  const packages = new Set(results.flatMap(([library]) => library.packages));
  const installed = Array.from(packages, (each) => `${each} ${versions[each]}`);
  const left = cells.filter(({ label }) => label === 'Needs your code');
  const leaves = [...groupBy(left, ({ name, words }) => `${name} | ${words}`)].map(([key, group]) => {
    const [name = '', words = ''] = key.split(' | ');
    return [name, code(group.map(({ row }) => row.id.split('-')[0] ?? '')), words];
  });
  const sectionOf = ({ row }: Cell) => Object.keys(sections).find((title) => sections[title]?.test(row.id)) ?? '';
  const bySection = groupBy(cells, sectionOf);
  const rows = [
    `Versions: ${installed.join(', ')}.`,
    `## What needs your code\n\n${table(['Library', 'Rows', 'Its documentation'], leaves)}`,
    ...Object.keys(sections).map((title) => section(title, bySection.get(title) ?? [], same)),
  ].join('\n\n');
  return { summary: table(['Library', 'Rows that pass', 'Other rows'], summary), rows };
}
