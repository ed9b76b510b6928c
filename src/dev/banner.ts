import type { Client } from './issuer.ts';

export interface BannerOptions {
  /** Where clients reach the service, without a trailing slash. */
  readonly origin: string;
  readonly audience: string;
  readonly clients: { readonly reader: Client; readonly visitor: Client };
  readonly hasDocumentation: boolean;
  readonly hasColour: boolean;
}

/** Returns what a person who has just started the service with its embedded issuer can paste to see it work. */
export function renderBanner({ origin, audience, clients, hasDocumentation, hasColour }: BannerOptions): string {
  const paint = (code: number, text: string) => (hasColour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const link = (name: string, url: string) => `${paint(1, name)}  ${paint(36, url)}\n`;
  const comment = (text: string) => paint(2, `# ${text}`);
  const getToken = (name: string, client: Client) => `${name}=$(curl -s ${origin}/oauth/token \\
  -d grant_type=client_credentials -d audience=${audience} \\
  -d client_id=${client.id} -d client_secret=${client.secret} |
  sed 's/.*"access_token":"\\([^"]*\\).*/\\1/')`;
  const call = (path: string, token?: string) =>
    token
      ? `curl -iw '\\n\\n' ${origin}${path} \\\n  -H "Authorization: Bearer $${token}"`
      : `curl -iw '\\n\\n' ${origin}${path}`;

  return `
${link('Protected API', origin)}${hasDocumentation ? link('Documentation', `${origin}/openapi`) : ''}
Development only: tokens come from an issuer inside this process, and its keys
and secrets are gone when it stops. Set ISSUER and AUDIENCE to use your own.

${comment('a token with the scope read:messages, and one without it')}
${getToken('TOKEN', clients.reader)}
${getToken('PLAIN', clients.visitor)}

${comment('200, 200 and 200')}
${call('/api/public')}
${call('/api/private', 'TOKEN')}
${call('/api/private-scoped', 'TOKEN')}

${comment('401 without a token, 403 without the scope')}
${call('/api/private')}
${call('/api/private-scoped', 'PLAIN')}

`;
}
