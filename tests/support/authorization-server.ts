import { join } from 'node:path';
import * as openid from 'openid-client';
import { run, untilProcess } from './child-process.ts';
import { AUDIENCE } from './mint.ts';

/** The reader is granted the scope, the visitor is not. */
export type Role = 'reader' | 'visitor';

interface Announcement {
  readonly issuer: string;
  readonly clients: Readonly<Record<Role, { readonly id: string; readonly secret: string; readonly scope?: string }>>;
  /** Tokens of a server that has no client credentials grant. */
  readonly tokens?: Readonly<Record<Role, string>>;
}

/** Loopback has no certificate, and a server may close a kept connection at any time. */
const overLoopback = {
  execute: [openid.allowInsecureRequests],
  [openid.customFetch]: (url: string, init: object) => fetch(url, { ...init, keepalive: false }),
};

/**
 * Runs a server's script in a process of its own, by default that of oidc-provider, with these arguments, and resolves
 * once it listens.
 */
export async function startAuthorizationServer(
  args: readonly string[] = [AUDIENCE],
  script = join(import.meta.dir, 'authorization-server.mjs'),
) {
  const server = run([process.execPath, script, ...args]);
  await untilProcess(server, () => server.stdout().includes('\n'), script);
  const announcement: Announcement = JSON.parse(server.stdout());
  return {
    ...announcement,
    /** Returns a client of `openid-client` that knows the issuer only. */
    discover(
      role: Role,
      authenticate = openid.ClientSecretBasic,
      algorithm: openid.DiscoveryRequestOptions['algorithm'] = 'oidc',
    ) {
      const { id, secret } = announcement.clients[role];
      return openid.discovery(new URL(announcement.issuer), id, secret, authenticate(secret), {
        ...overLoopback,
        algorithm,
      });
    },
    async close() {
      server.signal('SIGKILL');
      await server.finished;
    },
  };
}

/** Where the clients of the authorization server get their codes. Nothing listens there. */
export const callback = 'https://app.example.test/callback';

/** Logs a person in, and returns the tokens of the client for this resource. */
export async function logIn(
  client: openid.Configuration,
  resource: string,
  scope: string,
  more: Readonly<Record<string, string>> = {},
) {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const pkce = await openid.calculatePKCECodeChallenge(pkceCodeVerifier);
  const parameters = { redirect_uri: callback, scope, resource, code_challenge: pkce, code_challenge_method: 'S256' };
  const url = openid.buildAuthorizationUrl(client, { ...parameters, ...more });
  const at = new URL((await browse(url)).headers.get('location') ?? '');
  const checks = { pkceCodeVerifier, ...('max_age' in more && { maxAge: Number(more.max_age) }) };
  return openid.authorizationCodeGrant(client, at, checks, { resource });
}

/**
 * Opens a page, or submits its form, as a browser without pages does: it follows redirects up to the callback, and
 * keeps cookies.
 */
export async function browse(
  url: string | URL,
  cookies = new Map<string, string>(),
  form?: URLSearchParams,
  until = callback,
): Promise<Response> {
  const headers = { cookie: [...cookies.values()].join('; ') };
  const method = form ? 'POST' : 'GET';
  const response = await fetch(url, { method, body: form, headers, redirect: 'manual', keepalive: false });
  for (const line of response.headers.getSetCookie()) cookies.set(line.replace(/=.*/, ''), line.replace(/;.*/, ''));
  const location = response.headers.get('location');
  if (location === null || location.startsWith(until)) return response;
  return browse(new URL(location, url), cookies, undefined, until);
}

/**
 * Signs a user in on the development pages of oidc-provider, consents, and returns the last response: that of the
 * callback, or to it.
 */
export async function signIn(page: string | URL, login: string, until = callback): Promise<Response> {
  const cookies = new Map<string, string>();
  let response = await browse(page, cookies, undefined, until);
  for (;;) {
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(await response.clone().text()) ?? [];
    if (prompt === undefined) return response;
    response = await browse(response.url, cookies, new URLSearchParams({ prompt, login, password: 'any' }), until);
  }
}
