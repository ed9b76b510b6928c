import { isTemplate, withCommonTenant } from '../keys/tenants.ts';
import type { CheckedIssuer, CheckedOptions, FindIssuer, IssuerOptions, OwnName } from '../types.ts';
import { isPlainWord } from '../values/ascii.ts';
import { isJsonObject, type Members } from '../values/json.ts';
import { isSecureUrl } from '../values/url.ts';
import { describeValue } from './describe-value.ts';
import { type OptionRule, text } from './kinds.ts';
import { readMembers } from './members.ts';

/*
 * How the option `issuer` is read: a list of identifiers, and of issuers with their own options. Whether http is
 * allowed for an issuer is decided in check-options.ts, with the other options.
 */

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
const readIdentifier = (value: unknown) => (isIdentifier(value) ? value : undefined);

/** Whether metadata and keys of an issuer can be found by its identifier. Any other needs `jwksUri` or `keys`. */
export const isDiscoverable = (issuer: string, { jwksAllowHttp }: Pick<CheckedOptions, 'jwksAllowHttp'>) =>
  isUrl(withCommonTenant(issuer), jwksAllowHttp);

/** Returns how the option `issuer` is read. No issuer may be named twice, other than by equal strings. */
export function createIssuersReader(ownRules: Readonly<Record<OwnName, OptionRule>>) {
  const rules = { issuer: { ...text('such a URL'), read: readIdentifier }, ...ownRules };
  const readOwn = (entry: Members) => readMembers(rules, entry, ['issuer']);
  const readEntry = (entry: unknown): string | CheckedIssuer | undefined => {
    if (!isJsonObject(entry)) return readIdentifier(entry);
    const { values, fault } = readOwn(entry);
    return fault === undefined ? (values as unknown as CheckedIssuer) : undefined;
  };

  return {
    read(value: unknown) {
      if (typeof value === 'function') return value as FindIssuer;
      const given = new Set<unknown>(Array.isArray(value) ? value : [value]);
      const issuers = [...given].flatMap((entry) => readEntry(entry) ?? []);
      const identifiers = new Set(issuers.map(identifierOf));
      return given.size > 0 && identifiers.size === given.size ? issuers : undefined;
    },
    /** Returns which member of an issuer's object is not valid, or which issuer is named twice. It shows no objects. */
    findFault(value: unknown) {
      const entries: readonly unknown[] = Array.isArray(value) ? Array.from(value) : [];
      for (const [index, entry] of entries.entries()) {
        const { fault } = isJsonObject(entry) ? readOwn(entry) : {};
        if (fault !== undefined) return `issuer[${index}].${fault}`;
      }
      const identifiers = entries.map((entry) => (isJsonObject(entry) ? entry.issuer : entry));
      const twice = identifiers.find((each, index) => identifiers.indexOf(each) < index);
      const merge = 'is named twice. An issuer has one key set: merge several in the option fetch';
      return twice === undefined ? undefined : `${describeValue(twice)} ${merge}`;
    },
  };
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
      return [
        issuer,
        { ...own, requiredClaims: { ...own.requiredClaims, tid: tid.map((id) => String(id).toLowerCase()) } },
      ];
    }),
  );
}
