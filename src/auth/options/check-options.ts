import { isTemplate, isTenant } from '../keys/tenants.ts';
import { canonicalUrl } from '../proof/normalize-url.ts';
import type { CheckedOptions, GuardOptions } from '../types.ts';
import { isJsonObject, isPlainObject, memberOf, namesIn } from '../values/json.ts';
import { isSecureUrl, parseUrl } from '../values/url.ts';
import { describeValue } from './describe-value.ts';
import { rejectForeignGuard } from './foreign-guard.ts';
import { hasNoTenant, isDiscoverable, listedIssuers, optionsByIssuer } from './issuers.ts';
import { optionRules } from './rules.ts';
import { describeUnknown } from './spelling.ts';
import { describeProblem, inCode, type Sentence, say, type Wording } from './wording.ts';

/*
 * Whether options fit together, and what a programmer reads if they do not. How a single option is validated is decided
 * in rules.ts.
 */

/** An option that is not valid, and what it must be. */
interface OptionProblem extends Wording {
  readonly name: keyof GuardOptions;
}

const optionNames = Object.keys(optionRules) as readonly (keyof GuardOptions)[];

/** Other options have a default, or are optional. */
export const isRequired = (name: string) => name === 'issuer' || name === 'audience';

/**
 * Validates the options.
 * @throws {TypeError} an option is missing, mistyped, out of range or unknown, or does not fit others
 */
