// Here tokens are kept out of a report: a server may have kept one, and send it back with a later response.

/** How many characters in a row tell a token from a word. */
const gramLength = 12;
/** What any JWT begins with: an object of JSON in base64url. */
const jwt = /\bey[\w-]{15,}(?:\.[\w-]*)*/g;

/** Returns a function that replaces these tokens in a text, whole or in pieces, and anything like a JWT. */
export function redactorOf(tokens: readonly string[]): (text: string) => string {
  const grams = new Set<string>();
  for (const token of tokens)
    for (let at = 0; at === 0 || at + gramLength <= token.length; at += 1) grams.add(token.slice(at, at + gramLength));
  grams.delete('');
  const lengths = [...new Set(Array.from(grams, ({ length }) => length))];
  return (text) => {
    const cut = text.replace(jwt, '***');
    let [shown, end] = ['', 0];
    for (let at = 0; at < cut.length; at += 1) {
      const found = lengths.find((length) => grams.has(cut.slice(at, at + length)));
      if (found !== undefined && at >= end) shown += '***';
      if (found !== undefined) end = at + found;
      if (at >= end) shown += cut.charAt(at);
    }
    return shown;
  };
}
