/**
 * Returns how much a client wants `value`, 0 to 1: the quality that an Accept or Accept-Encoding header gives the most
 * specific range that `value` is in (RFC 9110 §12.4.2). Nothing is wanted by who says nothing.
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
