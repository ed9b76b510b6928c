import { createGrantReader } from '../guard/scopes.ts';
import { algorithmOf } from '../keys/algorithms.ts';
import { hasNoTenant, isUrl } from '../options/issuers.ts';
import type { Claims, GuardOptions } from '../types.ts';
import { isText, type Members } from '../values/json.ts';
import { isPlainWord, settingOf } from '../values/text.ts';
import { show } from './explained.ts';

/*
 * The options that would accept a token, from what the token says.
 * Nothing of it is verified, so every suggestion warns that it trusts whoever issued the token.
 */

type SuggestedName =
  | 'issuer'
  | 'audience'
  | 'audienceClaim'
  | 'algorithms'
  | 'scopeClaim'
  | 'scopePrefix'
  | 'requireScope';

/** The options that would accept a token, as far as the token tells. */
export interface Suggestion {
  /** The options that would accept the token. */
  readonly options: Partial<Pick<GuardOptions, SuggestedName>>;
  /** The same as settings: environment variables. */
  readonly settings: Readonly<Record<string, string>>;
  /** URL of the documentation of this issuer, if there is a page. It says which other options the issuer needs. */
  readonly page: string | undefined;
  /** What to check before using them. The first says that they trust whoever issued the token. */
  readonly warnings: readonly string[];
}

const site = 'https://protected-api.github.io/protected-api';

