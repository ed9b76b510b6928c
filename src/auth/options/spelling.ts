import { printable } from '../values/ascii.ts';

/**
 * Whether a name may be a misspelling of a known one: they are equal but for case and underscores, one begins with the
 * other, or at most two letters differ.
 */
function isSimilar(name: string, known: string): boolean {
  const [a, b] = [name, known].map((each) => each.toLowerCase().replaceAll('_', '')) as [string, string];
  const [shorter, longer] = a.length < b.length ? [a, b] : [b, a];
  return (shorter.length > 4 && longer.startsWith(shorter)) || isClose(a, b, 2);
}

/** Whether at most so many letters must be inserted, removed or replaced to turn `a` into `b`. */
export function isClose(a: string, b: string, edits: number): boolean {
  if (edits < 0) return false;
  if (a === '' || b === '') return a.length + b.length <= edits;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return isClose(restA, restB, edits);
  return isClose(restA, b, edits - 1) || isClose(a, restB, edits - 1) || isClose(restA, restB, edits - 1);
}

/** Returns what is wrong with a name that is not `known`, such as `scopes is not an option. Did you mean scope?`. */
export function describeUnknown(name: string, known: readonly string[]): string {
  const meant = known.find((each) => isSimilar(name, each));
  return `${printable(name)} is not an option${meant === undefined ? '' : `. Did you mean ${meant}?`}`;
}
