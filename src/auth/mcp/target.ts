import { pathOf } from '../values/url.ts';

/*
 * Whether a request is for the endpoint. Routers read one target as different paths: some resolve `/x/../mcp`, decode
 * `/%6dcp`, cut `/mcp;x` or take `//x/mcp` for a URL of another host. What only some of them read as the endpoint, or
 * as a path below it, is guarded, and then served by none.
 */

/** Whether a target is the endpoint itself, or may be read as the endpoint or as a path below it. */
export type Place = 'endpoint' | 'disguised' | undefined;

/** Returns a function that reads targets: paths, or whole URLs. */
export function createPlaceReader(resource: string): (target: string) => Place {
  const own = pathOf(resource)?.replace(/\/$/, '');
  const segments = segmentsOf(`${own}`);
  const endpoint = joined(segments);
  // Connect has `/mcp.x` below the mount `/mcp`. Below the root is everything.
  const isWithin = (path: string) =>
    path === endpoint || (endpoint !== '' && path.startsWith(endpoint) && /[/.]/.test(path.charAt(endpoint.length)));
  // What dot segments lead to depends on all else. No client of the endpoint sends any.
  const isLike = (all: readonly string[]) =>
    isWithin(joined(all)) || (all.includes('..') && segments.every((segment) => all.includes(segment)));

  return (target) => {
    const path = pathOf(target.startsWith('/') ? `http://localhost${target}` : target);
    if ((path === own || path === `${own}/`) && !target.includes('#')) return 'endpoint';
    const text = lenient(target);
    const local = text.replace(authority, '');
    const readings = [text.replace(scheme, ''), local, local.replace(authority, '')];
    return readings.map(segmentsOf).some(isLike) ? 'disguised' : undefined;
  };
}

const scheme = /^[a-z][a-z\d+.-]*:/;
const authority = /^(?:[a-z][a-z\d+.-]*:\/*|\/\/+)[^/]*/;

const decode = (text: string) =>
  text.replace(/%(?:25)*([\da-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));

/** Decodes a target, and leaves out what a router may: white space, and what follows `;`, `?`, `#` or a zero byte. */
const lenient = (target: string) =>
  decode(decode(target.replace(/\?.*/s, '')))
    .toLowerCase()
    .replaceAll('\\', '/')
    .replace(/[;?#\0][^/]*/g, '')
    .replace(/[\0-\x20\x7f-\xa0\ufeff]/g, '');

const segmentsOf = (path: string) => path.split('/').filter((segment) => segment !== '' && segment !== '.');
const joined = (segments: readonly string[]) => segments.map((segment) => `/${segment}`).join('');
