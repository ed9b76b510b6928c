import * as openid from 'openid-client';
import { goProgram } from '../cache.ts';
import { discover, forApplication, forUser } from '../client.ts';
import { act } from './act.ts';
import { asksAt, clientsOf, type RealServer, script, secretOf } from './real-server.ts';
import type { Started } from './start.ts';

const forApi = 'audience:server:client_id:my-api';

/** Returns a token that is signed with this algorithm, which it uses for a new key only. */
async function signedWith(algorithm: string, started: Started) {
  await act(started, 'rotate', { algorithm });
  const token = await dex.application(started);
  await act(started, 'rotate');
  return token;
}

export const dex: RealServer = {
  name: 'Dex',
  version: '2026-08-06',
  page: 'dex',
  needs: ['go', 'setpriv'],
  command: async () => {
    const program = await goProgram('dex', '2026-08-06', 'github.com/dexidp/dex/cmd/dex');
    return [process.execPath, script('dex.mjs'), program, 'my-api'];
  },
  settings: { REQUIRED_CLAIMS: '{"azp":"reader","c_hash":null}' },
  introspect: asksAt('/token/introspect', 'my-api'),
  application: async ({ issuer }) =>
    forApplication(await discover(issuer, secretOf('reader')), { scope: `groups ${forApi}` }),
  async others(started) {
    const [reader, visitor] = await clientsOf(started);
    const api = await discover(started.issuer, secretOf('my-api'));
    const scope = `openid groups ${forApi}`;
    const local = { connector_id: 'local' };
    const user = await forUser(reader, 'ada', { scope, ...local });
    const bob = await forUser(reader, 'bob', { scope, ...local });
    const signIn = await forUser(reader, 'ada', { scope: 'openid groups', ...local });
    const elsewhere = { scope: `${scope} offline_access`, connector_id: 'elsewhere' };
    const { refresh_token = '' } = await forUser(reader, 'anyone', elsewhere);
    const refreshed = await openid.refreshTokenGrant(reader, refresh_token);
    const credentials = { username: 'ada', password: 'password', scope };
    const password = await openid.genericGrantRequest(reader, 'password', credentials);
    return {
      user: user.access_token,
      idToken: user.id_token,
      refreshToken: refreshed.refresh_token,
      refreshed: refreshed.access_token,
      refreshedIdToken: refreshed.id_token,
      password: password.access_token,
      userWithoutRole: bob.access_token,
      idTokenOfSignIn: signIn.id_token,
      ofSignIn: signIn.access_token,
      ofApi: await forApplication(api, { scope: 'openid groups' }),
      withoutScope: await forApplication(reader, { scope: forApi }),
      anotherClient: await forApplication(visitor, { scope: 'groups' }),
      ES256: await signedWith('ES256', started),
    };
  },
  expected: {
    application: 'accepted',
    user: 'accepted',
    password: 'accepted',
    idToken: 'required_claim_mismatch',
    idTokenWithoutRule: ['accepted', { REQUIRED_CLAIMS: 'azp=reader' }, 'idToken'],
    // Of a user in other groups.
    refreshed: 'withoutScope',
    // Nothing tells it apart from an access token.
    refreshedIdToken: 'withoutScope',
    userWithoutRole: 'withoutScope',
    withoutScope: 'withoutScope',
    idTokenOfSignIn: 'audience_mismatch',
    ofSignIn: 'audience_mismatch',
    ofApi: 'required_claim_mismatch',
    anotherClient: 'audience_mismatch',
    refreshToken: 'token_opaque',
    // Asked about it, the server says that it is active.
    refreshTokenIntrospected: ['audience_mismatch', {}, 'refreshToken', 'introspected'],
    refreshTokenOfAudience: [
      'type_unsupported',
      { AUDIENCE: 'reader', REQUIRED_CLAIMS: '' },
      'refreshToken',
      'introspected',
    ],
    ES256: ['accepted', { ALGORITHMS: 'RS256,ES256' }],
    ES256AfterChange: ['algorithm_unsupported', {}, 'ES256'],
  },
};
