import { printable } from '../auth/values/text.ts';

/**
 * Returns text with escapes such as `\u202e` for all but printable ASCII and line feeds. Tokens, keys and issuers
 * choose their characters, and a terminal interprets some, such as those that change the order of text.
 */
export const escapeUnprintable = (text: string): string =>
  text
    .split('\n')
    .map((line) => printable(line, Number.POSITIVE_INFINITY))
    .join('\n');

/** Returns a URL without credentials and query, and any other text as it is. */
export function withoutCredentials(text: string): string {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text.replace(/\/\/.*@/s, '//***@').replace(/[?#].*/s, '') : text;
}
