import { seenInGo } from './seen-go.ts';

/*
 * What was seen of each server, and what it has none of. A kind of token is the name of a row in its `expected`; the
 * rest is tested as it says here. Nothing is left out: the types ask for every cell.
 */

/** What a server has none of, and why. */
type None = `none: ${string}`;

/** What a server has and the tests do not get, and why. */
type NotRun = `not run: ${string}`;

/** The row that has this token, or the algorithm in real-servers.issuer.ts. */
type Row = `row ${string}` | `real-servers ${string}` | None | NotRun;

export interface Seen {
  readonly logoutToken: Row;
  /** An opaque token, through the option `introspect`. */
  readonly opaque: Row;
  readonly dpop: Row;
  readonly certificate: Row;
  readonly ES256: Row;
  readonly EdDSA: Row;
  /** A refresh token that is a JWT. */
  readonly refreshJwt: Row;
  readonly anotherClient: Row;
  /** For another API of the same server. */
  readonly anotherApi: Row;
  readonly withoutScope: Row;
  readonly userWithoutRole: Row;
  /**
   * How its signing key is replaced: both keys are published for a time, or only the new one, or under the name of the
   * old one. `restart` is by its configuration, `API` is by its own API or its own clock.
   */
  readonly rotation: `${'overlapping' | 'at once' | 'same kid'}, by ${'restart' | 'API'}` | None;
  /** Whether its tokens are accepted after a restart. */
  readonly restart: 'keeps its keys' | 'makes new keys' | 'keeps its tokens';
  /** What a guard decides while it is down, with and without a cached key. */
  readonly outage: 'cached keys' | 'nothing, because it is asked about each token';
  /** A token that comes from two minutes ahead of the guard's clock. */
  readonly ahead: 'accepted' | 'token_not_yet_valid';
  /** The header Cache-Control of its key set. N is a random number. The guard obeys none. */
  readonly cacheControl: string | None;
}

const needsBrowser = 'not run: its users sign in on a page that needs a browser';
const noHeader = 'none: it sends no such header';

