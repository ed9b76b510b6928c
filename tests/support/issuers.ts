import type { Algorithm } from '../../src/auth/jose/algorithms.ts';
import { RefreshingKeySet } from '../../src/auth/keys/refreshing-key-set.ts';
import { Refusal } from '../../src/auth/refusals.ts';
import { createVerifier, type VerifierOptions } from '../../src/auth/token/verifier.ts';
import { createFrozenClock } from './frozen-clock.ts';
import { AUDIENCE, mintToken, SIGNING_KID, type TokenOverrides } from './mint.ts';
import { signAs, signingKey } from './signatures.ts';

export const COOLDOWN_MS = 30_000;
/** Also how long keys stay trusted after that age. */
export const MAX_AGE_MS = 600_000;

interface IssuerState {
  /** The key set from the next fetch on, or the error with which fetches fail. */
  keys: readonly unknown[] | Error;
  fetches: number;
}

export type Issuers = ReturnType<typeof createIssuers>;

/** Returns a verifier of tokens of these issuers, each with its own keys, which are fetched on first use. */
export function createIssuers(
  keys: Readonly<Record<string, IssuerState['keys']>>,
  algorithms: readonly Algorithm[] = ['RS256'],
  options: Partial<VerifierOptions> = {},
) {
  const clock = createFrozenClock();
  const named = Object.entries(keys).map(([name, keys]): [string, IssuerState] => [name, { keys, fetches: 0 }]);
  const keySetOf = (issuer: string, state: IssuerState) =>
    new RefreshingKeySet({
      issuer,
      async source() {
        state.fetches += 1;
        if (state.keys instanceof Error) throw state.keys;
        return { url: issuer, json: { keys: state.keys } };
      },
      algorithms,
      maxAgeMs: MAX_AGE_MS,
      maxStaleMs: MAX_AGE_MS,
      cooldownMs: COOLDOWN_MS,
      timeoutMs: 5_000,
      clock,
      random: () => 0,
    });
  const verifier = createVerifier({
    issuer: Object.keys(keys),
    audience: [AUDIENCE],
    audienceClaim: 'aud',
    requiredClaims: {},
    clockToleranceSeconds: 0,
    algorithms,
    keySets: new Map(named.map(([name, state]) => [name, keySetOf(name, state)])),
    tokenCacheSize: 100,
    ...options,
  });
  return {
    clock,
    states: Object.fromEntries(named),
    async verify(token: string): Promise<string> {
      const verdict = await verifier.verify(token);
      return verdict instanceof Refusal ? verdict.reason : 'accepted';
    },
    verifier,
  };
}

export interface SignedBy {
  readonly alg?: string;
  readonly kid?: string;
  /** Name of the key; the algorithm of the signature decides its kind. */
  readonly signer?: string;
  /** The algorithm of the signature, when it is not the header's. */
  readonly signature?: string;
  readonly overrides?: TokenOverrides;
}

/** Returns a token of `issuer` with a real signature of any algorithm. */
export function mintSigned(
  issuer: string,
  { alg = 'RS256', kid = SIGNING_KID, signer = kid, signature = alg, overrides }: SignedBy = {},
): string {
  return mintToken(issuer, {
    signWith: (input) => signAs(signature, signingKey(signature, signer), input),
    ...overrides,
    header: { alg, kid, ...overrides?.header },
  });
}
