import fc from 'fast-check';

/** The number of mutated tokens: bounded in every build, more on demand. The other properties try a part of that number. */
export const tokens = Number(process.env.ADVERSARY_TOKENS ?? 6000);

// Every build tries the same inputs, so that only a change can make it fail. At night the seed is random. fast-check prints it.
const isRandom = process.env.ADVERSARY_RANDOM === 'true';
fc.configureGlobal({
  ...(!isRandom && { seed: 1 }),
  ...(process.env.ADVERSARY_SEED && { seed: Number(process.env.ADVERSARY_SEED) }),
});

/** Bound on one property: generous for a slow machine, and never reached by one that works. */
export const propertyTimeoutMs = 120_000 + tokens * 20;
