import { isStringList, ownClaim } from '../token/claims.ts';

export interface ScopeRules {
  /** Claims that hold the scopes; the first that a token has decides. A name that begins with `/` is a JSON Pointer. */
  readonly scopeClaim: readonly string[];
  /** Only scopes with this prefix count, and they count without it. */
  readonly scopePrefix: string | undefined;
}

type Source = Readonly<Record<string, unknown>>;

/** Returns a function that checks whether claims grant all required scopes. */
export function createScopeCheck({ scopeClaim, scopePrefix = '' }: ScopeRules) {
  const readers = scopeClaim.map((name) => (name.startsWith('/') ? pointerReader(name) : nameReader(name)));

  return (claims: Source, required: readonly string[]): boolean => {
    let value: unknown;
    for (const read of readers) {
      value = read(claims);
      if (value !== undefined) break;
    }
    const granted = scopesIn(value);
    return required.every((scope) => granted.includes(scopePrefix + scope));
  };
}

/** RFC 6749 §3.3: text is a list separated by white space. In a list, each element is a scope. Anything else grants nothing. */
function scopesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(/\s+/);
  return isStringList(value) ? value : [];
}

const nameReader = (name: string) => (claims: Source) => ownClaim(claims, name);

/** RFC 6901 §4. Claims are JSON, so a present value is never undefined. */
function pointerReader(pointer: string) {
  const path = pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  return (claims: Source): unknown => {
    let value: unknown = claims;
    for (const token of path) {
      if (typeof value !== 'object' || value === null) return undefined;
      if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(token)) return undefined;
      value = ownClaim(value as Source, token);
    }
    return value;
  };
}
