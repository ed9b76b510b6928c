import { isJsonObject, type Members, parseJsonObject } from '../../values/json.ts';
import { isSecureUrl } from '../../values/url.ts';
import { challengesIn } from '../challenges.ts';
import { metadataUrls } from '../rows/metadata.ts';
import { overNetwork, type Sent } from '../transport.ts';

// Here a client gets a token as a stranger would: metadata of the API (RFC 9728), of its issuer (RFC 8414), client credentials.

export interface ClientCredentials {
  readonly id: string;
  readonly secret: string;
  readonly scope: readonly string[];
}

const sendRequest = (url: string, more: Partial<Sent> = {}) =>
  overNetwork({ id: 'client', method: 'GET', url, headers: [['User-Agent', 'protected-api-probe']], ...more });

async function read(url: string): Promise<Members | undefined> {
  if (!isSecureUrl(url, false)) return undefined;
  const { status, text } = await sendRequest(url);
  return status === 200 ? parseJsonObject(new TextEncoder().encode(text)) : undefined;
}

/** Returns the first of these documents that has a member of this name that is a string or a list. */
async function firstWith(urls: readonly string[], name: string): Promise<Members> {
  for (const url of urls) {
    const document = await read(url).catch(() => undefined);
    if (document?.[name] !== undefined) return document;
  }
  throw new TypeError(`Cannot get a token: no metadata with ${name} at ${urls.join(' or ')}`);
}

/** Returns a function that gets a token for this API, and the public keys of its issuer. */
export async function discoverToken(url: string, { id, secret, scope }: ClientCredentials) {
  const { headers } = await sendRequest(url);
  const named = challengesIn(headers.get('www-authenticate'))
    ?.flatMap(({ parameters }) => parameters)
    .find(([name]) => name === 'resource_metadata')?.[1];
  const resource = await firstWith(named ? [named] : metadataUrls(url), 'authorization_servers');
  const [issuer] = Array.isArray(resource.authorization_servers) ? resource.authorization_servers : [];
  if (typeof issuer !== 'string' || !isSecureUrl(issuer, false))
    throw new TypeError('Cannot get a token: the metadata name no authorization server by its https URL');
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const wellKnown = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  const { token_endpoint: endpoint, jwks_uri: keysUrl } = await firstWith(wellKnown, 'token_endpoint');
  const found = typeof keysUrl === 'string' ? await read(keysUrl).catch(() => undefined) : undefined;
  const keys = Array.isArray(found?.keys) ? { keys: found.keys.filter(isJsonObject) } : undefined;
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (typeof resource.resource === 'string') form.set('resource', resource.resource);
  if (scope.length > 0) form.set('scope', scope.join(' '));
  const credentials = btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`);

  async function token(): Promise<string> {
    if (typeof endpoint !== 'string' || !isSecureUrl(endpoint, false))
      throw new TypeError('Cannot get a token: the token endpoint is no https URL');
    const authorization = [['Authorization', `Basic ${credentials}`]] as const;
    const { status, text } = await sendRequest(endpoint, {
      method: 'POST',
      headers: authorization,
      body: form.toString(),
    });
    const answer = parseJsonObject(new TextEncoder().encode(text));
    if (typeof answer?.access_token === 'string') return answer.access_token;
    throw new TypeError(
      `Cannot get a token: the token endpoint responded with ${status} ${answer?.error ?? ''}`.trim(),
    );
  }
  return { token, keys };
}
