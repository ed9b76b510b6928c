import { mean, probit, sampleVariance } from 'simple-statistics';

/** Two samples compared: how far their means are apart, and how sure that is. */
export interface Comparison {
  /** Mean of the second less mean of the first, in microseconds. */
  readonly differenceUs: number;
  /** Half the width of the 99.9 % confidence interval of that difference. */
  readonly halfWidthUs: number;
  /** Welch's t. */
  readonly t: number;
}

/** Two-sided 99.9 % of the normal distribution, which Welch's t is indistinguishable from at thousands of samples. */
const Z_99_9 = probit(0.9995);

/**
 * Returns the samples less their slowest twentieth: a garbage collection or another process makes a few samples a thousand times
 * slower, which says nothing of the code. The same share is taken from both sides, so that a leak is not taken away with it.
 */
function withoutOutliers(samples: readonly number[]): number[] {
  return samples.toSorted((a, b) => a - b).slice(0, Math.ceil(samples.length * 0.95));
}

/** Compares two samples of times in microseconds by Welch's t-test, after the slowest twentieth of each is left out. */
export function compare(first: readonly number[], second: readonly number[]): Comparison {
  const [a, b] = [withoutOutliers(first), withoutOutliers(second)];
  const error = Math.sqrt(sampleVariance(a) / a.length + sampleVariance(b) / b.length);
  const differenceUs = mean(b) - mean(a);
  return { differenceUs, halfWidthUs: Z_99_9 * error, t: differenceUs / error };
}

/**
 * Times two actions in turn, the order within each pair drawn by lot, so that whatever slows the machine slows both alike; the first
 * tenth only warms up. Returns microseconds.
 */
export async function interleave(
  pairs: number,
  first: (at: number) => unknown,
  second: (at: number) => unknown,
): Promise<readonly [readonly number[], readonly number[]]> {
  const samples: [number[], number[]] = [[], []];
  const warmUp = Math.ceil(pairs / 10);
  for (let at = -warmUp; at < pairs; at += 1) {
    const order = Math.random() < 0.5 ? [0, 1] : [1, 0];
    for (const which of order) {
      const startedAt = Bun.nanoseconds();
      await (which === 0 ? first : second)(at + warmUp);
      const tookUs = (Bun.nanoseconds() - startedAt) / 1000;
      if (at >= 0) samples[which === 0 ? 0 : 1].push(tookUs);
    }
  }
  return samples;
}
