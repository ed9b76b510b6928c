/** Returns text of a server or of a user as it may be shown: at most so many characters and dots for the others, all but printable ASCII escaped. */
export function printable(text: string, maxLength = 256): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const rest = text.length > maxLength ? '...' : '';
  return text.slice(0, maxLength).replace(/[^\x20-\x7e]/g, escaped) + rest;
}
