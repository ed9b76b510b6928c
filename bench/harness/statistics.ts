/** Returns the value below which this share of the values is. NaN for an empty list. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

/** Returns the middle value, or the mean of the two in the middle. NaN for an empty list. */
export function median(values: readonly number[]): number {
  const upper = quantile(values, 0.5);
  return values.length % 2 === 1 ? upper : (upper + quantile(values, 0.5 - 0.5 / values.length)) / 2;
}

export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export const summarize = (values: readonly number[]): Summary => ({
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values),
});

/** Divides value by value: ratios are computed within a round, because the speed of the machine changes between rounds. */
export const ratios = (values: readonly number[], bases: readonly number[]): number[] =>
  values.flatMap((value, round) => {
    const base = bases[round];
    return base === undefined ? [] : [value / base];
  });

/** How far ratios of two identical servers are from 1 at most, as a factor of at least 1; NaN when nothing was measured. */
export const spreadFactor = (all: readonly number[]): number =>
  all.length === 0 ? Number.NaN : Math.max(...all.map((ratio) => Math.max(ratio, 1 / ratio)));
