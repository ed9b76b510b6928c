import type { DevelopmentIssuer } from 'protected-api/testing';
import { name, pagePath } from '../openapi/about.ts';

/** The brackets of IPv6 are a pattern in zsh. URLs have no quotes. */
const shellQuoted = (url: string) => (/^[\w:/.%=-]+$/.test(url) ? url : `'${url}'`);

/**
 * Returns what is printed at the start with the development issuer, to paste into a shell: commands that get tokens and
 * call each endpoint, then the URLs.
 * @param issuer that of the service, whose audience is the URL at which clients reach it
 */
export function renderBanner(
  { options, tokenCommands }: Pick<DevelopmentIssuer, 'options' | 'tokenCommands'>,
  { hasDocumentation, hasColour }: { readonly hasDocumentation: boolean; readonly hasColour: boolean },
): string {
  const origin = options.issuer.replace(/\/$/, '');
  const paint = (code: number, text: string) => (hasColour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const dim = (text: string) => text.replaceAll(/^:.*/gm, (line) => paint(2, line));
  const link = (text: string, path: string) => `: ${paint(1, text)}  ${paint(36, shellQuoted(origin + path))}\n`;
  const call = (path: string, token?: string) =>
    `curl -iw '\\n\\n' ${shellQuoted(origin + path)}${token ? ` --oauth2-bearer $${token}` : ''}`;

  return `
: Development mode: tokens come from the development issuer, which runs in this
: process. Keys and secrets are lost when you stop the process with Ctrl+C.
: To use your own issuer, set ISSUER and AUDIENCE. If clients reach the service
: at another URL, such as a published container port, set PUBLIC_URL to it.
: Paste all of this into a shell to try it. A leading colon is a no-op there.

${dim(tokenCommands)}

${dim(': Expect 200 three times, 401 without a token, and 403 without the scope:')}
${call('/api/public')}
${call('/api/private', 'TOKEN')}
${call('/api/private-scoped', 'TOKEN')}
${call('/api/private')}
${call('/api/private-scoped', 'PLAIN')}

${hasDocumentation ? link('Documentation', pagePath) : ''}${link(name, '')}
`;
}
