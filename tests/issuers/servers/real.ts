import { join } from 'node:path';
import type { Configuration } from 'openid-client';
import type { GuardOptions, RejectionReason } from '../../../src/auth/types.ts';
import { AUDIENCE } from '../../support/mint.ts';
import { goProgram, javaLibraries, keycloak, python } from '../cache.ts';
import { boundToken, discover, forApplication, forUser, introspector } from '../client.ts';

/*
 * Servers that npm does not have. Each is set up as its page describes, or the index for those without one, and gives
 * out every kind of token that it can.
 */

type Settings = Readonly<Record<string, string>>;

/** The decision of a guard: accepted, accepted without the scope, or why not. */
type Decided = 'accepted' | 'withoutScope' | RejectionReason;

export interface RealServer {
  readonly name: string;
  readonly version: string;
  /** Its page in `docs/issuers`, whose settings are used; the index if it has none. */
  readonly page?: string;
  /** The programs that the machine must have. */
  readonly needs: readonly string[];
  /** Returns the command, after what it needs has been got. */
  readonly command: () => Promise<readonly string[]>;
  readonly settings: Settings;
  /** Returns the hook for tokens that are not JWTs. */
  readonly introspect?: (issuer: string) => GuardOptions['introspect'];
  readonly tokens: (issuer: string) => Promise<Readonly<Record<string, string | undefined>>>;
  /** The decision for each kind of token, with settings that replace those of the page. */
  readonly expected: Readonly<Record<string, Decided | readonly [decided: Decided, settings: Settings, kind?: string]>>;
}

const script = (name: string) => join(import.meta.dir, name);
const secretOf = (id: string) => ({ id, secret: `${id}-secret` });
const READ = 'read:messages';

/** Returns the tokens that most servers give out: of an application, and of a user. */
async function usualTokens(reader: Configuration, visitor: Configuration, parameters: Settings = {}, more = '') {
  const user = await forUser(reader, 'ada', { scope: `openid ${READ}${more}`, ...parameters });
  return {
    application: await forApplication(reader, { scope: READ, ...parameters }),
    user: user.access_token,
    idToken: user.id_token,
    refreshToken: user.refresh_token,
    anotherClient: await forApplication(visitor),
  };
}

const clientsOf = (issuer: string) =>
  Promise.all([discover(issuer, secretOf('reader')), discover(issuer, secretOf('visitor'))]);

/** Returns Keycloak, whose default key is for this algorithm. */
const keycloakWith = (algorithm: string): RealServer => ({
  name: `Keycloak with ${algorithm}`,
  version: '26.4.5',
  page: 'keycloak',
  needs: ['java', 'mvn', 'unzip', 'setpriv'],
  command: async () => [
    ...[process.execPath, script('keycloak.mjs')],
    ...[join(await keycloak('26.4.5'), 'server'), 'my-api', algorithm],
  ],
  settings: { AUDIENCE: 'my-api', ALGORITHMS: algorithm },
  async tokens(issuer) {
    const [reader, visitor] = await clientsOf(issuer);
    const bob = await forUser(reader, 'bob', { scope: `openid ${READ} roles` });
    return {
      ...(await usualTokens(reader, visitor, {}, ' roles offline_access')),
      withoutScope: await forApplication(reader),
      bound: await boundToken(reader, { scope: READ }),
      userWithoutRole: bob.access_token,
    };
  },
  expected: {
    application: 'accepted',
    user: 'accepted',
    userWithRole: ['accepted', { SCOPE_CLAIM: '/realm_access/roles' }, 'user'],
    userWithoutRole: ['withoutScope', { SCOPE_CLAIM: '/realm_access/roles' }],
    withoutScope: 'audience_mismatch',
    anotherClient: 'audience_mismatch',
    bound: 'token_bound',
    boundAsDpop: ['token_key_bound', { DPOP: 'on', PUBLIC_URL: 'https://api.example.com' }, 'bound'],
    idToken: 'audience_mismatch',
    idTokenOfApi: ['type_unsupported', { AUDIENCE: 'reader' }, 'idToken'],
    refreshToken: 'algorithm_unsupported',
  },
});

