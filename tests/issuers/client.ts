import * as openid from 'openid-client';
import { browse, callback } from '../support/authorization-server.ts';
import { certificate } from '../support/certificates.ts';
import { proofKey, publicJwk } from '../support/proof.ts';

/*
 * How clients get tokens of a real server: by openid-client, from the metadata on. A person signs in by submitting the
 * server's own form.
 */

/** Loopback has no certificate, and a server may close a kept connection at any time. */
const overLoopback = {
  execute: [openid.allowInsecureRequests],
  // On a busy machine, a server takes its time.
  timeout: 120,
  [openid.customFetch]: (url: string, init: object) => fetch(url, { ...init, keepalive: false }),
};

export interface Client {
  readonly id: string;
  readonly secret: string;
}

export const discover = (
  issuer: string,
  { id, secret }: Client,
  algorithm: 'oidc' | 'oauth2' = 'oidc',
  authentication = openid.ClientSecretBasic(secret),
) => openid.discovery(new URL(issuer), id, secret, authentication, { ...overLoopback, algorithm });

/** Returns the access token of an application. */
export async function forApplication(client: openid.Configuration, parameters: Readonly<Record<string, string>> = {}) {
  return (await openid.clientCredentialsGrant(client, parameters)).access_token;
}

/** Returns a token that is bound to the key with which `proven` signs (RFC 9449). */
export async function boundToken(client: openid.Configuration, parameters: Readonly<Record<string, string>>) {
  const importKey = (key: object, usage: 'sign' | 'verify') =>
    crypto.subtle.importKey('jwk', key, { name: 'ECDSA', namedCurve: 'P-256' }, true, [usage]);
  const jwk = proofKey().export({ format: 'jwk' });
  const pair = {
    publicKey: await importKey(publicJwk(proofKey()), 'verify'),
    privateKey: await importKey(jwk, 'sign'),
  };
  const DPoP = openid.getDPoPHandle(client, pair);
  return (await openid.clientCredentialsGrant(client, parameters, { DPoP })).access_token;
}

/** Returns a token that is bound to the client's certificate, which a proxy in front of the server passes on. */
export async function certifiedToken(
  client: openid.Configuration,
  parameters: Readonly<Record<string, string>>,
  header = 'client-cert',
) {
  client[openid.customFetch] = (url, init) => {
    const headers = new Headers(init.headers);
    headers.set(header, certificate('a').escaped);
    // Keycloak's lookup for nginx requires it.
    headers.set('ssl-client-verify', 'SUCCESS');
    return overLoopback[openid.customFetch](url, { ...init, headers });
  };
  return forApplication(client, parameters);
}

/** Returns the tokens of a user who has signed in, with PKCE (RFC 7636). */
export async function forUser(
  client: openid.Configuration,
  username: string,
  parameters: Readonly<Record<string, string>>,
  cookies = new Map<string, string>(),
) {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const [state, nonce] = [openid.randomState(), openid.randomNonce()];
  const url = openid.buildAuthorizationUrl(client, {
    redirect_uri: callback,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...{ state, nonce, ...parameters },
  });
  let response = await browse(url, cookies);
  for (let page = 0; page < 3 && !response.headers.get('location'); page += 1)
    response = await submit(response, cookies, username);
  const at = new URL(response.headers.get('location') ?? 'about:blank');
  const { resource } = parameters;
  const checks = { pkceCodeVerifier, expectedState: state, expectedNonce: nonce };
  return openid.authorizationCodeGrant(client, at, checks, resource === undefined ? undefined : { resource });
}

/** Ends the session of a user who has signed in with these cookies, at the metadata's end of sessions. */
export async function signOut(client: openid.Configuration, idToken: string | undefined, cookies: Map<string, string>) {
  const url = openid.buildEndSessionUrl(client, { id_token_hint: idToken ?? '' });
  const response = await browse(url, cookies);
  if (response.ok && /<form/.test(await response.clone().text())) await submit(response, cookies, '');
}

/** Submits the form of a page, with the name and the password of a user where it asks for them. */
async function submit(response: Response, cookies: Map<string, string>, username: string): Promise<Response> {
  const page = await response.text();
  const unescaped = (text: string) => text.replaceAll('&amp;', '&').replaceAll('&#x2f;', '/');
  const [, attributes = '', content = ''] = /<form([^>]*)>(.*?)<\/form>/s.exec(page) ?? [];
  const [, action = response.url] = /action="([^"]*)"/.exec(attributes) ?? [];
  const form = new URLSearchParams();
  for (const [field] of content.matchAll(/<(?:input|button)[^>]*>/g)) {
    const [, name] = /name="([^"]*)"/.exec(field) ?? [];
    const [, value = ''] = /value="([^"]*)"/.exec(field) ?? [];
    if (name === undefined) continue;
    const typed = /type="password"/.test(field) ? 'password' : /user|login|email/i.test(name) ? username : undefined;
    form.append(name, typed ?? unescaped(value));
  }
  return browse(new URL(unescaped(action), response.url), cookies, form);
}

/** Returns the hook of a guard that asks this introspection endpoint, as a client of the server (RFC 7662 §2.1). */
export function introspector(endpoint: string, { id, secret }: Client, more: object) {
  return async (token: string, { signal }: { readonly signal: AbortSignal }) => {
    const headers = { authorization: `Basic ${btoa(`${id}:${secret}`)}` };
    const body = new URLSearchParams({ token, token_type_hint: 'access_token' });
    const response = await fetch(endpoint, { method: 'POST', body, headers, signal, keepalive: false });
    return { ...((await response.json()) as object), ...more };
  };
}
