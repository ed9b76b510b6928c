import type { Needs } from '../row/description.ts';
import { groupBy } from '../values/group-by.ts';
import type { ProbedRow, ProbeReport } from './result.ts';

// Here is decided how much harm a fault does, and with that what a report says first.

/** What faults do, the worst first. */
export const harms = [
  'Ended the server, so that nothing after it was tried. Repair it, or leave the row out with --skip, and run again:',
  'Let in, and must be rejected',
  'Stops serving clients with a good token. Read the log of the server:',
  'Wrong in another way:',
  'Let in, and should be rejected, such as a token of another kind',
  'Let in, though it is not written as the standard has it, which is mostly no setting',
  'Could be better:',
] as const;

/** Who can send what is let in. It stands behind the heading. */
export const senders: Readonly<Record<Needs, string>> = {
  nothing: '. Anybody can send these:',
  token: '. Any client that has a token can send these:',
  issuer: '. Only the issuer can sign these, such as for another API, client or purpose:',
};

/** Topics about how a good token is written, or what is around it. */
const spelling = /^(?:scheme|credentials|encoding|header|text|crit|kid)-/;
/** What rows expect that fail if something is let in. */
const closed = /^(?:a rejection|anything but the protected response|no word of the first)/;
/** Rows about a good token while something else goes wrong. */
const serving = /^(?:fetch-(?:outage|malformed|redirect|huge|aged)|no-response)$/;
const depths: readonly Needs[] = ['nothing', 'token', 'issuer'];

/** What a row got whose request ended the server. */
export const endOfServer =
  'The server, which responded before, takes no connection after this request: its process has ended';
/** What a row got, behind a status, if good tokens fail after it. */
export const notRecovered = 'with good tokens, also once the issuer is right again';

type Fault = Pick<ProbedRow, 'id' | 'level' | 'expected' | 'got'>;

/** Whether a row shows that something was let in. A known deviation that is gone let nothing in. */
export const isLetIn = ({ expected, got }: Pick<Fault, 'expected' | 'got'>): boolean =>
  closed.test(expected) && /^[123]\d\d\b/.test(got) && !expected.includes('cache may keep');

/** Returns the place of a fault in `harms`. */
export function harmOf(fault: Fault): number {
  const { id, level, got } = fault;
  if (got === endOfServer) return 0;
  if (isLetIn(fault)) return level === 'must' ? 1 : spelling.test(id) ? 5 : 4;
  if (serving.test(id)) return 2;
  return level === 'must' ? 3 : 6;
}

/** Returns what to change in the rule, and then what to set in the reader's stack. */
export const adviceOf = ({ remedy, setting }: Pick<ProbedRow, 'remedy' | 'setting'>): string =>
  setting === undefined ? remedy : `${remedy}. ${setting}`;

/** Sorts faults by harm, then by what an attacker needs for them, then by how many faults their remedy repairs. */
export function byHarm(faults: readonly ProbedRow[]): readonly ProbedRow[] {
  const repaired = groupBy(faults, ({ remedy }) => remedy);
  const countOf = ({ remedy }: ProbedRow) => repaired.get(remedy)?.length ?? 0;
  return faults.toSorted(
    (a, b) => harmOf(a) - harmOf(b) || depths.indexOf(a.needs) - depths.indexOf(b.needs) || countOf(b) - countOf(a),
  );
}

const means = { nothing: 'without a token', token: 'with a token', issuer: 'with tokens of an issuer of its own' };
const counted = (count: number, one: string, more: string) => `${count} ${count === 1 ? one : more}`;

/** Says what was tried, whether anything was let in, and what to do first. */
export function summaryOf({
  rows,
  failed,
  warnings,
  inconclusive,
  isComplete,
  skipped,
}: Omit<ProbeReport, 'render'>): string {
  const tried = rows.filter(({ verdict }) => verdict !== 'skipped' && verdict !== 'inconclusive');
  const deepest = depths.findLast((depth) => tried.some(({ needs }) => needs === depth)) ?? 'nothing';
  const count = failed.filter((row) => harmOf(row) === 1).length;
  const ending = failed.find((row) => harmOf(row) === 0);
  const isKnown = rows.some(({ known }) => known !== undefined);
  const what = count > 0 ? counted(count, 'lets', 'let') : 'none lets';
  const found = `${what} in what must be rejected${isKnown ? ', apart from what is known' : ''}${ending ? `, and ${ending.id} ended the server` : ''}`;
  const left = inconclusive.length > 0 ? `; ${counted(inconclusive.length, 'was', 'were')} not judged` : '';
  const [worst] = byHarm([...failed, ...warnings]);
  const doubt = inconclusive[0] && `: find out why ${inconclusive[0].id} got "${inconclusive[0].got}"`;
  const first = worst && (worst.level === 'must' || !doubt) ? `, for ${worst.id}: ${adviceOf(worst)}` : doubt;
  const nothing = isComplete
    ? ': nothing is left to do'
    : `: give what was missing, because nothing else was tried (${skipped.at(-1)?.got})`;
  return `Tried ${counted(tried.length, 'row', 'rows')} ${means[deepest]}: ${found}${left}. First${first ?? nothing}.`;
}
