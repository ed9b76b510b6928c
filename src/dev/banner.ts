import { name, pagePath } from '../openapi/about.ts';

/**
 * Returns the text that is printed at the start of the service with the development issuer: commands that get tokens and call each
 * endpoint, then the URLs. All of it can be pasted into bash, zsh and fish (3.4 or later): prose begins with `:`, a command of
 * each that does nothing, because zsh runs comments as commands.
 * @param origin the URL at which clients reach the service, without a trailing slash; the audience, too
 * @param clients the secrets of `reader` and `visitor`
 */
export function renderBanner(
  origin: string,
  clients: ReadonlyMap<string, string>,
  { hasDocumentation, hasColour }: { readonly hasDocumentation: boolean; readonly hasColour: boolean },
): string {
  const paint = (code: number, text: string) => (hasColour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const link = (text: string, path: string) => `: ${paint(1, text)}  ${paint(36, word(origin + path))}\n`;
  const getToken = (name: string, client: string) => `export ${name}=$(curl -sS ${word(`${origin}/oauth/token`)} \\
  -d grant_type=client_credentials -d audience=${percentEncode(origin, /[^\w:/.-]/gu)} \\
  -d client_id=${client} -d client_secret=${clients.get(client)} |
  grep -o 'eyJ[^"]*')`;
  const call = (path: string, token?: string) =>
    `curl -iw '\\n\\n' ${word(origin + path)}${token ? ` --oauth2-bearer $${token}` : ''}`;

  return `
: Development mode: tokens come from the development issuer, which runs in this
: process. Keys and secrets are lost when you stop the process with Ctrl+C.
: To use your own issuer, set ISSUER and AUDIENCE. If clients use another URL,
: such as that of the published port of a container, set PUBLIC_URL.

${paint(2, ': Get a token with the scope read:messages, and one without a scope:')}
${getToken('TOKEN', 'reader')}
${getToken('PLAIN', 'visitor')}

${paint(2, ': Expect 200 three times, 401 without a token, and 403 without the scope:')}
${call('/api/public')}
${call('/api/private', 'TOKEN')}
${call('/api/private-scoped', 'TOKEN')}
${call('/api/private')}
${call('/api/private-scoped', 'PLAIN')}

${hasDocumentation ? link('Documentation', pagePath) : ''}${link(name, '')}
`;
}

/** Percent-encodes what is special to a shell, a terminal or a form. */
const percentEncode = (text: string, special: RegExp) =>
  text.replace(special, (character) => Buffer.from(character).toString('hex').replace(/../g, '%$&'));

/** Returns a URL as one word of a command. It is quoted if it has brackets, which zsh treats as a pattern. */
function word(url: string): string {
  const escaped = percentEncode(url, /[^\w:/.%[\]-]/gu);
  return escaped.includes('[') ? `'${escaped}'` : escaped;
}
