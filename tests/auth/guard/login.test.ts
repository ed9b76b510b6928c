import { afterAll, expect, test } from 'bun:test';
import * as openid from 'openid-client';
import { createGuard } from '../../../src/auth/index.ts';
import { logIn, startAuthorizationServer } from '../../support/authorization-server.ts';
import { AUDIENCE, SCOPE } from '../../support/mint.ts';

const api = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request): Promise<Response> {
    const result = await guard.check(request, { scope: SCOPE, acr: ['high'], maxAge: 300 });
    return result instanceof Response ? result : new Response(String(result.claims.sub));
  },
});
const provider = await startAuthorizationServer();
const guard = createGuard({ issuer: provider.issuer, audience: AUDIENCE });
const client = await provider.discover('visitor');
afterAll(() => Promise.all([provider.close(), api.stop(true)]));

/** Returns a token from an authorization with these parameters in addition to the usual ones. */
const authorize = async (more?: Readonly<Record<string, string>>) =>
  (await logIn(client, AUDIENCE, `openid ${SCOPE}`, more)).access_token;
const request = (token: string) => openid.fetchProtectedResource(client, token, api.url, 'GET', undefined, undefined);

test('a user steps up when openid-client repeats the authorization with the parameters of the challenge', async () => {
  const error: unknown = await request(await authorize()).catch((cause: unknown) => cause);
  if (!(error instanceof openid.WWWAuthenticateChallengeError)) throw error;
  const { acr_values = '', max_age = '', ...others } = error.cause[0]?.parameters ?? {};
  expect([error.status, others.error]).toEqual([401, 'insufficient_user_authentication']);
  expect(await (await request(await authorize({ acr_values, max_age }))).text()).toBe('ada');
  // One of the two is not enough.
  for (const parameter of [{ acr_values }, { max_age }])
    await expect(request(await authorize(parameter))).rejects.toMatchObject({ status: 401 });
});
