/** How much is tried: bounded for every build, or long on demand. `scripts/adversary.ts` sets these from its flags. */
const DEFAULT_TOKENS = 20_000;

/** Mutated tokens to try; the other properties take a share of it. */
export const tokens = Number(process.env.ADVERSARY_TOKENS ?? DEFAULT_TOKENS);

/** A run that failed is repeated with the seed it printed. */
export const seed = Number(process.env.ADVERSARY_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Bound on one property: generous for a slow machine, and never reached by one that works. */
export const propertyTimeoutMs = 60_000 + tokens * 10;