export function checkOptions(options: GuardOptions): CheckedOptions {
  if (!isJsonObject(options)) throw new TypeError('Cannot create a guard: options are missing');
  rejectForeignGuard(options);
  const { checked, problems } = readOptions(options);
  const unknown = namesIn(options).filter((name) => !Object.hasOwn(optionRules, name));
  // A misspelt name comes first, because it explains a missing option.
  const lines = [...unknown.map(describeUnknownOption), ...problems.map((problem) => describeOption(problem, options))];
  if (lines.length === 0) return checked;
  throw new TypeError(`Cannot create a guard:\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

/** Returns the checked options, with the default for each option that is not valid, and all problems. */
export function readOptions(given: Readonly<Record<string, unknown>>) {
  const found: OptionProblem[] = [];
  const values: Record<string, unknown> = {};
  for (const name of optionNames) {
    const { read, ...wording } = optionRules[name];
    // Read once, because it may be a getter.
    const value = memberOf(given, name);
    const checked = value === undefined ? undefined : read(value);
    if (checked === undefined && (value !== undefined || isRequired(name))) found.push({ name, ...wording });
    values[name] = checked ?? memberOf(wording, 'fallback');
  }
  const { issuer = [], audience = [], publicUrl, resource } = values as Partial<CheckedOptions>;
  // RFC 8707 and MCP want the canonical form, and clients compare it as text.
  const urls = {
    publicUrl: Array.isArray(publicUrl) ? publicUrl.map(withoutSlash) : publicUrl && withoutSlash(publicUrl as string),
    resource: resource?.startsWith('/') ? resource : resource && canonicalUrl(resource),
  };
  const options = { ...values, issuer, audience, ...urls } as CheckedOptions;
  // Checked options can be checked again. Their `audience` is then an empty list.
  const hasNone = Array.isArray(memberOf(given, 'audience') ?? []) && audience.length === 0;
  const hasOwn =
    typeof issuer === 'function' ||
    (issuer.length > 0 && issuer.every((entry) => typeof entry === 'object' && entry.audience));
  const all = [...found.filter(({ name }) => name !== 'audience' || !hasNone || !hasOwn), ...findConflicts(options)];
  // Only the first mistake of each option.
  const problems = optionNames.flatMap((each) => all.find(({ name }) => name === each) ?? []);
  return { checked: Object.freeze(options), problems };
}

/** Whether two guards with these options decide alike. Options that are code are equal only if they are the same. */
export const haveEqualOptions = (some: CheckedOptions, others: CheckedOptions): boolean =>
  optionNames.every((name) => {
    const [one, other] = [some[name], others[name]];
    return optionRules[name].kind === 'code' ? one === other : areEqual(one, other);
  });

/** Compares plain values by their members. Anything else, such as `introspect`, is equal only to itself. */
function areEqual(one: unknown, other: unknown): boolean {
  if (!hasMembers(one) || !hasMembers(other)) return one === other;
  return Object.keys({ ...one, ...other }).every((name) => areEqual(Reflect.get(one, name), Reflect.get(other, name)));
}

const hasMembers = (value: unknown): value is object => Array.isArray(value) || isPlainObject(value);
const withoutSlash = (url: string) => canonicalUrl(url).replace(/(?<!\/)\/+$/, '');
const originOf = (url = '') => parseUrl(url)?.origin ?? 'none';

/** Returns the options that are not allowed in combination with others. */
function findConflicts(options: CheckedOptions): readonly OptionProblem[] {
  const { issuer, jwksUri, jwksAllowHttp, dpop, publicUrl, resource, authorizationServers = [] } = options;
  const { jwksCooldownSeconds, jwksMaxAgeSeconds, jwksMaxStaleSeconds } = options;
  const conflicts: OptionProblem[] = [];
  const must = (name: OptionProblem['name'], expected: string) => conflicts.push({ name, expected });
  const mustBeValid = (name: OptionProblem['name'], wording: Partial<Wording> = {}) =>
    conflicts.push({ name, ...optionRules[name], ...wording });
  const listed = listedIssuers(options);
  const hasSeveral = typeof issuer === 'function' || issuer.length > 1;
  const own = [...optionsByIssuer(options)];
  const all = [options, ...own.map(([, each]) => each)];
  for (const each of own.length > 0 ? all.slice(1) : all)
    if (each.jwksUri !== undefined && !isSecureUrl(each.jwksUri, each.jwksAllowHttp))
      mustBeValid(each.jwksUri === jwksUri ? 'jwksUri' : 'issuer');
  const [unnamed] = own.find(([each, found]) => !isDiscoverable(each, found) && !(found.jwksUri ?? found.keys)) ?? [];
  if (own.some(([each]) => isDocument(each))) mustBeValid('issuer', withoutDocument);
  if (unnamed !== undefined) mustBeValid('issuer', describeUndiscoverable(unnamed));
  if (own.some(([each]) => hasNoTenant(each))) mustBeValid('issuer', oneTenant);
  if (own.some(([each, { requiredClaims }]) => isTemplate(each) && !(requiredClaims.tid ?? []).every(isTenant)))
    must('requiredClaims', 'the IDs of tenants (UUIDs) under tid for an issuer with {tenantid}');
  if (!authorizationServers.every((url) => isSecureUrl(url, jwksAllowHttp))) mustBeValid('authorizationServers');
  for (const name of ['jwksUri', 'keys'] as const)
    if (options[name] !== undefined && hasSeveral) must(name, 'unset when there are several issuers');
  if (all.some((each) => each.keys !== undefined && each.jwksUri !== undefined))
    must('keys', 'unset when jwksUri is set');
  // A token is not shown to an issuer that did not issue it.
  const asked = listed.filter((each) => typeof each === 'object' && each.introspect);
  if (asked.length > 1 || (asked.length > 0 && options.introspect))
    must('introspect', 'a function of the guard or of one issuer, because an opaque token does not name its issuer');
  if (dpop !== 'off' && publicUrl === undefined) mustBeValid('publicUrl', { required: urlOfProofs });
  const urls = [publicUrl ?? []].flat();
  if (new Set(urls.map((url) => new URL(url).host)).size < urls.length) must('publicUrl', 'URLs of different hosts');
  if (resource !== undefined && urls.length > 1 && !resource.startsWith('/'))
    must('resource', 'a path such as /mcp beside several publicUrls');
  if (resource !== undefined && urls.length < 2 && originOf(resource) !== originOf(urls[0]))
    must('resource', 'a URL with the origin of publicUrl');
  if (jwksCooldownSeconds > jwksMaxAgeSeconds + jwksMaxStaleSeconds) mustBeValid('jwksCooldownSeconds', shortEnough);
  return conflicts;
}

const urlOfProofs = 'with DPoP, the URL at which clients reach the API, such as https://api.example.com';

const shortEnough: Partial<Wording> = {
  expected: ({ nameOf }) =>
    `at most ${nameOf('jwksMaxAgeSeconds')} + ${nameOf('jwksMaxStaleSeconds')}, because keys must be fetched again before they expire`,
};

const oneTenant: Partial<Wording> = {
  expected: 'the issuer of one tenant',
  advice: ({ areInCode, set }) =>
    `To accept several tenants, write {tenantid} instead of common, organizations, consumers or *, and list the tenants with ${set('requiredClaims', areInCode ? '{ tid: [...] }' : 'tid=TENANT_ID')}`,
};

/** The URL of a document that the issuer publishes below its identifier. */
const isDocument = (issuer: string) =>
  /\/\.well-known\/(?:openid-configuration|oauth-authorization-server|jwks(?:\.json)?)\/?$/.test(issuer);
const withoutDocument: Partial<Wording> = {
  fault: 'is the URL of metadata or of a key set, not an issuer',
  advice: ({ nameOf }) =>
    `Use the iss of a token, which usually is this URL up to /.well-known. The URL of a key set belongs in ${nameOf('jwksUri')}`,
};

/** Returns what to say of an issuer whose keys cannot be found by its name: first that it does not begin with https://. */
function describeUndiscoverable(issuer: string): Partial<Wording> {
  const anyName: Sentence = ({ areInCode, nameOf }) =>
    `With ${nameOf('jwksUri')}${areInCode ? ' or keys' : ''}, an issuer can have any other name`;
  if (/^https:/i.test(issuer)) return { advice: anyName };
  const http: Sentence = ({ set }) =>
    /^http:/i.test(issuer)
      ? `Plain http is allowed for loopback hosts, and with ${set('jwksAllowHttp', 'true')}. `
      : '';
  return { fault: 'must begin with https://', advice: (words) => say(http, words) + say(anyName, words) };
}

function describeOption({ name, ...wording }: OptionProblem, options: object): string {
  const value = memberOf(options, name);
  const { findFault, isSecret } = optionRules[name];
  const detail = findFault?.(value);
  const found = isSecret ? '***' : `${describeValue(value)}${detail === undefined ? '' : `: ${detail}`}`;
  return describeProblem(name, wording, value === undefined ? undefined : found, inCode);
}

function describeUnknownOption(name: string): string {
  if (name === 'optional')
    return 'optional is not an option: it is the second argument of resourceServer, or a requirement of check';
  return describeUnknown(name, optionNames);
}
