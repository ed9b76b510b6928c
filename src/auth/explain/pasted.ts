/**
 * Extracts the token from pasted text: a token, an Authorization header, alone or in a command, or the JSON response of a token
 * endpoint. Line breaks that a terminal inserted are removed.
 */
export function readPasted(text: string): string {
  const pasted = text.trim();
  const inJson = /"access_token"\s*:\s*"([^"]*)"/.exec(withoutLineBreaks(pasted))?.[1];
  if (inJson !== undefined) return inJson;
  const unquoted = pasted.replace(/^(?:-H\s*|[<>]\s*)?['"]?|['"]$/g, '');
  return withoutLineBreaks(unquoted.replace(/^(?:authorization\s*:)?\s*(?:bearer|dpop)(?:\s+|$)/i, ''));
}

const withoutLineBreaks = (text: string) =>
  text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .join('');