/** The page of each issuer that its identifier tells. Others have a page too, but an identifier of any form. */
const pages: readonly (readonly [page: string, identifier: RegExp])[] = [
  ['auth0', /\.auth0\.com\/$/],
  ['entra', /^https:\/\/(?:login\.microsoftonline\.\w+|sts\.windows\.net|[\w-]+\.ciamlogin\.com)\//],
  ['okta', /\.okta(?:preview|-emea)?\.com(?:\/|$)/],
  ['keycloak', /\/realms\/[^/]+$/],
  ['cognito', /^https:\/\/cognito-idp\./],
  ['authentik', /\/application\/o\/[^/]+\/$/],
  ['better-auth', /\/api\/auth$/],
  ['clerk', /\.clerk\.accounts\.dev$|^https:\/\/clerk\./],
  ['curity', /\/oauth\/v2\/oauth-anonymous$/],
  ['descope', /^https:\/\/api\.descope\.com\/v1\/apps\//],
  ['github-actions', /^https:\/\/token\.actions\.githubusercontent\.com(?:\/|$)/],
  ['gitlab-ci', /^https:\/\/gitlab\.com$/],
  ['google', /^https:\/\/accounts\.google\.com$/],
  ['kubernetes', /^https:\/\/kubernetes\.default\.svc/],
  ['logto', /\.logto\.app\/oidc$/],
  ['ory', /\.oryapis\.com$/],
  ['pingone', /^https:\/\/auth\.pingone\./],
  ['stytch', /\.customers\.stytch\.(?:dev|com)$/],
  ['supabase', /\.supabase\.co\/auth\/v1$/],
  ['workos', /\.authkit\.app$/],
  ['zitadel', /\.zitadel\.cloud$/],
];

const clientClaims = ['client_id', 'azp', 'cid', 'appid', 'applicationId'];
const scopeClaims = ['scope', 'scp', 'permissions', 'roles', '/app_metadata/permissions', '/realm_access/roles'];
/** What clients request for themselves. It permits nothing at an API. */
const signInScopes = /^(?:|openid|profile|email|address|phone|offline_access)$/;
const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Whether a value can stand in a list of settings and in quotes. */
const isWritable = (value: unknown): value is string => isPlainWord(value) && !/[,']/.test(value);

/** Returns the options that would accept a token with this header and these claims. */
export function suggestOptions(header: Members, claims: Members): Suggestion {
  const { iss, aud, exp, cnf } = claims;
  const issuer = isWritable(iss) && isUrl(iss) && !hasNoTenant(iss) ? iss : undefined;
  const algorithm = algorithmOf(header.alg);
  const { audiences, audienceClaim } = suggestAudience(claims);
  const isClient = (name: string) => uuid.test(name) || clientClaims.some((claim) => claims[claim] === name);
  const requireScope = audiences.some(isClient) || undefined;
  const { hasScopes, ...scopes } = suggestScopes(claims, audienceClaim !== undefined);
  const found = {
    issuer,
    audience: audiences.length > 1 ? audiences : audiences[0],
    audienceClaim,
    algorithms: algorithm === undefined || algorithm === 'RS256' ? undefined : [algorithm],
    ...scopes,
    requireScope,
  };
  const options = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
  const page = pages.find(([, identifier]) => issuer !== undefined && identifier.test(issuer))?.[0];
  const warnings: readonly (readonly [applies: boolean, warning: string])[] = [
    [true, 'These settings trust whoever issued this token: check that this is your issuer'],
    [issuer === undefined, `No setting accepts the iss ${show(iss)}: it must be an https URL`],
    [algorithm === undefined, `No setting accepts the alg ${show(header.alg)}`],
    [!isText(header.kid) || header.kid === '', 'No setting accepts a token without a kid'],
    [typeof exp === 'number' && exp * 1000 <= Date.now(), 'This token has expired: these settings accept a new one'],
    [audiences.length === 0, `No setting accepts the aud ${show(aud)}: request a token for your API`],
    [audiences.length > 1, 'Keep only the audiences that identify your API and nothing else'],
    [requireScope === true && !hasScopes, 'The token grants no scope, so it may be an ID token'],
    [cnf !== undefined, 'The token is bound to a key or a certificate: see the options dpop and clientCertificate'],
  ];
  return {
    options,
    settings: Object.fromEntries(Object.entries(options).map(([name, value]) => [settingOf(name), String(value)])),
    page: page && `${site}/issuers/${page}`,
    warnings: warnings.flatMap(([applies, warning]) => (applies ? warning : [])),
  };
}

/** Returns the audiences of the token, without those that identify the issuer or the client if there are others. */
function suggestAudience({ iss, aud, ...claims }: Members) {
  const name = aud === undefined ? clientClaims.find((claim) => isWritable(claims[claim])) : undefined;
  const named = [name === undefined ? aud : claims[name]].flat().filter(isWritable);
  const isOwn = (audience: string) =>
    (isText(iss) && audience.startsWith(iss)) || clientClaims.some((claim) => claims[claim] === audience);
  const others = named.filter((audience) => !isOwn(audience));
  return { audiences: others.length > 0 ? others : named, audienceClaim: name };
}

/** Returns where the scopes of the token are. */
function suggestScopes(claims: Members, hasNoAudience: boolean) {
  const scopesIn = (scopeClaim: string) => {
    const rules = { issuer: [], scopeClaim: [scopeClaim], scopeImplies: {}, scopePrefix: undefined };
    const read = createGrantReader({ ...rules, scopeRequestPrefix: undefined });
    return read(claims as Claims).filter((scope) => !signInScopes.test(scope));
  };
  const claim = scopeClaims.find((name) => scopesIn(name).length > 0);
  const scopes = claim === undefined ? [] : scopesIn(claim);
  // Amazon Cognito, whose tokens have no audience, puts the identifier of the API before its scopes.
  const [prefix = '', ...others] = new Set(scopes.map((scope) => scope.slice(0, scope.lastIndexOf('/') + 1)));
  const isPrefix = isWritable(prefix) && others.length === 0 && (hasNoAudience || prefix.includes('://'));
  return {
    scopeClaim: claim === undefined || claim === 'scope' ? undefined : [claim],
    scopePrefix: isPrefix ? prefix : undefined,
    hasScopes: scopes.length > 0,
  };
}

/** Returns lines with the suggestion in both forms, as settings for a shell and as options in code. Its values need no escapes. */
export function renderSuggestion({ options, settings, page, warnings }: Suggestion): readonly string[] {
  const literal = (value: unknown): string =>
    Array.isArray(value) ? `[${value.map(literal).join(', ')}]` : typeof value === 'string' ? `'${value}'` : `${value}`;
  return [
    ...Object.entries(settings).map(([name, value]) => `${name}=${/[^\w.,:/@=-]/.test(value) ? `'${value}'` : value}`),
    '',
    'createGuard({',
    ...Object.entries(options).map(([name, value]) => `  ${name}: ${literal(value)},`),
    '})',
    '',
    ...warnings,
    ...(page === undefined ? [] : [`Other settings that this issuer may need: ${page}`]),
  ];
}
