import { withCommonTenant } from '../keys/tenants.ts';
import type { CheckedIssuer, IssuerOptions, OwnName } from '../types.ts';
import { isJsonObject, isText, namesIn } from '../values/json.ts';
import { isSecureUrl } from '../values/url.ts';
import type { OptionRule } from './kinds.ts';

/*
 * How the option `issuer` is read: a list of identifiers, and of issuers with options of their own.
 * Whether http is allowed for an issuer is decided in check-options.ts, with the other options.
 */

type OwnRules = Readonly<Record<OwnName, OptionRule>>;

/** An issuer identifier is a URL without query. */
export const isUrl = (value: string, allowHttp = false) => isSecureUrl(value, allowHttp) && !value.includes('?');

/** Returns a function that reads the issuers. None may be named twice, other than by equal strings. */
export const createIssuersReader = (rules: OwnRules) => (value: unknown) => {
  const given = new Set<unknown>(Array.isArray(value) ? value : [value]);
  const issuers = [...given].flatMap((entry) => readIssuer(entry, rules) ?? []);
  const identifiers = new Set(issuers.map(identifierOf));
  return given.size > 0 && identifiers.size === given.size ? issuers : undefined;
};

function readIssuer(value: unknown, rules: OwnRules): string | CheckedIssuer | undefined {
  if (!isJsonObject(value)) return isText(value) && isUrl(withCommonTenant(value), true) ? value : undefined;
  const own: Record<string, unknown> = {};
  // Options may be getters of a class, which are not enumerable.
  for (const name of new Set(['issuer', ...Object.keys(rules), ...namesIn(value)])) {
    const rule = Object.hasOwn(rules, name) ? rules[name as OwnName] : undefined;
    const { [name]: given } = value;
    if (name === 'issuer' && typeof given === 'string') own.issuer = readIssuer(given, rules);
    else if (given !== undefined || !rule) own[name] = rule?.read(given);
  }
  const isValid = own.issuer !== undefined && !Object.values(own).includes(undefined);
  return isValid ? (own as unknown as CheckedIssuer) : undefined;
}

/**
 * Whether an issuer has, in place of its tenant, a word of Entra for many tenants, or a star. No token has such an `iss`. Other
 * servers may have a path of these words.
 */
export const hasNoTenant = (issuer: string) =>
  /\/(?:common|organizations|consumers)\/v2\.0\/?$|\/\*(?:\/|$)/.test(issuer) ||
  /^https:\/\/(?:sts\.windows\.net|login\.microsoftonline\.\w+)\/(?:common|organizations|consumers)(?:\/|$)/.test(
    issuer,
  );

export const identifierOf = (entry: string | IssuerOptions | CheckedIssuer) =>
  typeof entry === 'string' ? entry : entry.issuer;

/** Returns the options that apply to the tokens of each issuer, by issuer identifier. */
export function optionsByIssuer<Options extends { readonly issuer: readonly (string | CheckedIssuer)[] }>(
  options: Options,
): ReadonlyMap<string, Options> {
  return new Map(
    options.issuer.map((entry) => [
      identifierOf(entry),
      { ...options, ...(typeof entry === 'object' && entry), issuer: [identifierOf(entry)] },
    ]),
  );
}
