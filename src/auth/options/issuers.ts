import { isTemplate, withCommonTenant } from '../keys/tenants.ts';
import type { CheckedIssuer, CheckedOptions, FindIssuer, IssuerOptions, OwnName } from '../types.ts';
import { describeValue, quote } from '../values/describe-value.ts';
import { isJsonObject, namesIn } from '../values/json.ts';
import type { OptionRule } from '../values/option-kinds.ts';
import { isPlainWord } from '../values/text.ts';
import { isSecureUrl } from '../values/url.ts';

/*
 * How the option `issuer` is read: a list of identifiers, and of issuers with their own options. Whether http is
 * allowed for an issuer is decided in check-options.ts, with the other options.
 */

type OwnRules = Readonly<Record<OwnName, OptionRule>>;

/** Whether a value is a URL without query. */
export const isUrl = (value: string, allowHttp = false) => isSecureUrl(value, allowHttp) && !value.includes('?');

/** Longer issuers are not accepted, so that a token cannot make the guard remember more. */
const maxIssuerLength = 512;

/**
 * Whether a value can be an issuer. `iss` is only compared with it, so it may be a name, or a URL that nobody fetches,
 * such as `http://adfs.example.com/adfs/services/trust`.
 */
const isIdentifier = (value: unknown): value is string =>
  isPlainWord(value) && value.length <= maxIssuerLength && !isTemplate(withCommonTenant(value));

/** Whether metadata and keys of an issuer can be found by its identifier. Any other needs `jwksUri` or `keys`. */
export const isDiscoverable = (issuer: string, { jwksAllowHttp }: Pick<CheckedOptions, 'jwksAllowHttp'>) =>
  isUrl(withCommonTenant(issuer), jwksAllowHttp);

/** Returns a function that reads the option `issuer`. No issuer may be named twice, other than by equal strings. */
export const createIssuersReader = (rules: OwnRules) => (value: unknown) => {
  if (typeof value === 'function') return value as FindIssuer;
  const given = new Set<unknown>(Array.isArray(value) ? value : [value]);
  const issuers = [...given].flatMap((entry) => readIssuer(entry, rules) ?? []);
  const identifiers = new Set(issuers.map(identifierOf));
  return given.size > 0 && identifiers.size === given.size ? issuers : undefined;
};

function readIssuer(value: unknown, rules: OwnRules): string | CheckedIssuer | undefined {
  if (!isJsonObject(value)) return isIdentifier(value) ? value : undefined;
  const own: Record<string, unknown> = {};
  // Options may be getters of a class, which are not enumerable.
  for (const name of new Set(['issuer', ...Object.keys(rules), ...namesIn(value)])) {
    const rule = Object.hasOwn(rules, name) ? rules[name as OwnName] : undefined;
    const { [name]: given } = value;
    if (name === 'issuer') own.issuer = isIdentifier(given) ? given : undefined;
    else if (given !== undefined || !rule) own[name] = rule?.read(given);
  }
  const isValid = own.issuer !== undefined && !Object.values(own).includes(undefined);
  return isValid ? (own as unknown as CheckedIssuer) : undefined;
}

/** Returns a function that says which member of an issuer's object is not valid. It shows no objects. */
export const createFaultFinder = (rules: OwnRules) => (value: unknown) => {
  const entries: readonly unknown[] = Array.isArray(value) ? Array.from(value) : [];
  const faults = entries.flatMap((entry, index) =>
    isJsonObject(entry) && readIssuer(entry, rules) === undefined
      ? describeOwnFault(entry, `issuer[${index}]`, rules)
      : [],
  );
  const identifiers = entries.map((entry) => (isJsonObject(entry) ? entry.issuer : entry));
  const twice = identifiers.find((each, index) => identifiers.indexOf(each) < index);
  const merge = 'is named twice. An issuer has one key set: merge several in the option fetch';
  return faults[0] ?? (twice === undefined ? undefined : `${describeValue(twice)} ${merge}`);
};

function describeOwnFault(entry: Readonly<Record<string, unknown>>, place: string, rules: OwnRules): string {
  const known = ['issuer', ...Object.keys(rules)];
  const unknown = namesIn(entry).find((name) => !known.includes(name));
  if (unknown !== undefined) return `${place} has an unknown member ${quote(unknown)}`;
  const { issuer } = entry;
  if (!isIdentifier(issuer)) return `${place}.issuer must be such a URL, got ${describeValue(issuer)}`;
  const wrong = Object.entries(rules).find(([name, { read }]) => entry[name] !== undefined && !read(entry[name]));
  if (wrong === undefined) return `${place} is not valid`;
  const [name, { expected, expectedInCode = expected }] = wrong;
  return `${place}.${name} must be ${expectedInCode}, got ${describeValue(entry[name])}`;
}

/** Whether a token can have this `iss`, as far as its form tells. */
export const canBeIssuer = (iss: unknown): iss is string => isIdentifier(iss) && !isTemplate(iss) && !hasNoTenant(iss);

/**
 * Whether an issuer has, in place of its tenant, a word of Entra for many tenants, or a star. No token has such an
 * `iss`. Other servers may have a path of these words.
 */
export const hasNoTenant = (issuer: string) =>
  /\/(?:common|organizations|consumers)\/v2\.0\/?$|\/\*(?:\/|$)/.test(issuer) ||
  /^https:\/\/(?:sts\.windows\.net|login\.microsoftonline\.\w+)\/(?:common|organizations|consumers)(?:\/|$)/.test(
    issuer,
  );

export const identifierOf = (entry: string | IssuerOptions | CheckedIssuer) =>
  typeof entry === 'string' ? entry : entry.issuer;

/** Returns the issuers that are listed: none if a function looks them up. */
export const listedIssuers = ({ issuer }: Pick<CheckedOptions, 'issuer'>) =>
  typeof issuer === 'function' ? [] : issuer;

/** Returns the options that apply to the tokens of each listed issuer, by issuer identifier. */
export function optionsByIssuer<
  Options extends Partial<Pick<CheckedOptions, 'requiredClaims'>> & Pick<CheckedOptions, 'issuer'>,
>(options: Options): ReadonlyMap<string, Options> {
  return new Map(
    listedIssuers(options).map((entry) => {
      const issuer = identifierOf(entry);
      const own = { ...options, ...(typeof entry === 'object' && entry), issuer: [issuer] };
      const { tid } = own.requiredClaims ?? {};
      if (!isTemplate(issuer) || tid === undefined) return [issuer, own];
      // Entra writes tenant IDs in lower case.
      return [issuer, { ...own, requiredClaims: { ...own.requiredClaims, tid: tid.map((id) => id.toLowerCase()) } }];
    }),
  );
}
