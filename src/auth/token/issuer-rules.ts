import type { Algorithm } from '../jose/algorithms.ts';

/** An issuer with options of its own. Each replaces the guard's for the tokens of this issuer, and for no others. */
export interface IssuerOptions {
  /** Its identifier, as in the option `issuer`. */
  readonly issuer: string;
  readonly audience?: string | readonly string[] | undefined;
  readonly jwksUri?: string | undefined;
  /** A JWK Set to use instead of fetching one. Not together with `jwksUri`. */
  readonly keys?: { readonly keys: readonly object[] } | undefined;
  readonly algorithms?: readonly (Algorithm | 'Ed25519')[] | undefined;
  readonly requiredClaims?: Readonly<Record<string, string>> | undefined;
  readonly scopeClaim?: readonly string[] | undefined;
}

/** The names of the options that an issuer can have of its own. */
export const ownNames = ['audience', 'jwksUri', 'keys', 'algorithms', 'requiredClaims', 'scopeClaim'] as const;

export type OwnName = (typeof ownNames)[number];

/** An issuer whose options are checked: only those that it has. */
export interface CheckedIssuer extends Omit<IssuerOptions, 'audience' | 'algorithms'> {
  readonly audience?: readonly string[];
  readonly algorithms?: readonly Algorithm[];
}

export const identifierOf = (entry: string | CheckedIssuer) => (typeof entry === 'string' ? entry : entry.issuer);

/** Returns the options that apply to the tokens of each issuer, by issuer identifier. */
export function optionsByIssuer<Options extends { readonly issuer: readonly (string | CheckedIssuer)[] }>(
  options: Options,
): ReadonlyMap<string, Options & { readonly issuer: readonly string[] }> {
  return new Map(
    options.issuer.map((entry) => {
      const issuer = identifierOf(entry);
      return [issuer, { ...options, ...(typeof entry === 'object' && entry), issuer: [issuer] }];
    }),
  );
}
