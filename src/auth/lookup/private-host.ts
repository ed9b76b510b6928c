import { isLoopbackHost } from '../values/url.ts';

/*
 * Which hosts of URLs are addresses on this machine or in a private network. Names are not resolved: what a name leads
 * to is for the network of the application.
 */

/** RFC 1918, RFC 3927, RFC 6598, and what is on this machine. */
const privateIpv4 =
  /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./;
/** Unique local, link-local, and site-local, which is deprecated. */
const privateIpv6 = /^(?:f[cd][\da-f]|fe[89a-f])[\da-f]$/;

/**
 * Whether a host, as `URL` normalizes it, is a loopback, private, link-local or unspecified address, or a name of this
 * machine (RFC 1918, RFC 3927, RFC 4193, RFC 4291, RFC 6598, RFC 6761), also within IPv6 (RFC 6052, RFC 3056).
 */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/\.$/, '');
  if (host.startsWith('[')) return isPrivateIpv6(groupsOf(host.slice(1, -1)));
  return isLoopbackHost(host) || (/^\d+(?:\.\d+){3}$/.test(host) && privateIpv4.test(host));
}

function isPrivateIpv6(groups: readonly string[]): boolean {
  const [first = '', second = ''] = groups;
  const start = groups.slice(0, 6).join(':');
  // Loopback and the unspecified address look like IPv4 addresses that begin with 0.
  const hasIpv4 = /^0:0:0:0:(?:0|ffff):(?:0|ffff)$|^0:0:0:0:ffff:0$|^64:ff9b:0:0:0:0$/.test(start);
  if (hasIpv4) return startsPrivately(groups[6] ?? '');
  return privateIpv6.test(first) || start.startsWith('64:ff9b:1:') || (first === '2002' && startsPrivately(second));
}

/** @param group the first half of an IPv4 address */
function startsPrivately(group: string): boolean {
  const bits = Number.parseInt(group, 16);
  return privateIpv4.test(`${bits >> 8}.${bits & 255}.`);
}

function groupsOf(address: string): readonly string[] {
  const [head = [], tail = []] = address.split('::').map((part) => (part === '' ? [] : part.split(':')));
  return [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
}
