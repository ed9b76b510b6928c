import { afterAll, expect, test } from 'bun:test';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as openid from 'openid-client';
import { type Claims, createGuard } from '../../../src/auth/guard.ts';
import { callback, createBrowser, startAuthorizationServer } from '../../support/authorization-server.ts';
import { AUDIENCE, SCOPE } from '../../support/mint.ts';

const endedSessions = new Set<unknown>();
const api = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  routes: {
    async '/logout'(request) {
      const token = String((await request.formData()).get('logout_token'));
      const expected = { issuer: provider.issuer, audience: 'visitor', typ: 'logout+jwt' };
      const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(`${provider.issuer}/jwks`)), expected);
      endedSessions.add(payload.sid);
      return new Response();
    },
    async '/:strictness'(request) {
      const strict = { scope: SCOPE, acr: ['high'], maxAge: 300 };
      const result = await guard.check(request, request.params.strictness === 'strict' ? strict : {});
      return result instanceof Response ? result : new Response(String(result.claims.sub));
    },
  },
});
const provider = await startAuthorizationServer([AUDIENCE, 'RS256', SCOPE, new URL('/logout', api.url).href]);
const isRevoked = ({ sid }: Claims) => sid === undefined || endedSessions.has(sid);
const guard = createGuard({ issuer: provider.issuer, audience: AUDIENCE, isRevoked });
const client = await provider.discover('visitor');
afterAll(() => Promise.all([provider.close(), api.stop(true)]));

/** Returns a token from an authorization with these parameters in addition to the usual ones. */
async function authorize(more: Readonly<Record<string, string>> = {}, open = createBrowser()) {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const pkce = await openid.calculatePKCECodeChallenge(pkceCodeVerifier);
  const parameters = { redirect_uri: callback, scope: `openid ${SCOPE}`, resource: AUDIENCE, code_challenge: pkce };
  const url = openid.buildAuthorizationUrl(client, { ...parameters, code_challenge_method: 'S256', ...more });
  const at = new URL((await open(url)).headers.get('location') ?? '');
  const checks = { pkceCodeVerifier, ...('max_age' in more && { maxAge: Number(more.max_age) }) };
  return (await openid.authorizationCodeGrant(client, at, checks, { resource: AUDIENCE })).access_token;
}
const request = (path: string, token: string) =>
  openid.fetchProtectedResource(client, token, new URL(path, api.url), 'GET', undefined, undefined);

test('a user steps up when openid-client repeats the authorization with the parameters of the challenge', async () => {
  const error: unknown = await request('/strict', await authorize()).catch((cause: unknown) => cause);
  if (!(error instanceof openid.WWWAuthenticateChallengeError)) throw error;
  const { acr_values = '', max_age = '', ...others } = error.cause[0]?.parameters ?? {};
  expect([error.status, others.error]).toEqual([401, 'insufficient_user_authentication']);
  expect(await (await request('/strict', await authorize({ acr_values, max_age }))).text()).toBe('ada');
  // One of the two is not enough.
  for (const parameter of [{ acr_values }, { max_age }])
    await expect(request('/strict', await authorize(parameter))).rejects.toMatchObject({ status: 401 });
});

test('a cached token is rejected from the next request on after a back-channel logout of its session', async () => {
  const open = createBrowser();
  const [token, otherToken] = [await authorize({}, open), await authorize()];
  for (let times = 0; times < 2; times++) expect((await request('/any', token)).status).toBe(200);
  const page = await (await open(`${provider.issuer}/session/end?client_id=visitor`)).text();
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
  const body = new URLSearchParams({ xsrf, logout: 'yes' });
  await open(`${provider.issuer}/session/end/confirm`, { method: 'POST', body });
  await expect(request('/any', token)).rejects.toMatchObject({ status: 401 });
  expect((await request('/any', otherToken)).status).toBe(200);
});
