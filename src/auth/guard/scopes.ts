import { createIssuerLookup } from '../keys/tenants.ts';
import { describeValue, quote } from '../options/describe-value.ts';
import { listedIssuers, optionsByIssuer } from '../options/issuers.ts';
import { claimReader, claimsCheck, isStringList } from '../token/claims.ts';
import type { CheckedIssuer, CheckedOptions, Claims } from '../types.ts';
import { isPlainWord, printable } from '../values/ascii.ts';
import { hasMember, isJsonObject, isListOf, namesIn } from '../values/json.ts';

/** The options that decide which scopes a token grants. An issuer can have its own `scopeClaim`. */
export type ScopeRules = Pick<
  CheckedOptions,
  'issuer' | 'scopeClaim' | 'scopePrefix' | 'scopeRequestPrefix' | 'scopeImplies'
> & {
  /** Returns the rules of an issuer that a function has looked up, while it is kept. */
  readonly rulesOf?: ((iss: string) => Pick<CheckedOptions, 'scopeClaim'> | undefined) | undefined;
};

/** Returns the error for a requirement that is not valid, of a route if it is known. */
export const requirementError = (problem: string, route?: string): TypeError =>
  new TypeError(`Cannot read requirements${route === undefined ? '' : ` of ${route}`}: ${problem}`);

/** Returns a function that lists the scopes that a token grants, implied ones included, without the prefix. */
export function createGrantReader(rules: ScopeRules) {
  const { rulesOf, scopeClaim, scopePrefix = '', scopeImplies } = rules;
  const readersOf = (names: readonly string[]) => names.map(claimReader);
  const readers = readersOf(scopeClaim);
  const isOwn = (each: string | CheckedIssuer) => typeof each === 'object' && each.scopeClaim !== undefined;
  const hasOwn = rulesOf !== undefined || listedIssuers(rules).some(isOwn);
  const own = [...optionsByIssuer(rules)].map(([name, each]) => [name, readersOf(each.scopeClaim)] as const);
  // An issuer that is no longer kept grants nothing.
  const ownOf = rulesOf ? (iss: string) => readersOf(rulesOf(iss)?.scopeClaim ?? []) : createIssuerLookup(new Map(own));
  const implied = impliedBy(scopeImplies);

  const isPrefixed = (name: string) => name.startsWith(scopePrefix);

  function namedBy(claims: Claims): readonly string[] {
    for (const read of (hasOwn && ownOf(claims.iss)) || readers) {
      const value = read(claims);
      if (!isEmpty(value)) return scopesIn(value);
    }
    return [];
  }

  return (claims: Claims): readonly string[] => {
    let scopes = namedBy(claims);
    if (scopePrefix !== '') scopes = scopes.filter(isPrefixed).map((name) => name.slice(scopePrefix.length));
    return implied.size === 0 ? scopes : scopes.flatMap((name) => [...(implied.get(name) ?? [name])]);
  };
}

/**
 * Returns a function that validates a required scope.
 * @throws {TypeError} from that function: the value is not a scope, a list of scopes or `anyOf` with a list; empty
 * lists are mistakes unless `allowsNone` is given
 */
export function createScopeReader(rules: ScopeRules, grantedBy: ReturnType<typeof createGrantReader>) {
  const { scopePrefix = '', scopeRequestPrefix = scopePrefix } = rules;

  return (scope: unknown, route?: string, allowsNone = false) => {
    const isAny = isJsonObject(scope) && hasMember(scope, 'anyOf');
    const other = isAny ? namesIn(scope).find((name) => name !== 'anyOf') : undefined;
    if (other !== undefined)
      throw requirementError(
        `${other} is not a member of scope. Write { anyOf: [...] }, or a list to require all`,
        route,
      );
    const listed = isAny ? scope.anyOf : typeof scope === 'string' ? [scope] : scope;
    if (!isListOf(listed, isPlainWord) || (listed.length === 0 && (isAny || !allowsNone)))
      throw requirementError(problemOf(scope, listed), route);
    const names = [...listed];
    const scopes = names.map((name) => scopeRequestPrefix + name);
    return {
      /** What a challenge names: all that are required, or the first of `anyOf`. */
      named: (isAny ? scopes[0] : scopes.join(' ')) || undefined,
      alternatives: isAny ? scopes.map((one) => [one]) : [scopes],
      check: claimsCheck('scope_insufficient', isAny ? { anyOf: names } : { scope: names }, (claims: Claims) => {
        const granted = grantedBy(claims);
        const isGranted = (name: string) => granted.includes(name);
        return isAny ? names.some(isGranted) : names.every(isGranted);
      }),
    };
  };
}

/** Returns what is wrong with a required scope, and what to write instead. */
function problemOf(scope: unknown, listed: unknown): string {
  const members: readonly unknown[] = Array.isArray(listed) ? Array.from(listed) : [listed];
  if (members.length === 0) return 'scope is an empty list. To require no scope, leave it out';
  const wrong = members.find((member) => !isPlainWord(member));
  if (typeof wrong !== 'string') {
    const found = scope === listed ? describeValue(scope) : `{ anyOf: ${describeValue(listed)} }`;
    return `scope must be a string, a list of strings or { anyOf: [...] }, got ${found}`;
  }
  const separate = wrong.split(' ');
  const list = printable(`[${separate.map((name) => `'${name}'`).join(', ')}]`);
  return separate.length > 1 && separate.every(isPlainWord)
    ? `scope ${quote(wrong)} is not a single scope. Write ${list} to require all, or { anyOf: ${list} } to require one`
    : `scope ${quote(wrong)} is not valid: a scope is printable ASCII without spaces, quotes or backslashes`;
}

/** Returns, for each scope that implies others, all that it grants, directly or through others, and itself. */
function impliedBy(implies: ScopeRules['scopeImplies']): ReadonlyMap<string, ReadonlySet<string>> {
  const direct = new Map(Object.entries(implies));
  const all = [...direct.keys()].map((start) => {
    const reached = new Set([start]);
    for (const scope of reached) for (const narrower of direct.get(scope) ?? []) reached.add(narrower);
    return [start, reached] as const;
  });
  return new Map(all);
}

/**
 * Text is a list separated by ASCII white space (RFC 6749 §3.3 allows only the space); of a list, each element is a
 * scope. Anything else grants nothing.
 */
function scopesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(/[ \t\n\v\f\r]+/);
  return isStringList(value) ? value : [];
}

/** Whether a claim is missing, or holds nothing, as issuers write it that have the scopes elsewhere. */
const isEmpty = (value: unknown) =>
  value === undefined || value === null || (Array.isArray(value) ? value.length === 0 : value === '');
