/** Returns foreign text as it may be shown: escaped but for printable ASCII, and cut after so many characters. */
export function printable(text: string, maxLength = 256): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const rest = text.length > maxLength ? '...' : '';
  return text.slice(0, maxLength).replace(/[^\x20-\x7e]/g, escaped) + rest;
}
