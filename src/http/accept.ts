/**
 * Returns the quality, 0 to 1, that an Accept or Accept-Encoding header gives to the most specific range that includes
 * `value` (RFC 9110 §12.4.2). A missing header scores 0.
 */
export function qualityOf(header: string | null, value: string): number {
  const ranges = new Map(
    (header ?? '').split(',').map((range) => {
      const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
      const quality = parameters.find((parameter) => parameter.startsWith('q='));
      return [name, quality === undefined ? 1 : Number(quality.slice('q='.length))];
    }),
  );
  const mostSpecific = [value, value.replace(/\/.*/, '/*'), '*/*', '*'].find((range) => ranges.has(range));
  return (mostSpecific !== undefined && ranges.get(mostSpecific)) || 0;
}
