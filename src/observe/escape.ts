import { printable } from '../auth/values/text.ts';

/**
 * Returns text in which every character but printable ASCII and line feeds is an escape such as `\u202e`. Tokens, keys and
 * issuers choose their characters, and a terminal interprets some: control characters, and those that change the order of text.
 */
export const escapeUnprintable = (text: string): string =>
  text
    .split('\n')
    .map((line) => printable(line, Number.POSITIVE_INFINITY))
    .join('\n');

/**
 * Returns a value of an operator in the form for messages. It may be in the wrong place, such as a URL with a password in
 * `LOG_LEVEL`, so credentials and queries are left out, and what is longer than `maxLength` is cut off.
 */
export function abbreviate(value: string, maxLength = 64): string {
  const shown = value.replace(/^.*@/s, '***@').replace(/([?#]).*/s, '$1***');
  return escapeUnprintable(JSON.stringify(shown.length > maxLength ? `${shown.slice(0, maxLength)}...` : shown));
}

/** Returns a URL without credentials and query, and any other text as it is. */
export function withoutCredentials(text: string): string {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text.replace(/\/\/.*@/s, '//***@').replace(/[?#].*/s, '') : text;
}
