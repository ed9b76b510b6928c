/** Returns text that an issuer chose as printable ASCII, with escapes for the rest: of 256 characters by default. */
export function printable(text: string, maxLength = 256): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.slice(0, maxLength).replace(/[^\x20-\x7e]/g, escaped);
}

/** Whether a value is printable ASCII without spaces, quotes and backslashes, as a scope is (RFC 6749 §3.3). */
export const isPlainWord = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value);
