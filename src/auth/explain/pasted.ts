import { decodeJwt, decodeProtectedHeader } from 'jose';
import { maxTokenLength } from '../token/header.ts';
import { ifPossible } from '../values/faults.ts';
import { type Members, withoutNulls } from '../values/json.ts';

/**
 * Extracts the token from pasted text: a token, an Authorization header, alone or in a command, or the JSON response of
 * a token endpoint. Line breaks that a terminal inserted are removed.
 */
function findToken(text: string): string {
  const pasted = text.trim();
  const inJson = accessTokenIn(withoutLineBreaks(pasted));
  if (inJson !== undefined) return inJson;
  const [start = '', quote = ''] = /^(?:-H(?:\s+|(?=['"]))|[<>]\s*)?(['"]?)/.exec(pasted) ?? [];
  const unquoted = pasted.slice(start.length, quote !== '' && pasted.endsWith(quote) ? -1 : undefined);
  // A word alone is a token, as it is in a request. So are quotes behind the scheme.
  return withoutLineBreaks(
    unquoted.replace(/^(?:authorization\s*:\s*(?:bearer|dpop)(?:\s+|$)|(?:bearer|dpop)\s+)/i, ''),
  );
}

/** Returns the first access token in the JSON that a text has, perhaps behind the headers of a response. */
function accessTokenIn(text: string): string | undefined {
  let found: string | undefined;
  membersOf(() =>
    JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1), (name, value: unknown) => {
      if (name === 'access_token' && typeof value === 'string') found ??= value;
      return value;
    }),
  );
  return found;
}

const withoutLineBreaks = (text: string) =>
  text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .join('');

/** Returns the token in pasted text, with its header and claims, which are empty if they cannot be decoded. */
export function decodePasted(pasted: string) {
  // Other characters are allowed neither in a header nor in a token.
  const text = findToken(pasted).replace(/[^\x20-\x7e\t]/g, '?');
  // The guard does not decode a longer token either. Its JSON may be nested too deeply to print.
  if (text.length > maxTokenLength) return { text, header: {}, claims: {} };
  return {
    text,
    header: membersOf(() => decodeProtectedHeader(text)),
    claims: membersOf(() => withoutNulls(decodeJwt(text))),
  };
}

/** Returns what `read` returns, or an object without members if it throws. */
export const membersOf = (read: () => object): Members => ({ ...ifPossible(read) });
