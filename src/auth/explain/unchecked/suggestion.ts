import { createGrantReader } from '../../guard/scopes.ts';
import { algorithmOf } from '../../keys/algorithms.ts';
import { isTenant } from '../../keys/tenants.ts';
import { canBeIssuer, isDiscoverable } from '../../options/issuers.ts';
import { settingOf } from '../../options/setting.ts';
import type { Claims, GuardOptions } from '../../types.ts';
import { isPlainWord } from '../../values/ascii.ts';
import { isJsonObject, isText, type Members } from '../../values/json.ts';
import { doubtKind, joined, otherApiOf, show } from '../checks/explained.ts';
import { pageOf, whyNoSetting } from './issuer-pages.ts';

/*
 * The options that would accept a token, from what the token says. Nothing of it is verified, so every suggestion warns
 * that it trusts whoever issued the token.
 */

type SuggestedName =
  | 'issuer'
  | 'audience'
  | 'audienceClaim'
  | 'algorithms'
  | 'scopeClaim'
  | 'scopePrefix'
  | 'requireScope'
  | 'requiredClaims';

/** Options for tokens of an issuer, as far as one token tells. */
export interface Suggestion {
  /** The options. They accept the token if the advice of the explanation says so, and if its keys are found. */
  readonly options: Partial<Pick<GuardOptions, SuggestedName>>;
  /** The same as settings: environment variables. */
  readonly settings: Readonly<Record<string, string>>;
  /** URL of the documentation of this issuer, if there is a page. It says which other options the issuer needs. */
  readonly page: string | undefined;
  /** What to check before using them. The first says that they trust whoever issued the token. */
  readonly warnings: readonly string[];
}

/** Claims that identify what a token is for, if it has no `aud`: the client, or an organization of the issuer. */
const organizationClaims = ['org_id', 'organization_id', 'tId', 'tenant_id', 'tenantId', 'project_id'];
const clientClaims = ['client_id', 'azp', 'cid', 'appid', 'applicationId'];
const scopeClaims = ['scope', 'scp', 'permissions', 'roles', '/app_metadata/permissions', '/realm_access/roles'];
/** What clients request for themselves. It permits nothing at an API. */
const signInScopes = /^(?:|openid|profile|email|address|phone|offline_access)$/;

/** The claims that identify a workload that gets tokens for any audience, by the beginning of its issuer or sub. */
const workloads: readonly (readonly [identifier: RegExp, claims: readonly string[]])[] = [
  [/^spiffe:\/\/|^system:serviceaccount:|^https:\/\/accounts\.google\.com$/, ['sub']],
  [/^repo:/, ['repository_id', 'ref', 'event_name']],
  [/^project_path:/, ['project_id', 'ref_protected', 'pipeline_source']],
];

