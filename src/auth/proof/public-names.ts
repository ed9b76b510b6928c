import type { CheckedOptions, GuardRequest } from '../types.ts';
import { parseUrl } from '../values/url.ts';
import { canonicalUrl } from './normalize-url.ts';

/*
 * The names at which clients reach the API, and which of them a request is for. Nothing but a name that is listed is
 * believed of a Host header.
 */

/** The names of an API. */
export type PublicNames = ReturnType<typeof createPublicNames>;

/** Returns the names in the order in which they are listed, or none without `publicUrl`. */
export function createPublicNames({ publicUrl, resource }: Pick<CheckedOptions, 'publicUrl' | 'resource'>) {
  const all = [publicUrl ?? []].flat().map((url) => {
    // Beside several names, it is the path at each.
    const own = resource?.startsWith('/') ? canonicalUrl(url.replace(/\/$/, '') + resource) : resource;
    return { publicUrl: url, ...describeResource(own ?? url) };
  });
  const urls = all.map((name) => new URL(name.publicUrl));
  const find = ({ url, headers }: Omit<GuardRequest, 'method'>): number => {
    const authority = headers.get('host') ?? parseUrl(url)?.host ?? '';
    if (!/^[\w.:[\]-]+$/.test(authority)) return 0;
    // The default port of the scheme is left out on both sides.
    const at = urls.findIndex(({ protocol, host }) => parseUrl(`${protocol}//${authority}`)?.host === host);
    return Math.max(at, 0);
  };
  return {
    all,
    /** Returns the place in the list of the name which a request is for, or 0 for any other host. */
    find: all.length < 2 ? () => 0 : find,
  };
}

/** Returns where the metadata of a resource are: the well-known part stands before its path (RFC 9728 §3.1). */
function describeResource(resource: string) {
  const { origin, pathname, search } = new URL(resource);
  const metadataPath = `/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
  return { resource, search, metadataPath, metadataUrl: origin + metadataPath + search };
}
