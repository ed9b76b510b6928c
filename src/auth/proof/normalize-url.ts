const httpUrl = /^(https?):\/\/([^/?#]+)([^?#]*)/i;

/**
 * Returns the normalized form of an http or https URL (RFC 3986 §6.2.2 and §6.2.3) without query and fragment, or undefined
 * for anything else. `URL` is not used, because it treats URLs as equal that RFC 3986 distinguishes, such as those with a
 * backslash and a slash.
 */
export function normalizeUrl(url: string): string | undefined {
  const [, scheme, authority, path] = httpUrl.exec(url) ?? [];
  if (scheme === undefined || authority === undefined || path === undefined) return undefined;
  const isSecure = scheme.length === 'https'.length;
  const host = toLowerAscii(decodeUnreserved(authority)).replace(isSecure ? /:(?:443)?$/ : /:(?:80)?$/, '');
  const start = isSecure ? 'https://' : 'http://';
  return start + host + removeDotSegments(decodeUnreserved(path));
}

/** Decodes the octets that need no encoding, and writes the others in upper case. */
function decodeUnreserved(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (triplet) => {
    const character = String.fromCharCode(Number.parseInt(triplet.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : triplet.toUpperCase();
  });
}

/** Not only toLowerCase(), which turns the Kelvin sign into a k. */
function toLowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** RFC 3986 §5.2.4. An empty path is a slash. */
function removeDotSegments(path: string): string {
  const kept: string[] = [];
  let isFolder = false;
  for (const segment of path.split('/').slice(1)) {
    isFolder = segment === '.' || segment === '..';
    if (segment === '..') kept.pop();
    else if (!isFolder) kept.push(segment);
  }
  return `/${kept.join('/')}${isFolder && kept.length > 0 ? '/' : ''}`;
}

/**
 * Returns the path of an absolute http or https URL as it was sent, percent-encoding included. Returns undefined for any other
 * URL: with an invalid or missing Host, `request.url` on Bun is a bare path, in which frameworks find another path.
 */
export function pathOf(url: string): string | undefined {
  const [, path] = /^https?:\/\/[^/?#]+([^?#]*)/i.exec(url) ?? [];
  return path === '' ? '/' : path;
}
