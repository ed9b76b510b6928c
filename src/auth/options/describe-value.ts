import { printable } from '../values/ascii.ts';

/** Quotes a value for a message: without credentials, query and fragment, in at most 256 printable ASCII characters. */
export function quote(value: string): string {
  const shown = value.replace(/^.*@/s, '***@').replace(/([?#]).*/s, '$1***');
  return `"${printable(JSON.stringify(shown).slice(1, -1))}"`;
}

/** Describes a value, or the members of a list, for the programmer who gave it. */
export const describeValue = (value: unknown): string =>
  Array.isArray(value) ? `[${Array.from(value, describe).join(', ').slice(0, 100)}]` : describe(value);

/** Objects may hold secrets, so only their type is named. */
function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  return `a value of the type ${typeof value}`;
}
