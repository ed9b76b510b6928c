import { join } from 'node:path';
import { devDependencies } from '../../../package.json';
import { AUDIENCE } from '../../support/mint.ts';
import { boundToken, certifiedToken, discover, forApplication, forUser, introspector, signOut } from '../client.ts';
import { dependencies } from '../package.json';
import {
  asksAt,
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
} from './real-server.ts';
import type { Started } from './start.ts';

const opaqueRow = {
  ...opaqueRows,
  opaqueIntrospected: ['accepted', { AUDIENCE: `${AUDIENCE}opaque` }, 'opaque', 'introspected'],
} as const;

/** It chooses the IDs of its clients. */
const clientOf = ({ clients }: Started, role: string) => clients?.[role] ?? secretOf(role);
const betterAuthClient = (started: Started, role: string) =>
  discover(started.issuer, clientOf(started, role), 'oauth2');

export const javascriptServers: readonly RealServer[] = [
  {
    name: 'oidc-provider',
    version: devDependencies['oidc-provider'],
    needs: [],
    command: async () => [process.execPath, join(import.meta.dir, '../../support/authorization-server.mjs'), AUDIENCE],
    settings: { AUDIENCE, TOKEN_TYPE: 'at+jwt' },
    introspect: asksAt('/token/introspection', 'reader'),
    application: readerToken({ resource: AUDIENCE }),
    async others(started) {
      const [reader, visitor] = await clientsOf(started);
      const certified = await discover(started.issuer, secretOf('certified'));
      const forApi = (resource: string) => forApplication(reader, { scope: READ, resource });
      const cookies = new Map<string, string>();
      const signIn = (login_hint: string) =>
        forUser(reader, login_hint, { scope: `openid ${READ}`, resource: AUDIENCE, login_hint }, cookies);
      const bob = await signIn('bob');
      await signOut(reader, bob.id_token, cookies);
      cookies.clear();
      const ada = await signIn('ada');
      return {
        user: ada.access_token,
        idToken: ada.id_token,
        refreshToken: ada.refresh_token,
        logoutToken: await started.logoutToken(),
        userWithoutRole: bob.access_token,
        withoutScope: await forApplication(reader, { resource: AUDIENCE }),
        anotherClient: await forApplication(visitor, { resource: AUDIENCE }),
        anotherApi: await forApi('https://other.example.test/'),
        ES256: await forApi(`${AUDIENCE}ES256`),
        EdDSA: await forApi(`${AUDIENCE}EdDSA`),
        opaque: await forApi(`${AUDIENCE}opaque`),
        bound: await boundToken(reader, { scope: READ, resource: AUDIENCE }),
        certified: await certifiedToken(certified, { scope: READ, resource: AUDIENCE }),
      };
    },
    expected: {
      application: 'accepted',
      user: 'accepted',
      ...roleRows('roles'),
      withoutScope: 'withoutScope',
      anotherClient: 'withoutScope',
      onlyOneClient: ['required_claim_mismatch', { REQUIRED_CLAIMS: 'client_id=reader' }, 'anotherClient'],
      anotherApi: 'audience_mismatch',
      idToken: 'type_unsupported',
      idTokenOfApi: ['audience_mismatch', { TOKEN_TYPE: '' }, 'idToken'],
      logoutToken: 'type_unsupported',
      logoutTokenOfApi: ['type_unsupported', { AUDIENCE: 'reader', TOKEN_TYPE: '' }, 'logoutToken'],
      refreshToken: 'token_opaque',
      refreshTokenIntrospected: ['audience_mismatch', {}, 'refreshToken', 'introspected'],
      ES256: ['accepted', { AUDIENCE: `${AUDIENCE}ES256`, ALGORITHMS: 'ES256' }],
      EdDSA: ['accepted', { AUDIENCE: `${AUDIENCE}EdDSA`, ALGORITHMS: 'EdDSA' }],
      ...boundRows,
      ...certifiedRows,
      ...opaqueRow,
    },
  },
  {
    name: 'Better Auth',
    version: dependencies['better-auth'],
    page: 'better-auth',
    needs: [],
    command: async () => [process.execPath, script('better-auth.mjs'), AUDIENCE],
    settings: { AUDIENCE },
    introspect: (started) =>
      introspector(`${started.issuer}/oauth2/introspect`, clientOf(started, 'reader'), { aud: AUDIENCE }),
    application: async (started) =>
      forApplication(await betterAuthClient(started, 'reader'), { scope: READ, resource: AUDIENCE }),
    async others(started) {
      const [reader, visitor] = await Promise.all([
        betterAuthClient(started, 'reader'),
        betterAuthClient(started, 'visitor'),
      ]);
      const cookies = new Map<string, string>();
      const scope = `openid offline_access ${READ}`;
      const bob = await forUser(reader, 'bob', { scope, resource: AUDIENCE }, cookies);
      await signOut(reader, bob.id_token, cookies);
      const ada = await forUser(reader, 'ada', { scope, resource: AUDIENCE });
      return {
        user: ada.access_token,
        idToken: ada.id_token,
        refreshToken: ada.refresh_token,
        logoutToken: await started.logoutToken(),
        userWithoutRole: bob.access_token,
        anotherClient: await forApplication(visitor, { scope: 'write:messages', resource: AUDIENCE }),
        anotherApi: await forApplication(reader, { scope: READ, resource: 'https://other.example.test/' }),
        ES256: await forApplication(reader, { scope: READ, resource: `${AUDIENCE}ES256` }),
        opaque: await forApplication(reader, { scope: READ }),
        bound: await boundToken(reader, { scope: READ, resource: AUDIENCE }),
      };
    },
    expected: {
      application: 'accepted',
      user: 'accepted',
      ...roleRows('roles'),
      anotherClient: 'withoutScope',
      onlyOneClient: ['required_claim_mismatch', { REQUIRED_CLAIMS: 'azp=CLIENT_ID' }, 'anotherClient'],
      anotherApi: 'audience_mismatch',
      idToken: 'audience_mismatch',
      refreshToken: 'token_opaque',
      refreshTokenIntrospected: ['token_inactive', {}, 'refreshToken', 'introspected'],
      logoutToken: 'type_unsupported',
      ES256: ['accepted', { AUDIENCE: `${AUDIENCE}ES256`, ALGORITHMS: 'ES256' }],
      ...boundRows,
      ...opaqueRows,
    },
  },
  {
    name: 'OpenAuth',
    version: dependencies['@openauthjs/openauth'],
    needs: [],
    command: async () => [process.execPath, script('open-auth.mjs'), AUDIENCE],
    settings: { AUDIENCE, ALGORITHMS: 'ES256', SCOPE_CLAIM: '/properties/permissions' },
    application: async ({ tokens }) => tokens?.reader ?? '',
    others: async ({ tokens }) => ({
      userWithoutRole: tokens?.visitor,
      refreshToken: tokens?.refresh,
      anotherClient: tokens?.stranger,
    }),
    expected: {
      application: 'accepted',
      userWithoutRole: 'withoutScope',
      anotherClient: 'audience_mismatch',
      refreshToken: 'token_opaque',
    },
  },
  {
    name: 'oauth2-mock-server',
    version: dependencies['oauth2-mock-server'],
    needs: [],
    command: async () => [process.execPath, script('mock-server.mjs'), AUDIENCE],
    settings: { AUDIENCE },
    application: readerToken(),
    async others(started) {
      const [reader] = await clientsOf(started);
      const user = await forUser(reader, 'ada', { scope: `openid ${READ}` });
      return {
        user: user.access_token,
        idToken: user.id_token,
        refreshToken: user.refresh_token,
        withoutScope: await forApplication(reader),
        anotherApi: await forApplication(reader, { scope: READ, resource: 'https://other.example.test/' }),
      };
    },
    expected: {
      application: 'accepted',
      // It forgets what the authorization request asked for.
      user: 'withoutScope',
      withoutScope: 'withoutScope',
      anotherApi: 'audience_mismatch',
      idToken: 'audience_mismatch',
      refreshToken: 'token_opaque',
    },
  },
];
