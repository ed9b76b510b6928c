import type { Sent } from '../http/network.ts';
import { readResourceMetadata } from '../http/resource-metadata.ts';
import { createSender, type Received, type Sender } from '../http/sender.ts';
import { isJsonObject, type Members, parseObject } from '../values/json.ts';
import { printable } from '../values/text.ts';
import { isAllowedInMetadata, isSecureUrl } from '../values/url.ts';

// Here a client gets a token by client credentials, from an issuer that the user named: what an API says of itself
// never decides who gets the secret. The metadata of the API (RFC 9728) only say for which resource the token is.

interface ClientCredentials {
  readonly id: string;
  readonly secret: string;
  readonly scope: readonly string[];
  /** The issuer, which gets the secret. */
  readonly issuer: string;
  /** Headers of requests to the API. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const cannot = (why: string) => new TypeError(`Cannot get a token: ${why}`);

/** Returns a function that gets a token for this API, and the public keys of its issuer. */
export async function discoverToken(url: string, { id, secret, scope, issuer, headers }: ClientCredentials) {
  if (!isSecureUrl(issuer)) throw cannot('--issuer must be an https URL');
  const resource = await resourceOf(url, headers);
  const toIssuer = createSender();
  const get = getBy(toIssuer);
  const { token_endpoint: endpoint, jwks_uri: keysUrl } = await metadataOf(issuer, get);
  if (!isAllowedInMetadata(endpoint, issuer)) throw cannot('the token endpoint is no https URL, or on loopback');
  const published = isAllowedInMetadata(keysUrl, issuer) ? parseObject((await get(keysUrl)).text)?.keys : undefined;
  const keys = Array.isArray(published) ? { keys: published.filter(isJsonObject) } : undefined;

  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (resource !== undefined) form.set('resource', resource);
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

const getBy = (sender: Sender) => (url: string) => sender.send({ id: 'client', method: 'GET', url, headers: [] });

/** Returns the `resource` of the metadata of an API, if it has any. */
export async function resourceOf(url: string, headers: ClientCredentials['headers']): Promise<string | undefined> {
  const get = getBy(createSender({ headers }));
  const resource = (await readResourceMetadata(url, (await get(url)).headers, get))?.metadata.resource;
  return typeof resource === 'string' ? resource : undefined;
}

/** Reads the metadata of an issuer that name it, so that no other one gets the secret (RFC 8414 §3.3). */
async function metadataOf(issuer: string, get: (url: string) => Promise<Received>): Promise<Members> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const [oauth, openid] = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  let why = '';
  for (const url of [oauth, openid]) {
    const { status, text, words } = await get(url);
    const metadata = parseObject(text);
    if (metadata?.issuer === issuer && metadata.token_endpoint !== undefined) return metadata;
    const other =
      metadata?.issuer === issuer ? 'no token_endpoint' : `the issuer ${printable(String(metadata?.issuer))}`;
    if (metadata?.issuer !== undefined) why = `${url} names ${other}`;
    else why ||= `${url} responded with ${status === 200 ? 'no metadata' : words}`;
  }
  throw cannot(`${why}, for --issuer ${issuer}`);
}
