import type { KeySet } from '../keys/key-set.ts';
import { createIssuerLookup } from '../keys/tenants.ts';
import { type Rejected, rejectFor } from '../rejections.ts';
import type { Algorithm, CheckedOptions } from '../types.ts';
import { type ClaimRules, type ClaimsCheck, createClaimsChecks } from './claims.ts';

/*
 * Which issuer a token is verified for: its keys, its algorithms and the rules for its claims. A token of one issuer is
 * never checked by the keys or rules of another.
 */

/** What tokens of one issuer are verified with. */
export interface Trust {
  readonly keys: Pick<KeySet, 'find' | 'findOthers' | 'isCurrent' | 'use'>;
  readonly rules: ClaimRules & Pick<CheckedOptions, 'algorithms' | 'scopeClaim' | 'introspect'>;
  /** The checks of their claims, by these rules. */
  readonly checks: readonly ClaimsCheck[];
  /** Called with each token of this issuer that was introspected, as `keys.use` is with each that was verified. */
  readonly keep?: () => void;
}

/** The issuers of a guard. */
export interface Trusts {
  /** The algorithms of all issuers. */
  readonly algorithms: readonly Algorithm[];
  /** The issuer of all tokens, if there is one only: its tokens need no look at `iss` before their signature. */
  readonly sole: Trust | undefined;
  /** The issuer of all tokens that are not JWTs: the only one, or that with a function `introspect` of its own. */
  readonly introspected: Trust | undefined;
  /** Returns what tokens with this `iss` are verified with, or why nothing. A template can fit it. */
  of(issuer: unknown): Trust | Rejected | Promise<Trust | Rejected>;
}

/** The issuers that a guard knows in advance. */
export type ListedTrusts = ReturnType<typeof createTrusts>;

/** @param issuers the rules for each issuer, by its identifier, as `keySets` are its keys */
export function createTrusts(
  issuers: ReadonlyMap<string, Omit<Trust['rules'], 'issuer'>>,
  keySets: ReadonlyMap<string, Trust['keys']>,
) {
  const trusts = new Map<string, Trust>();
  for (const [issuer, own] of issuers) {
    const keys = keySets.get(issuer);
    const rules = { ...own, issuer };
    if (keys) trusts.set(issuer, { keys, rules, checks: createClaimsChecks(rules) });
  }
  const find = createIssuerLookup(trusts);
  const unknown = rejectFor('issuer_mismatch', { issuer: [...trusts.keys()] });
  const all = [...trusts.values()];
  // The function of a guard is in the rules of each issuer.
  const introspected = all.filter(({ rules }) => rules.introspect);
  return {
    algorithms: [...new Set(all.flatMap(({ rules }) => rules.algorithms))],
    sole: all.length === 1 ? all[0] : undefined,
    introspected: introspected.length === 1 ? introspected[0] : undefined,
    of: (issuer: unknown) => find(issuer) ?? unknown,
  };
}
