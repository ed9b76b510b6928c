import { isJsonObject, namesIn } from './jose/encoding.ts';
import { isSecureUrl, printable } from './keys/url.ts';
import type { OptionRule } from './option-kinds.ts';
import { anHttpsUrl, optionRules } from './options.ts';
import { type IssuerOptions, identifierOf, optionsByIssuer } from './token/issuer-rules.ts';

type Rules = typeof optionRules;
type CheckedOf<Rule> = Rule extends OptionRule<infer Checked, infer _> ? Checked : never;
type GivenOf<Rule> = Rule extends OptionRule<infer _, infer Given> ? Given : never;
type RequiredName = 'issuer' | 'audience';

/** The options of a guard. Lists are arrays; `issuer` and `audience` also take one string. */
export type GuardOptions = { readonly [Name in keyof Pick<Rules, RequiredName>]: GivenOf<Rules[Name]> } & {
  readonly [Name in keyof Omit<Rules, RequiredName>]?: GivenOf<Rules[Name]> | undefined;
};

/** The `issuer` of a guard that needs no `audience`, because each issuer has its own. */
export interface IssuersWithAudience {
  readonly issuer: readonly (IssuerOptions & Pick<GuardOptions, 'audience'>)[];
  readonly audience?: undefined;
}

/** The options, validated and with defaults. */
export type CheckedOptions = {
  readonly [Name in keyof Rules]: Name extends RequiredName
    ? CheckedOf<Rules[Name]>
    : Rules[Name] extends { readonly fallback: unknown }
      ? CheckedOf<Rules[Name]>
      : CheckedOf<Rules[Name]> | undefined;
};

export type OptionName = keyof Rules;

/** An option that is not valid, and what it must be. */
export interface OptionProblem {
  readonly name: string;
  readonly expected: string;
}

/** Other options have a default, or are optional. */
export const isRequired = (name: string) => name === 'issuer' || name === 'audience';

/**
 * Validates the options.
 * @throws {TypeError} an option is missing, mistyped, out of range or unknown, or does not fit others; the message names each
 */
export function checkOptions(options: GuardOptions): CheckedOptions {
  if (!isJsonObject(options)) throw new TypeError('Cannot create a guard: options are missing');
  const { checked, problems } = readOptions(options);
  const unknown = namesIn(options).filter((name) => !Object.hasOwn(optionRules, name));
  const lines = [
    ...problems.map(({ name, expected }) => `  ${name} must be ${expected}, got ${describeOption(options, name)}`),
    ...unknown.map((name) => `  ${name} is not an option`),
  ];
  if (lines.length === 0) return checked;
  throw new TypeError(`Cannot create a guard:\n${lines.join('\n')}`);
}

/** Returns the checked options, with the default for each option that is not valid, and all problems. */
export function readOptions(given: Readonly<Record<string, unknown>>) {
  const { checked, problems: found } = readRules(optionRules, given);
  const issuer = (checked.issuer ?? []) as CheckedOptions['issuer'];
  // Checked options can be checked again. Their `audience` is then an empty list.
  const { audience = [] } = given;
  const hasNone = Array.isArray(audience) && audience.length === 0;
  const hasOwn = issuer.length > 0 && issuer.every((entry) => typeof entry === 'object' && entry.audience);
  const problems = found.filter(({ name }) => name !== 'audience' || !hasNone || !hasOwn);
  const options = { ...checked, issuer, audience: checked.audience ?? [] } as CheckedOptions;
  // Only the first mistake of each option.
  for (const conflict of findConflicts(options))
    if (!problems.some(({ name }) => name === conflict.name)) problems.push(conflict);
  return { checked: Object.freeze({ ...options, publicUrl: options.publicUrl?.replace(/\/$/, '') }), problems };
}

/** Returns the checked values, and a problem for each that is not valid or missing. */
export function readRules(rules: Readonly<Record<string, OptionRule>>, given: Readonly<Record<string, unknown>>) {
  const problems: OptionProblem[] = [];
  const checked: Record<string, unknown> = {};
  for (const [name, rule] of Object.entries(rules)) {
    // Read once, because it may be a getter.
    const { [name]: value } = given;
    const read = value === undefined ? undefined : rule.read(value);
    if (read === undefined && (value !== undefined || isRequired(name)))
      problems.push({ name, expected: rule.expected });
    checked[name] = read ?? rule.fallback;
  }
  return { checked, problems };
}

/** Returns the options that are not allowed in combination with others. */
function findConflicts(options: CheckedOptions): readonly OptionProblem[] {
  const { issuer, jwksUri, jwksAllowHttp, keys, dpop, publicUrl, resource } = options;
  const conflicts: OptionProblem[] = [];
  const must = (name: OptionName, expected: string) => conflicts.push({ name, expected });
  const isAllowed = (url: string) => isSecureUrl(url, jwksAllowHttp);
  const uris = issuer.flatMap((entry) => (typeof entry === 'object' ? (entry.jwksUri ?? []) : []));
  if (![...issuer.map(identifierOf), ...uris].every(isAllowed)) must('issuer', optionRules.issuer.expected);
  if (jwksUri !== undefined && !isAllowed(jwksUri)) must('jwksUri', optionRules.jwksUri.expected);
  if (jwksUri !== undefined && issuer.length > 1) must('jwksUri', 'unset when there are several issuers');
  if (keys !== undefined && issuer.length > 1) must('keys', 'unset when there are several issuers');
  const all = [options, ...optionsByIssuer(options).values()];
  if (all.some((each) => each.keys !== undefined && each.jwksUri !== undefined))
    must('keys', 'unset when jwksUri is set');
  if (dpop !== 'off' && publicUrl === undefined) must('publicUrl', `${anHttpsUrl}, which DPoP requires`);
  if (resource !== undefined && (publicUrl === undefined || new URL(resource).origin !== new URL(publicUrl).origin))
    must('resource', 'a URL with the origin of publicUrl');
  return conflicts;
}

/** Quotes a value for a message: without credentials, query and fragment, at most 256 characters, all but printable ASCII escaped. */
export function quote(value: string): string {
  const shown = value.replace(/^.*@/s, '***@').replace(/([?#]).*/s, '$1***');
  return `"${printable(JSON.stringify(shown).slice(1, -1))}"`;
}

/** Describes a value for the programmer who gave it. Objects may hold secrets, so only their type is named. */
function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  return `a value of the type ${typeof value}`;
}

function describeOption(options: GuardOptions, name: string): string {
  const value: unknown = (options as Readonly<Record<string, unknown>>)[name];
  return Array.isArray(value) ? `[${Array.from(value, describe).join(', ').slice(0, 100)}]` : describe(value);
}
