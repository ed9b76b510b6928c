import { careful } from '../http/brake.ts';
import type { Depth, ProbeOptions } from '../options/options.ts';
import { harmOf } from '../report/harm.ts';
import type { Needs } from '../row/description.ts';
import { ownRows } from '../row/own-rows.ts';
import type { Row } from '../row/row.ts';
import { rows as allRows } from './rows.ts';

// Here rows are chosen: by name, and within the number of requests that a depth announces.

/** The most requests of a depth: to each target if it is quick, and otherwise in all to machines of others. */
export const limits: Readonly<Record<Depth, number>> = { quick: 120, standard: careful.requests, full: 5000 };
/** How many rows are tried between two controls. */
export const controlInterval = 25;
const order: readonly Needs[] = ['nothing', 'token', 'issuer'];

/** The most requests that controls, and what a target says of itself, cost beside so many rows. */
const controlsFor = (count: number) => 6 + 2 * Math.ceil(count / controlInterval);
/** The most requests that rows send to a target, apart from those that are repeated with a nonce or after a limit. */
export const requestsOf = (rows: readonly Row[]) =>
  rows.reduce((sum, { requests }) => sum + requests, controlsFor(rows.length));

/** Returns the ID that a name is, or else those that begin with it. */
export function idsOf(name: string): readonly string[] {
  const ids = [...allRows, ...ownRows].map(({ id }) => id);
  return ids.includes(name) ? [name] : ids.filter((id) => id.startsWith(name));
}

/** Returns the named rows of this depth: quick has only those for which what they need is given. */
export function chosenRows(options: ProbeOptions, given = givenBy(options)): readonly Row[] {
  const { only = [''], skip = [], profile } = options;
  for (const name of only) requireProfile(name, profile);
  const [wanted, unwanted] = [only.flatMap(idsOf), skip.flatMap(idsOf)];
  const named = allRows.filter(
    ({ id, onlyIn = profile }) => onlyIn === profile && wanted.includes(id) && !unwanted.includes(id),
  );
  return within(named, depthOf(options), given);
}

/** Without rows, a run would send its controls only, and find nothing. */
function requireProfile(name: string, profile: ProbeOptions['profile']): void {
  const ids = idsOf(name);
  const named = allRows.filter(({ id }) => ids.includes(id));
  if (named.length > 0 && named.every(({ onlyIn = profile }) => onlyIn !== profile))
    throw new TypeError(`Cannot probe: the rows of ${name} need the profile ${named[0]?.onlyIn}`);
}

/** Chooses rows within the limit of a depth, and keeps their order. */
export function within(rows: readonly Row[], depth: Depth, given: Needs): readonly Row[] {
  const isGiven = ({ needs }: Row) => order.indexOf(needs) <= order.indexOf(given);
  const chosen = new Set<Row>();
  let [count, sent] = [0, 0];
  for (const row of byHarmAndTopic(depth === 'quick' ? rows.filter(isGiven) : rows)) {
    if (sent + row.requests + controlsFor(count + 1) > limits[depth]) continue;
    chosen.add(row);
    if (!isGiven(row)) continue;
    count += 1;
    sent += row.requests;
  }
  return rows.filter((row) => chosen.has(row));
}

/** Sorts rows by the harm that they would find, and takes one of each topic before the second of any. */
function byHarmAndTopic(rows: readonly Row[]): readonly Row[] {
  const seen = new Map<string, number>();
  const ranked = rows.map((row) => {
    const harm = harmOf({ ...row, got: '200' });
    const topic = `${harm} ${row.id.replace(/-.*/, '')}`;
    const place = seen.get(topic) ?? 0;
    seen.set(topic, place + 1);
    return { row, harm, place };
  });
  return ranked.toSorted((a, b) => a.harm - b.harm || a.place - b.place).map(({ row }) => row);
}

export function depthOf({ depth = 'standard' }: ProbeOptions): Depth {
  if (!Object.hasOwn(limits, depth)) throw new TypeError(`Cannot probe: ${depth} is no depth`);
  return depth;
}

/** Says how many rows there are at these targets, with those of each run, and within which limit they are tried. */
export function announced(options: ProbeOptions, count: number, targets: number): string {
  const depth = depthOf(options);
  const where = depth === 'quick' ? 'to each target' : 'in all to other machines';
  const total = targets * (allRows.length + ownRows.length);
  return `Depth: ${depth}, ${count} of ${total} rows, at most ${limits[depth]} requests ${where}`;
}

const givenBy = ({ issuer, token }: ProbeOptions): Needs =>
  issuer ? 'issuer' : token === undefined ? 'nothing' : 'token';
