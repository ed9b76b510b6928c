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
import { createGuard, type Guard, type Requirements } from '../../../src/auth/guard.ts';
import {
  type AuthorizationServer,
  overLoopback,
  startAuthorizationServer,
} from '../../support/authorization-server.ts';
import { AUDIENCE, SCOPE } from '../../support/mint.ts';

const callback = 'https://app.example.test/callback';

/** Returns a function that opens a page as a browser without pages does: it follows redirects, and keeps cookies. */
function createBrowser() {
  const cookies = new Map<string, string>();
  return async function open(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const headers = { cookie: [...cookies.values()].join('; ') };
    const response = await fetch(url, { ...init, headers, redirect: 'manual', keepalive: false });
    for (const line of response.headers.getSetCookie()) cookies.set(line.replace(/=.*/, ''), line.replace(/;.*/, ''));
    const location = response.headers.get('location');
    return location === null || location.startsWith(callback) ? response : open(new URL(location, url));
  };
}

describe('tokens of oidc-provider for a person', () => {
  let provider: AuthorizationServer;
  let client: Configuration;
  let guard: Guard;
  /** What /strict requires. */
  const strict: Requirements = { scope: SCOPE, acr: ['high'], maxAge: 300 };
  const endedSessions = new Set<unknown>();
  const api = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      async '/logout'(request) {
        const token = String((await request.formData()).get('logout_token'));
        const expected = { issuer: provider.issuer, audience: 'web', typ: 'logout+jwt' };
        const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`));
        endedSessions.add((await jwtVerify(token, keys, expected)).payload.sid);
        return new Response();
      },
      async '/:strictness'(request) {
        const result = await guard.check(request, request.params.strictness === 'strict' ? strict : {});
        return result instanceof Response ? result : Response.json({ hello: result.claims.sub });
      },
    },
  });

  beforeAll(async () => {
    provider = await startAuthorizationServer([AUDIENCE, 'RS256', SCOPE, new URL('/logout', api.url).href]);
    const { issuer } = provider;
    guard = createGuard({ issuer, audience: AUDIENCE, isRevoked: ({ sid }) => !sid || endedSessions.has(sid) });
    client = await discovery(new URL(issuer), 'web', 'web-secret', undefined, overLoopback);
  }, 60_000);
  afterAll(() => Promise.all([provider.close(), api.stop(true)]));

  /** Returns a token from an authorization with these parameters beside the usual ones. */
  async function authorize(parameters: Readonly<Record<string, string>> = {}, open = createBrowser()) {
    const pkceCodeVerifier = randomPKCECodeVerifier();
    const url = buildAuthorizationUrl(client, {
      redirect_uri: callback,
      scope: `openid ${SCOPE}`,
      resource: AUDIENCE,
      code_challenge: await calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      ...parameters,
    });
    const at = new URL((await open(url)).headers.get('location') ?? '');
    const checks = { pkceCodeVerifier, ...('max_age' in parameters && { maxAge: Number(parameters.max_age) }) };
    return (await authorizationCodeGrant(client, at, checks, { resource: AUDIENCE })).access_token;
  }

  const request = (path: string, token: string) =>
    fetchProtectedResource(client, token, new URL(path, api.url), 'GET', undefined, undefined);

  test('step up when openid-client repeats the authorization with the parameters of the challenge', async () => {
    const error: unknown = await request('/strict', await authorize()).catch((cause: unknown) => cause);
    if (!(error instanceof WWWAuthenticateChallengeError)) throw error;
    const { acr_values = '', max_age = '', ...others } = error.cause[0]?.parameters ?? {};
    expect([error.status, others.error]).toEqual([401, 'insufficient_user_authentication']);
    expect([acr_values, max_age]).toEqual(['high', '300']);
    const response = await request('/strict', await authorize({ acr_values, max_age }));
    expect(await response.json()).toEqual({ hello: 'ada' });
    // One of the two is not enough.
    for (const parameter of [{ acr_values }, { max_age }])
      await expect(request('/strict', await authorize(parameter))).rejects.toMatchObject({ status: 401 });
  });

  test('are rejected from the next request on after a back-channel logout, also where they are cached', async () => {
    const open = createBrowser();
    const [token, otherToken] = [await authorize({}, open), await authorize()];
    for (let times = 0; times < 2; times++) expect((await request('/any', token)).status).toBe(200);
    const page = await (await open(`${provider.issuer}/session/end?client_id=web`)).text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const body = new URLSearchParams({ xsrf, logout: 'yes' });
    await open(`${provider.issuer}/session/end/confirm`, { method: 'POST', body });
    await expect(request('/any', token)).rejects.toMatchObject({ status: 401 });
    expect(endedSessions.size).toBe(1);
    expect((await request('/any', otherToken)).status).toBe(200);
  });
});
