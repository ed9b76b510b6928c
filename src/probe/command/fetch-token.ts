import type { Sent } from '../http/network.ts';
import { metadataUrls, readResourceMetadata } from '../http/resource-metadata.ts';
import { createSender } from '../http/sender.ts';
import { isJsonObject, type Members, parseObject } from '../values/json.ts';
import { isSecureUrl } from '../values/url.ts';

// Here a client gets a token as a stranger would: metadata of the API (RFC 9728), of its issuer (RFC 8414), client credentials.

interface ClientCredentials {
  readonly id: string;
  readonly secret: string;
  readonly scope: readonly string[];
  /** Headers of requests to the API. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const cannot = (why: string) => new TypeError(`Cannot get a token: ${why}`);

/** Returns a function that gets a token for this API, and the public keys of its issuer. */
export async function discoverToken(url: string, { id, secret, scope, headers }: ClientCredentials) {
  const [toApi, toIssuer] = [createSender({ headers }), createSender()];
  const get = (of: typeof toApi) => (at: string) => of.send({ id: 'client', method: 'GET', url: at, headers: [] });
  const found = await readResourceMetadata(url, (await get(toApi)(url)).headers, get(toApi));
  const { authorization_servers: issuers, resource } = found?.metadata ?? {};
  const [issuer] = Array.isArray(issuers) ? issuers : [];
  if (!isSecureUrl(issuer))
    throw cannot(`no metadata with an authorization server by its https URL at ${metadataUrls(url)[0]}`);
  const { token_endpoint: endpoint, jwks_uri: keysUrl } = await metadataOf(issuer, get(toIssuer));
  if (!isSecureUrl(endpoint)) throw cannot('the token endpoint is no https URL');
  const published = isSecureUrl(keysUrl) ? parseObject((await get(toIssuer)(keysUrl)).text)?.keys : undefined;
  const keys = Array.isArray(published) ? { keys: published.filter(isJsonObject) } : undefined;

  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (typeof resource === 'string') form.set('resource', resource);
  if (scope.length > 0) form.set('scope', scope.join(' '));
  const credentials = btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`);
  const request: Sent = {
    ...{ id: 'client', method: 'POST', url: endpoint, body: form.toString() },
    headers: [['Authorization', `Basic ${credentials}`]],
  };

  async function token(): Promise<string> {
    const { status, text } = await toIssuer.send(request);
    const { access_token: received, error = '' } = parseObject(text) ?? {};
    if (typeof received === 'string') return received;
    throw cannot(`the token endpoint responded with ${status} ${/^\w*$/.exec(String(error)) ?? ''}`.trim());
  }
  return { token, keys };
}

/** Reads the metadata of an issuer that name it, so that no other one gets the secret (RFC 8414 §3.3). */
async function metadataOf(issuer: string, get: (url: string) => Promise<{ readonly text: string }>): Promise<Members> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const [oauth, openid] = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  for (const url of [oauth, openid]) {
    const metadata = parseObject((await get(url)).text);
    if (metadata?.issuer === issuer && metadata.token_endpoint !== undefined) return metadata;
  }
  throw cannot(`no metadata of ${issuer} with a token_endpoint at ${oauth} or ${openid}`);
}