export const realServers: readonly RealServer[] = [
  ...['RS256', 'ES256', 'EdDSA'].map(keycloakWith),
  {
    name: "Authlib's server",
    version: '1.9.6',
    needs: ['python3'],
    command: async () => [await python(), '-W', 'ignore', script('authlib_server.py'), AUDIENCE],
    settings: { AUDIENCE, TOKEN_TYPE: 'at+jwt' },
    async tokens(issuer) {
      const [reader, visitor] = await clientsOf(issuer);
      return { ...(await usualTokens(reader, visitor)), withoutScope: await forApplication(reader) };
    },
    expected: {
      application: 'accepted',
      user: 'accepted',
      withoutScope: 'withoutScope',
      anotherClient: 'audience_mismatch',
      idToken: 'type_unsupported',
      idTokenOfApi: ['key_id_missing', { AUDIENCE: 'reader', TOKEN_TYPE: '' }, 'idToken'],
    },
  },
  {
    name: 'Spring Authorization Server',
    version: '1.5.0',
    needs: ['java', 'mvn'],
    command: async () => {
      const libraries = await javaLibraries('spring-authorization-server', '1.5.0');
      return ['java', '-cp', `${libraries}/*`, join(import.meta.dir, '../java/AuthorizationServer.java'), AUDIENCE];
    },
    settings: { AUDIENCE },
    async tokens(issuer) {
      const [reader, visitor] = await clientsOf(issuer);
      const opaque = await discover(issuer, secretOf('opaque'));
      return {
        ...(await usualTokens(reader, visitor)),
        withoutScope: await forApplication(reader),
        opaque: await forApplication(opaque, { scope: READ }),
      };
    },
    expected: {
      application: 'accepted',
      user: 'accepted',
      withoutScope: 'withoutScope',
      anotherClient: 'audience_mismatch',
      idToken: 'audience_mismatch',
      refreshToken: 'token_opaque',
      opaque: 'token_opaque',
    },
  },
  {
    name: 'Ory Hydra',
    version: '2.3.0',
    page: 'ory',
    needs: ['go', 'setpriv'],
    command: async () => {
      const program = await goProgram('hydra', '2.3.0', 'github.com/ory/hydra/v2');
      return [process.execPath, script('hydra.mjs'), program, AUDIENCE];
    },
    settings: { AUDIENCE },
    async tokens(issuer) {
      const [reader, visitor] = await clientsOf(issuer);
      return {
        ...(await usualTokens(reader, visitor, { audience: AUDIENCE }, ' offline_access')),
        withoutScope: await forApplication(reader, { audience: AUDIENCE }),
        withoutAudience: await forApplication(reader, { scope: READ }),
      };
    },
    expected: {
      application: 'accepted',
      user: 'accepted',
      withoutScope: 'withoutScope',
      withoutAudience: 'audience_mismatch',
      anotherClient: 'audience_mismatch',
      idToken: 'audience_mismatch',
      refreshToken: 'token_opaque',
    },
  },
  {
    name: 'mock-oauth2-server',
    version: '2.2.1',
    needs: ['java', 'mvn', 'setpriv'],
    command: async () => {
      const libraries = await javaLibraries('mock-oauth2-server', '2.2.1');
      return [process.execPath, script('mock-oauth2-server.mjs'), libraries, AUDIENCE];
    },
    settings: { AUDIENCE },
    async tokens(issuer) {
      const [reader] = await clientsOf(issuer);
      const [other] = await clientsOf(issuer.replace(/default$/, 'other'));
      return {
        application: await forApplication(reader, { resource: AUDIENCE }),
        withoutAudience: await forApplication(reader),
        // It gives this audience to everybody who names none.
        withDefaultAudience: await forApplication(other),
      };
    },
    expected: {
      application: 'accepted',
      withoutAudience: 'audience_mismatch',
      withDefaultAudience: 'key_unknown',
    },
  },
  {
    name: 'django-oauth-toolkit',
    version: '3.3.0',
    needs: ['python3'],
    command: async () => [await python(), '-W', 'ignore', script('django_toolkit.py')],
    settings: { AUDIENCE },
    // Its responses name no audience, because each token is for all APIs.
    introspect: (issuer) => introspector(issuer, secretOf('service'), { aud: AUDIENCE }),
    async tokens(issuer) {
      const [user, application] = await Promise.all(
        ['reader', 'service'].map(async (id) => discover(issuer, secretOf(id))),
      );
      if (user === undefined || application === undefined) throw new Error('No client');
      const { access_token, id_token, refresh_token } = await forUser(user, 'ada', { scope: `openid ${READ}` });
      return {
        application: await forApplication(application, { scope: READ }),
        user: access_token,
        idToken: id_token,
        refreshToken: refresh_token,
        anotherScope: await forApplication(application, { scope: 'write:messages' }),
      };
    },
    expected: {
      application: 'accepted',
      user: 'accepted',
      anotherScope: 'withoutScope',
      idToken: 'audience_mismatch',
      refreshToken: 'token_inactive',
    },
  },
];
