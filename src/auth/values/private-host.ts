import { isLoopbackHost } from './url.ts';

/*
 * Which hosts of URLs are addresses on this machine or in a private network. Names are not resolved: what a name leads to is for
 * the network of the application.
 */

/**
 * Whether a host, as `URL` normalizes it, is a loopback, private, link-local or unspecified address, or a name of this machine
 * (RFC 1918, RFC 3927, RFC 4193, RFC 4291, RFC 6598, RFC 6761), also as IPv6 that contains IPv4 (RFC 6052, RFC 3056).
 */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/\.$/, '');
  if (host.startsWith('[')) return isPrivateIpv6(groupsOf(host.slice(1, -1)));
  const [, first, second] = /^(\d+)\.(\d+)\.\d+\.\d+$/.exec(host) ?? [];
  return isLoopbackHost(host) || (first !== undefined && isPrivateIpv4(Number(first) * 256 + Number(second)));
}

/** Pairs of the first 16 bits of an address, without those that tell the host, and how many there are. */
const privateIpv4 = [
  [0, 8],
  [10 << 8, 8],
  [(100 << 8) + 64, 10],
  [127 << 8, 8],
  [(169 << 8) + 254, 16],
  [(172 << 8) + 16, 12],
  [(192 << 8) + 168, 16],
] as const;
const startsWith = (bits: number, [prefix, length]: readonly [prefix: number, length: number]) =>
  bits >> (16 - length) === prefix >> (16 - length);

/** @param bits the first 16 */
const isPrivateIpv4 = (bits: number) => privateIpv4.some((range) => startsWith(bits, range));

/** Unique local, link-local, and site-local, which is deprecated. */
const privateIpv6 = [
  [0xfc00, 7],
  [0xfe80, 10],
  [0xfec0, 10],
] as const;

function isPrivateIpv6(groups: readonly number[]): boolean {
  const [first = 0, second = 0] = groups;
  if (privateIpv6.some((range) => startsWith(first, range))) return true;
  const start = groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(':');
  // Loopback and the unspecified address look like IPv4 addresses that begin with 0.
  if (/^0:0:0:0:(?:0|ffff):(?:0|ffff)$|^0:0:0:0:ffff:0$|^64:ff9b:0:0:0:0$/.test(start))
    return isPrivateIpv4(groups[6] ?? 0);
  return start.startsWith('64:ff9b:1:') || (first === 0x2002 && isPrivateIpv4(second));
}

function groupsOf(address: string): readonly number[] {
  const [head = [], tail = []] = address.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}
