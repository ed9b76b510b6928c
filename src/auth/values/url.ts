import { printable } from './ascii.ts';
import { ifPossible } from './faults.ts';

/** Returns the URL that a text is, if any. Fastly Compute has no `URL.canParse`, and Node.js 20 no `URL.parse`. */
export const parseUrl = (text: string): URL | undefined => ifPossible(() => new URL(text));

/**
 * Whether `value` is an absolute https URL without credentials, fragment, braces or characters that are special to a
 * shell or to HTML. Plain http is allowed for loopback hosts, and with `allowHttp` for all hosts.
 */
export function isSecureUrl(value: string, allowHttp: boolean): boolean {
  const url = /^https?:\/\/[^\s"'#$<>\\`{}]+$/.test(value) && /^[\x21-\x7e]+$/.test(value) && parseUrl(value);
  if (!url) return false;
  const { protocol, hostname, username, password } = url;
  const isSecure = protocol === 'https:' || allowHttp || isLoopbackHost(hostname);
  // URL also accepts a host with `;` or `*`, which would be another directive or source in a Content-Security-Policy.
  return isSecure && username === '' && password === '' && /^[\w.-]+$|^\[/.test(hostname);
}

/**
 * Whether the metadata of `issuer` may name this URL: a secure one, and on loopback only if the issuer is. Otherwise an
 * issuer could direct requests to a server on this machine.
 */
export function isAllowedInMetadata(value: string, issuer: string, allowHttp: boolean): boolean {
  if (!isSecureUrl(value, allowHttp)) return false;
  return !reachesThisMachine(new URL(value).hostname) || isLoopbackHost(new URL(issuer).hostname);
}

/** Whether a host, as `URL` normalizes it, is a loopback address, `localhost`, or a name below it (RFC 6761 §6.3). */
export function isLoopbackHost(hostname: string): boolean {
  return /(^|\.)localhost$|^\[::1\]$|^127(\.\d+){3}$/.test(hostname);
}

/** Whether a host is a loopback host by any notation, including the unspecified address (RFC 4291 §2.5). */
function reachesThisMachine(hostname: string): boolean {
  const mapped = /^\[::ffff:([0-9a-f]+):[0-9a-f]+\]$/.exec(hostname)?.[1];
  if (mapped !== undefined) return [0x7f, 0].includes(Number.parseInt(mapped, 16) >> 8);
  return isLoopbackHost(hostname) || /(^|\.)localhost\.$|^0\.0\.0\.0$|^\[::\]$/.test(hostname);
}

/** Returns a URL in the form for events: without credentials, query and fragment. */
export function printableUrl(url: string): string {
  const { protocol = '', host = '', pathname = url } = parseUrl(url) ?? {};
  return printable(host === '' ? pathname.replace(/[?#].*/s, '') : `${protocol}//${host}${pathname}`);
}

/**
 * Returns the path of an absolute http or https URL as it was sent, percent-encoding included. Returns undefined for
 * any other URL: with an invalid or missing Host, `request.url` on Bun is a path, and frameworks find another one.
 */
export function pathOf(url: string): string | undefined {
  const [, path] = /^https?:\/\/[^/?#]+([^?#]*)/i.exec(url) ?? [];
  return path === '' ? '/' : path;
}