/** Whether a value can stand in a list of settings and in quotes. */
const isWritable = (value: unknown): value is string => isPlainWord(value) && !/[,']/.test(value);

/**
 * Returns options for tokens of this issuer, from the header and the claims of one. Whether they accept this very token
 * is decided in unchecked.ts.
 */
export function suggestOptions(header: Members, claims: Members): Suggestion {
  const { iss } = claims;
  const hopeless = whyNoSetting(header, claims);
  const issuer = isWritable(iss) && canBeIssuer(iss) && hopeless === undefined ? iss : undefined;
  const algorithm = algorithmOf(header.alg);
  const { audiences, audienceClaim } = suggestAudience(claims);
  const isClient = (name: string) =>
    isTenant(name.toLowerCase()) || clientClaims.some((claim) => claims[claim] === name);
  const isForClient = audiences.some(isClient);
  const { hasScopes, ...scopes } = suggestScopes(claims, audienceClaim !== undefined);
  const doubt = doubtKind(claims);
  const own = ownClaims(claims, isForClient && !hasScopes && doubt === '');
  const isOnly = own.length > 0;
  // An ID token has the client as its aud, which would count.
  const requiredClaims = { ...(audienceClaim && { aud: null }), ...Object.fromEntries(own) };
  const found = {
    issuer,
    audience: audiences.length > 1 ? audiences : audiences[0],
    audienceClaim,
    algorithms: algorithm === undefined || algorithm === 'RS256' ? undefined : [algorithm],
    ...scopes,
    requireScope: ((isForClient || doubt !== '') && !isOnly) || undefined,
    requiredClaims: Object.keys(requiredClaims).length > 0 ? requiredClaims : undefined,
  };
  const options = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
  const warnings = [
    'These settings trust whoever issued this token: check that this is your issuer',
    hopeless ?? (issuer === undefined && `No setting accepts the iss ${show(iss)}`),
    issuer !== undefined &&
      !isDiscoverable(issuer, { jwksAllowHttp: false }) &&
      "JWKS_URI (jwksUri) is needed too, because the issuer is not an https URL: copy jwks_uri of your issuer's metadata",
    algorithm === undefined && `No setting accepts the alg ${show(header.alg)}`,
    (!isText(header.kid) || header.kid === '') && 'No setting accepts a token without a kid',
    isExpired(claims) && 'This token has expired: these settings accept a new one',
    ...doubtAudience(claims, audiences, audienceClaim),
    isForClient && !hasScopes && 'The token grants no scope, so it may be an ID token',
    isOnly && `Only tokens with this ${joined(own.map(([name]) => name))} are accepted`,
    claims.cnf !== undefined &&
      'The token is bound to a key or a certificate: see the options dpop and clientCertificate',
  ];
  return {
    options,
    settings: Object.fromEntries(Object.entries(options).map(([name, value]) => [settingOf(name), inSetting(value)])),
    page: pageOf(iss) ?? pageOf(claims.sub),
    warnings: warnings.filter((warning) => warning !== false),
  };
}

/** Returns the claims that only this workload or bot has. Workloads choose the audience, and bots get no scopes. */
function ownClaims(claims: Members, isBot: boolean) {
  const isOf = (form: RegExp) => [claims.sub, claims.iss].some((each) => form.test(show(each)));
  const names = workloads.find(([form]) => isOf(form))?.[1] ?? (isBot ? ['sub'] : []);
  return names.filter((name) => isWritable(claims[name])).map((name) => [name, String(claims[name])] as const);
}

/** Returns a value as a setting: lists with commas, an object as JSON. */
const inSetting = (value: unknown) => (isJsonObject(value) ? JSON.stringify(value) : String(value));

const isExpired = ({ exp }: Members) => typeof exp === 'number' && exp * 1000 <= Date.now();

/** Returns what may be wrong with an audience: that of another API, or one that many tokens have. */
function doubtAudience(claims: Members, audiences: readonly string[], audienceClaim: string | undefined) {
  const doubt = doubtKind(claims);
  const others = audiences.flatMap((audience) => otherApiOf(audience) ?? []);
  const missing = 'The token has no aud';
  return [
    audiences.length === 0 && `No setting accepts the aud ${show(claims.aud)}: request a token for your API`,
    audiences.length > 1 && 'Keep only the audiences that identify your API and nothing else',
    ...others.map((api) => `The audience is that of ${api}: your API needs its own`),
    doubt !== '' && doubt,
    audienceClaim !== undefined &&
      organizationClaims.includes(audienceClaim) &&
      `${missing}. ${audienceClaim} identifies an organization: every token for it is accepted`,
    audienceClaim === 'iss' &&
      `${missing}: every token of this issuer is accepted. Request one for your API if you can`,
  ];
}

/** Returns the audiences of the token; those of the issuer, the client and other APIs only if there are no others. */
function suggestAudience({ iss, aud, ...claims }: Members) {
  const isNamed = (claim: string) => isWritable(claims[claim]);
  const other = [...clientClaims, ...organizationClaims].find(isNamed) ?? (isWritable(iss) ? 'iss' : undefined);
  const name = aud === undefined ? other : undefined;
  const named = [name === undefined ? aud : { ...claims, iss }[name]].flat().filter(isWritable);
  const isOwn = (audience: string) =>
    (isText(iss) && audience.startsWith(iss)) ||
    clientClaims.some((claim) => claims[claim] === audience) ||
    otherApiOf(audience) !== undefined;
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
