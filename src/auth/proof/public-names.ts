import type { CheckedOptions, GuardRequest } from '../types.ts';
import { parseUrl } from '../values/url.ts';
import { canonicalUrl } from './normalize-url.ts';

/*
 * The names at which clients reach the API, and which of them a request is for. Nothing but a name that is listed is
 * believed of a Host header.
 */

/** A URL at which clients reach the API, and the identifier of the resource there. */
interface PublicName {
  readonly publicUrl: string;
  readonly resource: string;
}

/** Returns the names in the order in which they are listed, or none without `publicUrl`. */
export function publicNames({
  publicUrl,
  resource,
}: Pick<CheckedOptions, 'publicUrl' | 'resource'>): readonly PublicName[] {
  return [publicUrl ?? []].flat().map((url) => {
    // Beside several names, it is the path at each.
    const own = resource?.startsWith('/') ? canonicalUrl(url.replace(/\/$/, '') + resource) : resource;
    return { publicUrl: url, resource: own ?? url };
  });
}

/** Returns a function that finds the name which a request is for: its place in the list, or 0 for any other host. */
export function createNameFinder(names: readonly PublicName[]): (request: Omit<GuardRequest, 'method'>) => number {
  if (names.length < 2) return () => 0;
  const known = names.map(({ publicUrl }) => new URL(publicUrl));
  return ({ url, headers }) => {
    const authority = headers.get('host') ?? parseUrl(url)?.host ?? '';
    if (!/^[\w.:[\]-]+$/.test(authority)) return 0;
    // The default port of the scheme is left out on both sides.
    const at = known.findIndex(({ protocol, host }) => parseUrl(`${protocol}//${authority}`)?.host === host);
    return Math.max(at, 0);
  };
}
