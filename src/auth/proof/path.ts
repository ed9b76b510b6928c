/**
 * Returns the path of an absolute http or https URL as it was sent, percent-encoding included. Returns undefined for any other
 * URL: with an invalid or missing Host, `request.url` on Bun is a bare path, in which frameworks find another path.
 */
export function pathOf(url: string): string | undefined {
  const [, path] = /^https?:\/\/[^/?#]+([^?#]*)/i.exec(url) ?? [];
  return path === '' ? '/' : path;
}
