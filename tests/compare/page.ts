import type { ProbedRow } from '../../src/auth/probe.ts';
import { groupBy } from '../../src/auth/values/group-by.ts';
import libraries from './libraries.json';

/** The page sets it up, below its name, as its documentation does. `leaves` has beginnings of IDs of rows, by the words of that. */
export interface Library {
  readonly name: string;
  readonly packages: readonly string[];
  readonly leaves: Readonly<Record<string, readonly string[] | undefined>>;
}
export const compared: readonly Library[] = libraries;

/** A library, and the result of each row. */
export type Result = readonly [library: Library, rows: readonly ProbedRow[]];

/** Topics of rows, by the headings under which the page has them. */
const sections: Readonly<Record<string, readonly string[]>> = {
  'Forged tokens': ['none', 'hmac', 'alg', 'embedded', 'signature', 'altered'],
  'Claims of tokens that the issuer signed': ['accepts', 'issuer', 'audience', 'expiry', 'notbefore', 'claims'],
  'Types and kinds of tokens': ['crit', 'type', 'kind', 'bound', 'dpop'],
  Scopes: ['scope'],
  'Keys and fetches': ['key', 'kid', 'fetch'],
  'Encodings and malformed tokens': ['encoding', 'text', 'encrypted', 'header'],
  'Requests and credentials': ['no', 'path', 'scheme', 'credentials', 'elsewhere', 'cache', 'given', 'control'],
  'What a rejection says': ['challenge', 'error', 'leak', 'manners', 'metadata'],
};

const outcomes = ['`must`', '`should`', 'with a 500', 'left to you', 'do not apply'] as const;
type Outcome = (typeof outcomes)[number] | 'passes';

/** Returns what the documentation of a library says about a row. */
function wordsOf({ leaves }: Library, { id }: ProbedRow): string | undefined {
  const meant = id.replace('challenge-scope', 'scope');
  return Object.keys(leaves).find((words) => leaves[words]?.some((start) => `${meant}-`.startsWith(`${start}-`)));
}

function outcomeOf(library: Library, row: ProbedRow): Outcome {
  const { verdict, got, level } = row;
  if (verdict === 'skipped') return 'do not apply';
  if (verdict === 'passed') return 'passes';
  if (wordsOf(library, row) !== undefined) return 'left to you';
  if (verdict !== 'inconclusive') return `\`${level}\``;
  if (/^5\d\d/.test(got)) return 'with a 500';
  throw new Error(`Cannot compare ${row.id} of ${library.name}: ${got}`);
}

const table = (header: readonly string[], rows: readonly (readonly string[])[]) =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

function summary(results: readonly Result[], versions: Readonly<Record<string, string>>): string {
  const rows = results.map(([library, judged]) => {
    const counts = groupBy(judged, (row) => outcomeOf(library, row));
    const others = outcomes.flatMap((name) => (counts.has(name) ? [`${counts.get(name)?.length} ${name}`] : []));
    return [
      `[${library.name}](#${library.name
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replaceAll(' ', '-')})`,
      String(counts.get('passes')?.length),
      others.join(', '),
      library.packages.map((name) => `${name} ${versions[name]}`).join(', '),
    ];
  });
  return table(['Library', 'Rows that pass', 'Other rows', 'Versions'], rows);
}

const labels = ['Accept', 'Reject', 'Differ', 'Respond with a 500', 'Left to you'] as const;

/** Returns who differs, by how. */
function differences(id: string, results: readonly Result[]) {
  const found = results.flatMap(([library, rows]) => {
    const row = rows.find((each) => each.id === id);
    const outcome = row && outcomeOf(library, row);
    if (!row || !outcome || outcome === 'passes' || outcome === 'do not apply') return [];
    const deviation = /^a refusal/.test(row.expected) ? 'Accept' : /^success/.test(row.expected) ? 'Reject' : 'Differ';
    const special = { 'left to you': 'Left to you', 'with a 500': 'Respond with a 500' };
    const label: string = outcome in special ? special[outcome as keyof typeof special] : deviation;
    return [{ label, name: library.name }];
  });
  return groupBy(found, ({ label }) => label);
}

function section(title: string, topics: readonly string[], results: readonly Result[]): string {
  const [[, own]] = results as readonly [Result];
  const rows = own.filter(({ id }) => topics.includes(id.split('-')[0] ?? ''));
  const told = rows.map((row) => {
    const found = differences(row.id, results);
    const lines = labels.flatMap((label) => {
      const names = found.get(label)?.map(({ name }) => name);
      return names ? [`${label}: ${names.join(', ')}`] : [];
    });
    return { ...row, lines };
  });
  const isTold = (lines: readonly string[]) => lines.some((line) => !line.startsWith('Respond'));
  const cells = told
    .filter(({ lines }) => isTold(lines))
    .map(({ id, sent, rule, level, lines }) => [
      `${sent.replace(/__\w+__/g, '`$&`')}<br>\`${id}\``,
      `${level}: ${rule}`,
      lines.join('<br>'),
    ]);
  const others = groupBy(
    told.filter(({ lines }) => !isTold(lines)),
    ({ lines }) => lines.join(),
  );
  return [
    `## ${title}`,
    ...(cells.length > 0 ? [table(['Sent', 'Demanded by', 'Who differs'], cells)] : []),
    ...[...others].map(([line, group]) => {
      const ids = group.map(({ id }) => `\`${id}\``).join(', ');
      return line === ''
        ? `All pass, if they apply: ${ids}.`
        : `${line.replace('Respond with a 500', 'Refuse with a 500')}, in these rows: ${ids}.`;
    }),
  ].join('\n\n');
}

function leftToYou(results: readonly Result[]): string {
  const rows = results.flatMap(([library, judged]) => {
    const left = judged.filter((row) => outcomeOf(library, row) === 'left to you');
    return [...groupBy(left, (row) => wordsOf(library, row) ?? '')].map(([words, group]) => {
      const topics = new Set(group.map(({ id }) => id.split('-')[0]));
      return [library.name, [...topics].map((topic) => `\`${topic}\``).join(', '), words];
    });
  });
  return `## What is left to you\n\n${table(['Library', 'Rows', 'Its documentation'], rows)}`;
}

/** Returns the tables of the page. */
export const tablesOf = (results: readonly Result[], versions: Readonly<Record<string, string>>): string =>
  [
    summary(results, versions),
    leftToYou(results),
    ...Object.entries(sections).map(([title, topics]) => section(title, topics, results)),
  ].join('\n\n');
