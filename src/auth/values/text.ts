/** Returns text that an issuer chose as printable ASCII, with escapes for the rest: of 256 characters by default. */
export function printable(text: string, maxLength = 256): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.slice(0, maxLength).replace(/[^\x20-\x7e]/g, escaped);
}

/** Whether a value is printable ASCII without spaces, quotes and backslashes, as a scope is (RFC 6749 §3.3). */
export const isPlainWord = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value);

/** The brackets of IPv6 are a pattern in zsh. What is quoted has no quotes: URLs may not, other text is encoded. */
export const shellQuoted = (text: string) => (/^[\w:/.%=-]+$/.test(text) ? text : `'${text.replaceAll("'", '%27')}'`);

/** Returns the name of the setting for an option: `JWKS_MAX_AGE_SECONDS` for `jwksMaxAgeSeconds`. */
export const settingOf = (option: string) => option.replace(/[A-Z]/g, '_$&').toUpperCase();

/**
 * Returns the path of an absolute http or https URL as it was sent, percent-encoding included. Returns undefined for
 * any other URL: with an invalid or missing Host, `request.url` on Bun is a path, and frameworks find another one.
 */
export function pathOf(url: string): string | undefined {
  const [, path] = /^https?:\/\/[^/?#]+([^?#]*)/i.exec(url) ?? [];
  return path === '' ? '/' : path;
}

/** Whether a header is for one connection only (RFC 9110 §7.6.1), or says where a message ends. */
export const isConnectionHeader = (name: string) =>
  /^(?:connection|content-length|keep-alive|proxy-(?:auth\w+|connection)|te|trailer|transfer-encoding|upgrade)$/i.test(
    name,
  );
