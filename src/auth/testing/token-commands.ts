import type { Client } from './token-endpoint.ts';

/**
 * Returns commands that get a token of each client into a shell variable: `TOKEN` for the first, `PLAIN` for the first
 * without scopes, else `TOKEN_` and its ID. For bash, zsh and fish 3.4: prose begins with the no-op `:`, because zsh
 * runs comments.
 */
export function renderTokenCommands(url: string, audience: string, clients: readonly Client[]): string {
  const plain = clients.findIndex(({ scope }, index) => index > 0 && scope === '');
  const variables = clients.map(({ id }, index) => {
    if (index === 0) return 'TOKEN';
    // Not the ID alone: a client called home would take HOME away.
    return index === plain ? 'PLAIN' : `TOKEN_${id.toUpperCase().replace(/[^A-Z\d]+/g, '_')}`;
  });
  const granted = clients.map(
    ({ scope }, index) =>
      `${variables[index]} ${scope ? `with ${scope.split(' ').map(shellQuoted).join(' ')}` : 'without a scope'}`,
  );
  const commands = clients.map(
    ({ id, secret }, index) => `export ${variables[index]}=$(curl -sS ${shellQuoted(url)} \\
  -d grant_type=client_credentials -d ${shellQuoted(`client_id=${encodeURIComponent(id)}`)} \\
  -d ${shellQuoted(`client_secret=${encodeURIComponent(secret)}`)} \\
  --data-urlencode audience=${shellQuoted(audience)} | grep -o 'eyJ[^"]*')`,
  );
  return `: Get tokens, ${granted.join(', ')}:\n${commands.join('\n')}`;
}

/** The brackets of IPv6 are a pattern in zsh. What is quoted has no quotes: URLs may not, other text is encoded. */
export const shellQuoted = (text: string) => (/^[\w:/.%=-]+$/.test(text) ? text : `'${text.replaceAll("'", '%27')}'`);
