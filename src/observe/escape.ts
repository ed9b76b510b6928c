/**
 * Returns text in which every character but printable ASCII and line feeds is an escape such as `\u202e`. Tokens, keys and
 * issuers choose their characters, and a terminal interprets some: control characters, and those that change the order of text.
 */
export function escapeUnprintable(text: string): string {
  return text.replace(/[^\n\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
