import type { AnyElysia } from 'elysia';
import { encodePath } from 'elysia/utils';
import { Memoirist } from 'memoirist';

/** Methods listed for a route that allows all methods. */
const everyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Which routes Elysia asks for a method, in this order. Other methods: those of the method, then those of all methods. */
const asked: Readonly<Record<string, readonly string[]>> = { GET: ['GET', 'WS', 'ALL'], HEAD: ['GET', 'HEAD', 'ALL'] };

/**
 * Returns the lookup in these routes. Elysia looks for a path without parameters first, and for a pattern only if no such path
 * takes the method. Paths are as they were sent, percent-encoding included.
 * @see https://github.com/elysiajs/elysia/blob/1.4.30/src/compose.ts (`composeGeneralHandler`)
 */
export function createRouteTable(routes: readonly Pick<AnyElysia['routes'][number], 'method' | 'path'>[]) {
  const listed = routes.filter(({ method }) => method !== 'OPTIONS');
  // Elysia's own router, which prefers the most specific pattern.
  const [fixed, patterns] = [new Memoirist<string>(), new Memoirist<string>()];
  // Elysia serves a path under both spellings.
  for (const { method, path } of listed)
    for (const sent of new Set([path, encodePath(path, { dynamic: true })]))
      (/[:*]/.test(path) ? patterns : fixed).add(method, sent, path);

  /** Returns the pattern of the route for such a request, or undefined if there is none. */
  const find = (method: string, path: string) => {
    const candidates = asked[method] ?? [method, 'ALL'];
    for (const router of [fixed, patterns])
      for (const candidate of candidates) {
        const found = router.find(candidate, path);
        if (found) return found.store;
      }
    return undefined;
  };
  /** Returns the methods of a path, none for an unknown one. OPTIONS is left out, because any path has a response to preflights. */
  const methodsOf = (path: string): readonly string[] => {
    // The methods of the path itself come first. A path such as /notes/new also allows the methods of /notes/:id.
    const own = listed.filter((route) => fixed.find(route.method, path)?.store === route.path);
    const methods = [...own, ...listed].flatMap(({ method }) => listedMethods(method));
    return [...new Set(methods)].filter((method) => find(method, path) !== undefined);
  };
  /** Returns the route pattern for a request, even if its path does not allow the method. */
  const routeOf = ({ method, url }: Request): string | undefined => {
    const path = sentPathOf(url);
    return find(method, path) ?? find(methodsOf(path)[0] ?? method, path);
  };
  return { find, methodsOf, routeOf };
}

/** HEAD is allowed wherever GET is. A WebSocket begins with a GET. */
function listedMethods(method: string): readonly string[] {
  if (method === 'ALL') return everyMethod;
  if (method === 'WS') return ['GET'];
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

/** Returns the path of an absolute URL as it was sent, percent-encoding included. */
export function sentPathOf(url: string): string {
  const start = url.indexOf('/', 'http://'.length);
  const end = url.indexOf('?', start);
  return url.slice(start, end === -1 ? undefined : end);
}
