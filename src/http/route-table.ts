import type { AnyElysia } from 'elysia';
import { encodePath } from 'elysia/utils';
import { Memoirist } from 'memoirist';

/** Methods listed for a route that allows all methods. */
const everyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Which routes Elysia tries for a method, in this order. Other methods: their own, then those of all methods. */
const asked: Readonly<Record<string, readonly string[]>> = { GET: ['GET', 'WS', 'ALL'], HEAD: ['GET', 'HEAD', 'ALL'] };

/**
 * Returns the lookup in these routes. Elysia looks for a path without parameters first, and for a pattern only if no
 * such path takes the method. Paths are as they were sent, percent-encoding included.
 * @see https://github.com/elysiajs/elysia/blob/1.4.30/src/compose.ts (`composeGeneralHandler`)
 */
export function createRouteTable(routes: readonly Pick<AnyElysia['routes'][number], 'method' | 'path'>[]) {
  /** By method, the patterns of paths without parameters. */
  const fixed = new Map<string, Map<string, string>>();
  // Elysia's own router, which prefers the most specific pattern.
  const patterns = new Memoirist<string>();
  // Elysia serves a path under both spellings.
  for (const { method, path } of routes)
    for (const sent of new Set([path, encodePath(path, { dynamic: true })])) {
      if (/[:*]/.test(path)) patterns.add(method, sent, path);
      else fixed.set(method, (fixed.get(method) ?? new Map<string, string>()).set(sent, path));
    }

  const methods = [...new Set(routes.map(({ method }) => method))];
  /** The patterns of paths whose route is the same for all methods, because no pattern with parameters matches them. */
  const alone = new Map(
    [...fixed.values()].flatMap((paths) =>
      [...paths].filter(([sent]) => !methods.some((method) => patterns.find(method, sent))),
    ),
  );

  /** Returns the pattern of the route for such a request, or undefined if there is none. */
  const find = (method: string, path: string) => {
    const candidates = asked[method] ?? [method, 'ALL'];
    for (const candidate of candidates) {
      const found = fixed.get(candidate)?.get(path);
      if (found !== undefined) return found;
    }
    for (const candidate of candidates) {
      const found = patterns.find(candidate, path);
      if (found) return found.store;
    }
    return undefined;
  };
  /** Returns the methods of a path without OPTIONS, which every path has for preflights; none for an unknown path. */
  const methodsOf = (path: string): readonly string[] => {
    // The methods of the path itself come first. A path such as /notes/new also allows the methods of /notes/:id.
    const own = routes.filter((route) => fixed.get(route.method)?.get(path) === route.path);
    const methods = [...own, ...routes].flatMap(({ method }) => listedMethods(method));
    return [...new Set(methods)].filter((method) => find(method, path) !== undefined);
  };
  /** Returns the methods for the header Allow of a path, OPTIONS only if a route takes it (RFC 9110 §10.2.1). */
  const allowedFor = (path: string): readonly string[] => {
    const methods = methodsOf(path);
    return methods.length > 0 && find('OPTIONS', path) !== undefined ? [...methods, 'OPTIONS'] : methods;
  };
  /** Whether a route is for OPTIONS on this path alone, and so for requests that are no preflight. */
  const takesOptions = (path: string) => fixed.get('OPTIONS')?.has(path) === true;
  /** Returns the route pattern for a request, even if its path does not allow the method. */
  const routeOf = (request: Request): string | undefined => {
    const path = sentPathOf(request.url);
    return alone.get(path) ?? find(request.method, path) ?? find(methodsOf(path)[0] ?? request.method, path);
  };
  return { find, methodsOf, allowedFor, takesOptions, routeOf };
}

/** HEAD is allowed wherever GET is. A WebSocket begins with a GET. */
function listedMethods(method: string): readonly string[] {
  if (method === 'ALL') return everyMethod;
  if (method === 'WS') return ['GET'];
  if (method === 'OPTIONS') return [];
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

/** Returns the path of an absolute URL as it was sent, percent-encoding included. */
export function sentPathOf(url: string): string {
  const start = url.indexOf('/', 'http://'.length);
  const end = url.indexOf('?', start);
  return url.slice(start, end === -1 ? undefined : end);
}
