import { parseUrl } from '../values/url.ts';

/**
 * What `URL` reads as RFC 3986 does. It also reads blanks, backslashes, credentials, ports that begin with 0 and
 * characters that URLs do not have, and then finds different URLs equal. Of these, clients send `^`, which only Bun
 * encodes.
 */
const plainUrl = /^https?:\/\/(?:[\w.%-]+|\[[\da-f:.]+\])(?::(?:[1-9]\d*)?)?(?:\/[!$-;=@-[\]^_a-z|~]*)?(?:[?#]|$)/i;

/** Returns an http or https URL in normal form (RFC 3986 §6.2.2, §6.2.3), without query and fragment, or undefined. */
export function normalizeUrl(url: string): string | undefined {
  const parsed = plainUrl.test(url) ? parseUrl(url) : undefined;
  return parsed && parsed.origin + decodeUnreserved(parsed.pathname).replaceAll('^', '%5E');
}

/**
 * Returns the canonical form of an https or http URL without fragment (RFC 3986 §6.2.2), with its query. An empty path
 * stays empty: clients compare the identifier of a resource as text.
 */
export function canonicalUrl(url: string): string {
  const { origin, pathname, search } = new URL(url);
  const hasPath = /^[^:]+:\/\/[^/?]+\//.test(url);
  return origin + decodeUnreserved((hasPath ? pathname : '') + search);
}

/** Decodes the octets that need no encoding, and writes the others in upper case. */
function decodeUnreserved(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (triplet) => {
    const character = String.fromCharCode(Number.parseInt(triplet.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : triplet.toUpperCase();
  });
}
