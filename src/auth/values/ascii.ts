/** Returns text that an issuer chose as printable ASCII, with escapes for the rest: of 256 characters by default. */
export function printable(text: string, maxLength = 256): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.slice(0, maxLength).replace(/[^\x20-\x7e]/g, escaped);
}

/** Returns words with commas between them: the first of very many. */
export function listed(words: readonly string[], max = 10): string {
  const more = words.length > max ? [`and ${words.length - max} more`] : [];
  return [...words.slice(0, max), ...more].join(', ');
}

/** Whether a value is printable ASCII without spaces, quotes and backslashes, as a scope is (RFC 6749 §3.3). */
export const isPlainWord = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value);
