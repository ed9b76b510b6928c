import { python } from '../cache.ts';
import { forApplication, forUser } from '../client.ts';
import { asksAt, clientsOf, READ, type RealServer, readerToken, script } from './real-server.ts';

export const canaille: RealServer = {
  name: 'Canaille',
  version: '0.3.6',
  needs: ['python3'],
  command: async () => [await python('canaille'), '-W', 'ignore', script('canaille_server.py')],
  // Each ID token that a user's client gets has at_hash.
  settings: { AUDIENCE: 'reader', ALGORITHMS: 'RS512', REQUIRED_CLAIMS: '{"at_hash":null}' },
  introspect: asksAt('/oauth/introspect', 'reader'),
  isOpaque: true,
  application: readerToken(),
  async others(started) {
    const [reader, visitor] = await clientsOf(started);
    const user = await forUser(reader, 'ada', { scope: `openid profile ${READ}` });
    return {
      user: user.access_token,
      idToken: user.id_token,
      refreshToken: user.refresh_token,
      withoutScope: await forApplication(reader, { scope: 'write:messages' }),
      anotherClient: await forApplication(visitor, { scope: READ }),
    };
  },
  expected: {
    application: ['accepted', {}, '', 'introspected'],
    withoutHook: ['token_opaque', {}, 'application'],
    withoutScope: ['withoutScope', {}, '', 'introspected'],
    // A JWT without scopes.
    user: ['withoutScope', {}, '', 'introspected'],
    idToken: ['required_claim_mismatch', {}, '', 'introspected'],
    idTokenWithoutRule: ['withoutScope', { REQUIRED_CLAIMS: '' }, 'idToken', 'introspected'],
    anotherClient: ['token_inactive', {}, '', 'introspected'],
    refreshToken: ['token_inactive', {}, '', 'introspected'],
  },
};