export const seen = {
  ...seenInGo,
  "Authlib's server": {
    logoutToken: 'none: it has no sessions of its own',
    opaque: 'row opaqueIntrospected',
    dpop: 'none: its generator of tokens knows no cnf',
    certificate: 'none: its generator of tokens knows no cnf',
    ES256: 'row ES256',
    EdDSA: 'none: it signs with recommended algorithms only, and this is not one',
    refreshJwt: 'none: its refresh tokens are random texts',
    anotherClient: 'row anotherClient',
    anotherApi: 'row anotherClient',
    withoutScope: 'row withoutScope',
    userWithoutRole: 'row userWithoutRole',
    rotation: 'overlapping, by restart',
    restart: 'keeps its keys',
    outage: 'cached keys',
    ahead: 'accepted',
    cacheControl: noHeader,
  },
  'django-oauth-toolkit': {
    logoutToken: 'none: it has no back-channel logout',
    opaque: 'row application',
    dpop: 'none: it knows no cnf',
    certificate: 'none: it knows no cnf',
    ES256: 'none: it signs ID tokens with RS256 or HS256',
    EdDSA: 'none: it signs ID tokens with RS256 or HS256',
    refreshJwt: 'none: its refresh tokens are random texts',
    anotherClient: 'row anotherClient',
    anotherApi: 'none: a token is for all APIs',
    withoutScope: 'row withoutScope',
    userWithoutRole: 'none: a response has scopes only',
    rotation: 'none: its key signs ID tokens only',
    restart: 'keeps its tokens',
    outage: 'nothing, because it is asked about each token',
    ahead: 'accepted',
    cacheControl: 'public, max-age=3600, stale-while-revalidate=3600, stale-if-error=3600',
  },
  'oidc-provider': {
    logoutToken: 'row logoutToken',
    opaque: 'row opaqueIntrospected',
    dpop: 'row boundWithProof',
    certificate: 'row certifiedWithCertificate',
    ES256: 'row ES256',
    EdDSA: 'row EdDSA',
    refreshJwt: 'none: its refresh tokens are random texts',
    anotherClient: 'row onlyOneClient',
    anotherApi: 'row anotherApi',
    withoutScope: 'row withoutScope',
    userWithoutRole: 'row userWithoutRole',
    rotation: 'overlapping, by restart',
    restart: 'keeps its keys',
    outage: 'cached keys',
    ahead: 'accepted',
    cacheControl: noHeader,
  },
  'Better Auth': {
    logoutToken: 'row logoutToken',
    opaque: 'row opaqueIntrospected',
    dpop: 'row boundWithProof',
    certificate: 'none: it binds with DPoP only',
    ES256: 'row ES256',
    EdDSA: 'row application',
    refreshJwt: 'none: its refresh tokens are random texts',
    anotherClient: 'row onlyOneClient',
    anotherApi: 'row anotherApi',
    withoutScope: 'row anotherClient',
    userWithoutRole: 'row userWithoutRole',
    rotation: 'overlapping, by API',
    restart: 'keeps its keys',
    outage: 'cached keys',
    ahead: 'accepted',
    cacheControl: noHeader,
  },
  OpenAuth: {
    logoutToken: 'none: it has no sessions of clients',
    opaque: 'none: it has no introspection',
    dpop: 'none: it knows no cnf',
    certificate: 'none: it knows no cnf',
    ES256: 'row application',
    EdDSA: 'none: it signs with ES256 only',
    refreshJwt: 'none: its refresh tokens are random texts',
    anotherClient: 'row anotherClient',
    anotherApi: 'none: its audience is the client',
    withoutScope: 'row userWithoutRole',
    userWithoutRole: 'row userWithoutRole',
    rotation: 'none: it never replaces a key that it has stored',
    restart: 'keeps its keys',
    outage: 'cached keys',
    ahead: 'accepted',
    cacheControl: noHeader,
  },
  'oauth2-mock-server': {
    logoutToken: 'none: it has no sessions',
    opaque: 'none: it calls every token active',
    dpop: 'none: it knows no cnf',
    certificate: 'none: it knows no cnf',
    ES256: 'real-servers ES256',
    EdDSA: 'real-servers EdDSA',
    refreshJwt: 'none: its refresh tokens are random texts',
    anotherClient: 'none: it believes that a client is whom it names',
    anotherApi: 'row anotherApi',
    withoutScope: 'row withoutScope',
    userWithoutRole: 'none: it has one user',
    rotation: 'overlapping, by restart',
    restart: 'makes new keys',
    outage: 'cached keys',
    ahead: 'token_not_yet_valid',
    cacheControl: noHeader,
  },
  'mock-oauth2-server': {
    logoutToken: 'none: it tells no client',
    opaque: 'none: its access tokens are JWTs',
    dpop: 'none: it knows no cnf',
    certificate: 'none: it knows no cnf',
    ES256: 'not run: its algorithm is that of the whole server',
    EdDSA: 'none: it has RSA and EC only',
    refreshJwt: 'row refreshToken',
    anotherClient: 'none: it believes that a client is whom it names',
    anotherApi: 'row withoutAudience',
    withoutScope: 'row withoutAudience',
    userWithoutRole: 'none: it gives the claims that its configuration says',
    rotation: 'same kid, by restart',
    restart: 'keeps its keys',
    outage: 'cached keys',
    ahead: 'token_not_yet_valid',
    cacheControl: noHeader,
  },
  'Spring Authorization Server': {
    logoutToken: 'none: it has no back-channel logout',
    opaque: 'row opaqueIntrospected',
    dpop: 'row boundWithProof',
    certificate: 'row certifiedWithCertificate',
    ES256: 'row ES256',
    EdDSA: 'none: its encoder has RSA and EC only',
    refreshJwt: 'none: its refresh tokens are random texts',
    anotherClient: 'row anotherClient',
    anotherApi: 'row anotherClient',
    withoutScope: 'row withoutScope',
    userWithoutRole: 'row userWithoutRole',
    rotation: 'overlapping, by restart',
    restart: 'makes new keys',
    outage: 'cached keys',
    ahead: 'token_not_yet_valid',
    cacheControl: 'no-cache, no-store, max-age=0, must-revalidate',
  },
  'Ory Hydra': {
    logoutToken: 'row logoutTokenOfApi',
    opaque: 'row opaqueIntrospected',
    dpop: 'none: it knows no cnf',
    certificate: 'none: it knows no cnf',
    ES256: 'none: its access tokens are signed with RS256',
    EdDSA: 'none: its access tokens are signed with RS256',
    refreshJwt: 'none: its refresh tokens are random texts',
    anotherClient: 'row anotherClient',
    anotherApi: 'row anotherApi',
    withoutScope: 'row withoutScope',
    userWithoutRole: 'row userWithoutRole',
    rotation: 'overlapping, by API',
    restart: 'keeps its keys',
    outage: 'cached keys',
    ahead: 'token_not_yet_valid',
    cacheControl: 'private, no-cache, no-store, must-revalidate',
  },
  Keycloak: {
    logoutToken: 'row logoutToken',
    opaque: 'none: its access tokens are JWTs',
    dpop: 'row boundWithProof',
    certificate: 'row certifiedWithCertificate',
    ES256: 'row ES256',
    EdDSA: 'row EdDSA',
    refreshJwt: 'row refreshToken',
    anotherClient: 'row anotherClient',
    anotherApi: 'row withoutScope',
    withoutScope: 'row withoutScope',
    userWithoutRole: 'row userWithoutRole',
    rotation: 'overlapping, by API',
    restart: 'keeps its keys',
    outage: 'cached keys',
    ahead: 'accepted',
    cacheControl: 'no-cache',
  },
  Glewlwyd: {
    logoutToken: needsBrowser,
    opaque: 'none: its access tokens are JWTs',
    dpop: 'row boundWithProof',
    certificate: 'not run: a client must authenticate with it, and the lookup is at the whole server',
    ES256: 'real-servers ES256',
    EdDSA: 'not run: its algorithm is that of its first key',
    refreshJwt: needsBrowser,
    anotherClient: 'row onlyOneClient',
    anotherApi: 'row withoutAudience',
    withoutScope: 'row anotherClient',
    userWithoutRole: needsBrowser,
    rotation: 'overlapping, by restart',
    restart: 'keeps its keys',
    outage: 'cached keys',
    ahead: 'token_not_yet_valid',
    cacheControl: 'no-store',
  },
} as const satisfies Record<string, Seen>;
