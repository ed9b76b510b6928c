/**
 * Returns a function that returns a random whole number below its argument: the same ones for the same seed in every
 * runtime.
 */
export function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
