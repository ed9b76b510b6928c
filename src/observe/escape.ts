/** Returns text with an escape such as `\u202e` for each character that is not printable ASCII. */
export const printable = (text: string): string =>
  text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * Returns text with escapes such as `\u202e` for all but printable ASCII and line feeds. Tokens, keys and issuers
 * choose their characters, and a terminal interprets some, such as those that change the order of text.
 */
export const escapeUnprintable = (text: string): string => text.split('\n').map(printable).join('\n');

/** Returns a URL without credentials and query, and any other text as it is. */
export function withoutCredentials(text: string): string {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text.replace(/\/\/.*@/s, '//***@').replace(/[?#].*/s, '') : text;
}
