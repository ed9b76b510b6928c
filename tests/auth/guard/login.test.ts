import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  fetchProtectedResource,
  randomPKCECodeVerifier,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { createGuard, type Requirements } from '../../../src/auth/guard.ts';
import {
  type AuthorizationServer,
  overLoopback,
  startAuthorizationServer,
} from '../../support/authorization-server.ts';
import { AUDIENCE, SCOPE } from '../../support/mint.ts';

const callback = 'https://app.example.test/callback';

/** A browser without pages: it follows redirects, and keeps cookies. */
function createBrowser() {
  const cookies = new Map<string, string>();
  async function open(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { ...init, headers: { cookie }, redirect: 'manual', keepalive: false });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value) cookies.set(name, value);
      else cookies.delete(name);
    }
    const location = response.headers.get('location');
    if (location === null || location.startsWith(callback)) return response;
    return open(new URL(location, url));
  }
  return { open };
}

describe('tokens of oidc-provider for a person', () => {
  let provider: AuthorizationServer;
  let client: Configuration;
  let api: Bun.Server<undefined>;
  /** What the next requests require. */
  let requirements: Requirements;
  const endedSessions = new Set<unknown>();

  beforeAll(async () => {
    let keys: ReturnType<typeof createRemoteJWKSet> | undefined;
    let guard: ReturnType<typeof createGuard> | undefined;
    api = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      routes: {
        async '/logout'(request) {
          const token = String((await request.formData()).get('logout_token'));
          keys ??= createRemoteJWKSet(new URL(`${provider.issuer}/jwks`));
          const expected = { issuer: provider.issuer, audience: 'web', typ: 'logout+jwt' };
          endedSessions.add((await jwtVerify(token, keys, expected)).payload.sid);
          return new Response();
        },
        async '/api'(request) {
          guard ??= createGuard({
            issuer: provider.issuer,
            audience: AUDIENCE,
            isRevoked: ({ sid }) => typeof sid !== 'string' || endedSessions.has(sid),
          });
          const result = await guard.check(request, requirements);
          return result instanceof Response ? result : Response.json({ hello: result.claims.sub });
        },
      },
    });
    provider = await startAuthorizationServer([AUDIENCE, 'RS256', SCOPE, new URL('/logout', api.url).href]);
    client = await discovery(new URL(provider.issuer), 'web', 'web-secret', undefined, overLoopback);
  }, 60_000);
  afterAll(async () => {
    await Promise.all([provider.close(), api.stop(true)]);
  });

  /** Returns a token from an authorization with these parameters beside the usual ones. */
  async function authorize(
    { open }: ReturnType<typeof createBrowser>,
    parameters: Readonly<Record<string, string>> = {},
  ) {
    const pkceCodeVerifier = randomPKCECodeVerifier();
    const url = buildAuthorizationUrl(client, {
      redirect_uri: callback,
      scope: `openid ${SCOPE}`,
      resource: AUDIENCE,
      code_challenge: await calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      ...parameters,
    });
    const { headers } = await open(url);
    const at = new URL(headers.get('location') ?? '');
    const maxAge = parameters.max_age === undefined ? {} : { maxAge: Number(parameters.max_age) };
    const tokens = await authorizationCodeGrant(client, at, { pkceCodeVerifier, ...maxAge }, { resource: AUDIENCE });
    return tokens.access_token;
  }

  const request = (token: string) =>
    fetchProtectedResource(client, token, new URL('/api', api.url), 'GET', undefined, undefined);

  test('step up when openid-client repeats the authorization with the parameters of the challenge', async () => {
    requirements = { scope: SCOPE, acr: ['high'], maxAge: 300 };
    const first = await authorize(createBrowser());
    const error: unknown = await request(first).catch((cause: unknown) => cause);
    if (!(error instanceof WWWAuthenticateChallengeError)) throw error;
    const { acr_values = '', max_age = '', ...others } = error.cause[0]?.parameters ?? {};
    expect([error.status, others.error, acr_values, max_age]).toEqual([
      401,
      'insufficient_user_authentication',
      'high',
      '300',
    ]);
    const second = await authorize(createBrowser(), { acr_values, max_age });
    expect(await (await request(second)).json()).toEqual({ hello: 'ada' });
    // One of the two is not enough.
    for (const parameter of [{ acr_values }, { max_age }])
      await expect(request(await authorize(createBrowser(), parameter))).rejects.toMatchObject({ status: 401 });
  });

  test('are rejected from the next request on after a back-channel logout, also where they are cached', async () => {
    requirements = {};
    const [browser, other] = [createBrowser(), createBrowser()];
    const [token, otherToken] = [await authorize(browser), await authorize(other)];
    for (let times = 0; times < 2; times++) expect((await request(token)).status).toBe(200);
    const page = await (await browser.open(`${provider.issuer}/session/end?client_id=web`)).text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const body = new URLSearchParams({ xsrf, logout: 'yes' });
    await browser.open(`${provider.issuer}/session/end/confirm`, { method: 'POST', body });
    await expect(request(token)).rejects.toMatchObject({ status: 401 });
    expect(endedSessions.size).toBe(1);
    expect((await request(otherToken)).status).toBe(200);
  });
});
