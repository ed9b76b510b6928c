/** Returns a value of a token as text. It is not escaped. */
export function show(value: unknown): string {
  if (value === undefined) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export const list = (values: readonly string[]) => values.join(', ');

export const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** Returns a time of a token in words: `in 23 hours`, `2 minutes ago`. */
export function showTime(value: unknown, nowSeconds: number): string {
  if (typeof value !== 'number' || !Number.isFinite(value)) return show(value);
  const seconds = Math.trunc(value - nowSeconds);
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  return new Intl.RelativeTimeFormat('en').format(Math.trunc(seconds / size), unit);
}
