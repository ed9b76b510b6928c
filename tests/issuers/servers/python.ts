import { AUDIENCE } from '../../support/mint.ts';
import { python } from '../cache.ts';
import { discover, forApplication, forUser } from '../client.ts';
import {
  asksAt,
  clientsOf,
  opaqueRows,
  READ,
  type RealServer,
  readerToken,
  roleRows,
  script,
  secretOf,
  usualTokens,
} from './real-server.ts';

export const pythonServers: readonly RealServer[] = [
  {
    name: "Authlib's server",
    version: '1.9.6',
    needs: ['python3'],
    command: async () => [await python(), '-W', 'ignore', script('authlib_server.py'), AUDIENCE],
    settings: { AUDIENCE, TOKEN_TYPE: 'at+jwt' },
    introspect: asksAt('/introspect', 'reader'),
    application: readerToken(),
    async others(started) {
      const [reader, visitor] = await clientsOf(started);
      const of = async (id: string) => forApplication(await discover(started.issuer, secretOf(id)), { scope: READ });
      const bob = await forUser(reader, 'bob', { scope: `openid ${READ}`, login_hint: 'bob' });
      return {
        ...(await usualTokens(reader, visitor)),
        userWithoutRole: bob.access_token,
        withoutScope: await forApplication(reader),
        ...{ ES256: await of('ES256'), opaque: await of('opaque') },
      };
    },
    expected: {
      application: 'accepted',
      user: 'accepted',
      ...roleRows('roles'),
      withoutScope: 'withoutScope',
      anotherClient: 'audience_mismatch',
      idToken: 'type_unsupported',
      idTokenOfApi: ['key_id_missing', { AUDIENCE: 'reader', TOKEN_TYPE: '' }, 'idToken'],
      ES256: ['accepted', { ALGORITHMS: 'ES256' }],
      ...opaqueRows,
    },
  },
  {
    name: 'django-oauth-toolkit',
    version: '3.3.0',
    needs: ['python3'],
    command: async () => [await python(), '-W', 'ignore', script('django_toolkit.py')],
    settings: { AUDIENCE },
    // Its responses name no audience, because each token is for all APIs.
    introspect: asksAt('/introspect/', 'service', { aud: AUDIENCE }),
    isOpaque: true,
    application: async ({ issuer }) => forApplication(await discover(issuer, secretOf('service')), { scope: READ }),
    async others({ issuer }) {
      const [reader, service, visitor] = await Promise.all([
        discover(issuer, secretOf('reader')),
        discover(issuer, secretOf('service')),
        discover(issuer, secretOf('visitor')),
      ]);
      const { access_token, id_token, refresh_token } = await forUser(reader, 'ada', { scope: `openid ${READ}` });
      return {
        user: access_token,
        idToken: id_token,
        refreshToken: refresh_token,
        anotherClient: await forApplication(visitor, { scope: READ }),
        withoutScope: await forApplication(service, { scope: 'write:messages' }),
      };
    },
    expected: {
      application: ['accepted', {}, '', 'introspected'],
      user: ['accepted', {}, '', 'introspected'],
      anotherClient: ['accepted', {}, '', 'introspected'],
      onlyOneClient: [
        'required_claim_mismatch',
        { REQUIRED_CLAIMS: 'client_id=service' },
        'anotherClient',
        'introspected',
      ],
      withoutScope: ['withoutScope', {}, '', 'introspected'],
      idToken: ['audience_mismatch', {}, '', 'introspected'],
      refreshToken: ['token_inactive', {}, '', 'introspected'],
      withoutHook: ['token_opaque', {}, 'application'],
    },
  },
];
