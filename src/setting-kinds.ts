/*
 * The kinds of settings that only a process has, which are read from text. Those of the package, of the same names,
 * read values of code, so they are no door.
 */

/** Returns undefined for a text that is not valid. */
type Read<Value> = (text: string) => Value | undefined;

/** A rule for one setting. `expected` completes the sentence "… must be …". */
const rule = <Value, Default>(expected: string, fallback: Default, read: Read<Value>) => ({
  expected,
  fallback,
  read,
  /** Whether messages do not repeat the value. Logs show no credentials of a URL in any case. */
  isSecret: false,
});
/** A text that satisfies a condition. */
export const text = (expected: string, isValid: (text: string) => boolean) =>
  rule(expected, undefined, (value) => (isValid(value) ? value : undefined));
/** One of several words. */
export const choice = <const Word extends string>(words: readonly Word[], fallback: Word) =>
  rule(`one of ${words.join(', ')}`, fallback, (value) => words.find((word) => word === value));
/** `true` or `false`. */
export const boolean = (fallback: boolean) =>
  rule('true or false', fallback, (value) => value === 'true' || (value === 'false' ? false : undefined));
/** A whole number within bounds, in plain decimal digits. */
export const integer = <Fallback>(fallback: Fallback, min: number, max: number) =>
  rule(`a whole number from ${min} to ${max}`, fallback, (value) =>
    /^\d{1,15}$/.test(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined,
  );
/** Names of headers, separated by commas. */
export const headers = (expected: string) =>
  rule<readonly string[], undefined>(expected, undefined, (value) => {
    const names = value.split(',').map((name) => name.trim());
    return names.every((name) => /^[\w-]+$/.test(name)) ? names : undefined;
  });
/** A host name or an IP address. */
export const host = () => text('a host name or an IP address', (value) => /^[\w.:-]+$/.test(value));
