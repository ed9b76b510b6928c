/*
 * A realm as the page on Keycloak describes it: the client scope `read:messages` with an Audience mapper. A key for
 * each algorithm: a client may have another than the realm.
 */

const { LOGOUT_URL } = process.env;

const mapper = (name, protocolMapper, config) => ({ name, protocol: 'openid-connect', protocolMapper, config });
const scope = (name, mappers) => ({ name, protocol: 'openid-connect', protocolMappers: mappers });
const key = (providerId, priority, config) => ({
  name: providerId,
  providerId,
  config: { priority: [priority], ...config },
});

const client = (clientId, others) => ({
  clientId,
  secret: `${clientId}-secret`,
  serviceAccountsEnabled: true,
  standardFlowEnabled: true,
  directAccessGrantsEnabled: false,
  redirectUris: ['https://app.example.test/callback'],
  defaultClientScopes: ['basic'],
  optionalClientScopes: ['read:messages', 'offline_access', 'roles'],
  ...others,
  attributes: {
    'backchannel.logout.session.required': 'true',
    'backchannel.logout.url': LOGOUT_URL,
    ...others?.attributes,
  },
});

const user = (username, realmRoles) => ({
  username,
  enabled: true,
  email: `${username}@example.test`,
  emailVerified: true,
  firstName: username,
  lastName: 'Test',
  credentials: [{ type: 'password', value: 'password' }],
  realmRoles,
});

/** Returns what Keycloak imports when it starts. */
export const realm = (name, audience) => ({
  realm: name,
  enabled: true,
  sslRequired: 'none',
  defaultSignatureAlgorithm: 'RS256',
  roles: { realm: [{ name: 'read:messages' }] },
  clientScopes: [
    scope('read:messages', [
      mapper('audience', 'oidc-audience-mapper', {
        'included.custom.audience': audience,
        'access.token.claim': 'true',
        'id.token.claim': 'false',
      }),
    ]),
    {
      ...scope('roles', [
        mapper('realm roles', 'oidc-usermodel-realm-role-mapper', {
          'claim.name': 'realm_access.roles',
          'access.token.claim': 'true',
          multivalued: 'true',
          'jsonType.label': 'String',
        }),
      ]),
      attributes: { 'include.in.token.scope': 'false' },
    },
    scope('basic', [mapper('sub', 'oidc-sub-mapper', { 'access.token.claim': 'true' })]),
    { ...scope('offline_access', []), attributes: { 'include.in.token.scope': 'true' } },
  ],
  components: {
    'org.keycloak.keys.KeyProvider': [
      key('rsa-generated', '100', { algorithm: ['RS256'] }),
      key('ecdsa-generated', '100', { ecdsaEllipticCurveKey: ['P-256'] }),
      key('eddsa-generated', '100', { eddsaEllipticCurveKey: ['Ed25519'] }),
      key('hmac-generated', '100', { algorithm: ['HS512'] }),
    ],
  },
  clients: [
    client('reader'),
    client('visitor', { optionalClientScopes: [] }),
    client(audience),
    ...['ES256', 'EdDSA'].map((alg) => client(alg, { attributes: { 'access.token.signed.response.alg': alg } })),
    client('certified', { attributes: { 'tls.client.certificate.bound.access.tokens': 'true' } }),
  ],
  users: [user('ada', ['read:messages', 'offline_access']), user('bob', [])],
});
