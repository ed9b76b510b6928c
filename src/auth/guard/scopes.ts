import { type Refusal, refuse } from '../refusals.ts';
import { type Claims, isScope, isStringList, ownClaim } from '../token/claims.ts';

/** One scope; a list, all of which are required; or `anyOf`, one of which is required. */
export type FixedScope = string | readonly string[] | { readonly anyOf: readonly string[] };

export interface ScopeRules {
  /** Claims that hold the scopes; the first that a token has decides. A name that begins with `/` is a JSON Pointer. */
  readonly scopeClaim: readonly string[];
  /** Only scopes with this prefix count, and they count without it. */
  readonly scopePrefix: string | undefined;
  /** The narrower scopes that a scope grants. */
  readonly scopeImplies: Readonly<Record<string, readonly string[]>>;
}

export interface ScopeRequirement {
  /** What a challenge names: all that are required, or the first of `anyOf`. */
  readonly wanted: string | undefined;
  /** All scopes that are named, with the prefix. */
  readonly scopes: readonly string[];
  judge(claims: Claims): Refusal | undefined;
}

/**
 * Returns a function that validates a required scope.
 * @throws {TypeError} from that function: the value is not a scope, a list of scopes or `anyOf` with a list; empty lists are
 * mistakes unless `allowsNone` is given
 */
export function createScopeReader({ scopeClaim, scopePrefix = '', scopeImplies }: ScopeRules) {
  const readers = scopeClaim.map((name) => (name.startsWith('/') ? pointerReader(name) : nameReader(name)));
  const broaderThan = invert(scopeImplies);

  /** The scopes that a token grants. */
  function grantedBy(claims: Claims): readonly string[] {
    for (const read of readers) {
      const value = read(claims);
      if (value !== undefined) return scopesIn(value);
    }
    return [];
  }

  return (scope: unknown, allowsNone = false): ScopeRequirement => {
    const isAny = typeof scope === 'object' && scope !== null && 'anyOf' in scope;
    const listed: unknown = isAny ? scope.anyOf : typeof scope === 'string' ? [scope] : scope;
    if (!Array.isArray(listed) || !listed.every(isScope) || (listed.length === 0 && (isAny || !allowsNone)))
      throw new TypeError(
        'Cannot guard a route: scope must be a scope, a list of scopes, or anyOf with a list of scopes (RFC 6749 section 3.3)',
      );
    const scopes = listed.map((name) => scopePrefix + name);
    // Each scope with the broader ones that grant it.
    const sufficient = listed.map((name) => [name, ...(broaderThan.get(name) ?? [])].map((one) => scopePrefix + one));
    return {
      wanted: (isAny ? scopes[0] : scopes.join(' ')) || undefined,
      scopes,
      judge(claims) {
        const granted = grantedBy(claims);
        const isMet = (names: readonly string[]) => names.some((name) => granted.includes(name));
        const isGranted = isAny ? sufficient.some(isMet) : sufficient.every(isMet);
        return isGranted ? undefined : refuse('scope_insufficient');
      },
    };
  };
}

/** Returns, for each scope, the broader scopes that grant it, directly or through others. */
function invert(implies: ScopeRules['scopeImplies']): ReadonlyMap<string, ReadonlySet<string>> {
  const broader = new Map<string, Set<string>>();
  for (const start of Object.keys(implies)) {
    const reached = new Set([start]);
    for (const scope of reached) for (const narrower of ownScopes(implies, scope)) reached.add(narrower);
    for (const scope of reached) broader.set(scope, (broader.get(scope) ?? new Set()).add(start));
  }
  return broader;
}

const ownScopes = (implies: ScopeRules['scopeImplies'], scope: string) =>
  (Object.hasOwn(implies, scope) && implies[scope]) || [];

/** RFC 6749 §3.3: text is a list separated by white space. In a list, each element is a scope. Anything else grants nothing. */
function scopesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(/\s+/);
  return isStringList(value) ? value : [];
}

const nameReader = (name: string) => (claims: Claims) => ownClaim(claims, name);

/** RFC 6901 §4. Claims are JSON, so a present value is never undefined. */
function pointerReader(pointer: string) {
  const path = pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  return (claims: Claims): unknown => {
    let value: unknown = claims;
    for (const token of path) {
      if (typeof value !== 'object' || value === null) return undefined;
      if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(token)) return undefined;
      value = ownClaim(value as Readonly<Record<string, unknown>>, token);
    }
    return value;
  };
}
