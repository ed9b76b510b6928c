/** Returns a text with control and invisible characters as escapes. A token may contain any. */
export const visible = (text: string): string =>
  text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const shorten = (text: string): string => (text.length > 300 ? `${text.slice(0, 300)}…` : text);
