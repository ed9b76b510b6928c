import { AUDIENCE } from '../../support/mint.ts';
import { goProgram, keycloak } from '../cache.ts';
import { boundToken, certifiedToken, discover, forApplication, forUser, introspector, signOut } from '../client.ts';
import {
  boundRows,
  certifiedRows,
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

export const otherServers: readonly RealServer[] = [
  {
    name: 'Ory Hydra',
    version: '2.3.0',
    page: 'ory',
    needs: ['go', 'setpriv'],
    command: async () => {
      const program = await goProgram('hydra', '2.3.0', 'github.com/ory/hydra/v2', { tags: 'sqlite' });
      return [process.execPath, script('hydra.mjs'), program, AUDIENCE];
    },
    settings: { AUDIENCE },
    introspect: ({ admin }) => introspector(`${admin}/oauth2/introspect`, secretOf('reader'), {}),
    application: readerToken({ audience: AUDIENCE }),
    async others(started) {
      const { issuer } = started;
      const [reader, visitor] = await clientsOf(started);
      const opaque = await discover(issuer, secretOf('opaque'));
      const cookies = new Map<string, string>();
      const scope = `openid offline_access ${READ}`;
      const bob = await forUser(reader, 'bob', { scope, audience: AUDIENCE, login_hint: 'bob' }, cookies);
      await signOut(reader, bob.id_token, cookies);
      return {
        ...(await usualTokens(reader, visitor, { audience: AUDIENCE }, ' offline_access')),
        userWithoutRole: bob.access_token,
        logoutToken: await started.logoutToken(),
        withoutScope: await forApplication(reader, { audience: AUDIENCE }),
        withoutAudience: await forApplication(reader, { scope: READ }),
        anotherApi: await forApplication(visitor, { scope: READ, audience: 'https://other.example.test' }),
        opaque: await forApplication(opaque, { scope: READ, audience: AUDIENCE }),
      };
    },
    expected: {
      application: 'accepted',
      user: 'accepted',
      ...roleRows('/ext/roles'),
      withoutScope: 'withoutScope',
      withoutAudience: 'audience_mismatch',
      anotherClient: 'audience_mismatch',
      anotherApi: 'audience_mismatch',
      idToken: 'audience_mismatch',
      logoutToken: 'audience_mismatch',
      logoutTokenOfApi: ['type_unsupported', { AUDIENCE: 'reader' }, 'logoutToken'],
      refreshToken: 'token_opaque',
      refreshTokenIntrospected: ['type_unsupported', {}, 'refreshToken', 'introspected'],
      ...opaqueRows,
      // The page has the list `scp`; a response has the string `scope`.
      opaqueIntrospected: ['accepted', { SCOPE_CLAIM: 'scp,scope' }, 'opaque', 'introspected'],
    },
  },
  {
    name: 'Keycloak',
    version: '26.4.5',
    page: 'keycloak',
    needs: ['java', 'mvn', 'unzip', 'setpriv'],
    command: async () => [
      ...[process.execPath, script('keycloak.mjs')],
      ...[`${await keycloak('26.4.5')}/server`, 'my-api'],
    ],
    settings: { AUDIENCE: 'my-api' },
    application: readerToken(),
    async others(started) {
      const { issuer } = started;
      const [reader, visitor] = await clientsOf(started);
      const of = async (id: string) => forApplication(await discover(issuer, secretOf(id)), { scope: READ });
      const cookies = new Map<string, string>();
      const bob = await forUser(reader, 'bob', { scope: `openid ${READ} roles` }, cookies);
      await signOut(reader, bob.id_token, cookies);
      return {
        ...(await usualTokens(reader, visitor, {}, ' roles offline_access')),
        userWithoutRole: bob.access_token,
        logoutToken: await started.logoutToken(),
        withoutScope: await forApplication(reader),
        ...{ ES256: await of('ES256'), EdDSA: await of('EdDSA') },
        bound: await boundToken(reader, { scope: READ }),
        certified: await certifiedToken(await discover(issuer, secretOf('certified')), { scope: READ }),
      };
    },
    expected: {
      application: 'accepted',
      user: 'accepted',
      ...roleRows('/realm_access/roles'),
      withoutScope: 'audience_mismatch',
      anotherClient: 'audience_mismatch',
      idToken: 'audience_mismatch',
      idTokenOfApi: ['type_unsupported', { AUDIENCE: 'reader' }, 'idToken'],
      logoutToken: 'type_unsupported',
      refreshToken: 'algorithm_unsupported',
      ES256: ['accepted', { ALGORITHMS: 'ES256' }],
      EdDSA: ['accepted', { ALGORITHMS: 'EdDSA' }],
      ...boundRows,
      ...certifiedRows,
    },
  },
  {
    name: 'Glewlwyd',
    version: '2.7.5',
    needs: ['glewlwyd', 'setpriv'],
    command: async () => [process.execPath, script('glewlwyd.mjs'), AUDIENCE],
    settings: { AUDIENCE, TOKEN_TYPE: 'at+jwt' },
    application: async ({ issuer, clients }) =>
      forApplication(await discover(issuer, clients?.reader ?? secretOf('')), { scope: READ, resource: AUDIENCE }),
    async others({ issuer, clients }) {
      const [reader, visitor] = await Promise.all([
        discover(issuer, clients?.reader ?? secretOf('')),
        discover(issuer, clients?.visitor ?? secretOf('')),
      ]);
      return {
        withoutAudience: await forApplication(reader, { scope: READ }),
        anotherClient: await forApplication(visitor, { scope: 'write:messages', resource: AUDIENCE }),
        bound: await boundToken(reader, { scope: READ, resource: AUDIENCE }),
      };
    },
    expected: {
      application: 'accepted',
      withoutAudience: 'audience_mismatch',
      anotherClient: 'withoutScope',
      onlyOneClient: ['required_claim_mismatch', { REQUIRED_CLAIMS: 'client_id=reader' }, 'anotherClient'],
      ...boundRows,
    },
  },
];
