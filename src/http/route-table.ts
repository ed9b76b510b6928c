/** A route as clients see it: its pattern, and the methods that its path allows. */
export interface RouteEntry {
  readonly path: string;
  readonly methods: readonly string[];
}

/** Returns the route of a request path, or undefined if there is none. */
export type RouteOf = (path: string) => RouteEntry | undefined;

/** Methods listed for a route that allows all methods. */
const everyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Returns the lookup in these routes. OPTIONS is left out of the methods, because preflights are answered on any path. */
export function createRouteTable(routes: readonly { readonly method: string; readonly path: string }[]): RouteOf {
  const methods = new Map<string, readonly string[]>();
  for (const { method, path } of routes.filter((route) => route.method !== 'OPTIONS'))
    methods.set(path, [...new Set([...(methods.get(path) ?? []), ...methodsOf(method)])]);

  const dynamic = [...methods.keys()]
    .filter((path) => /[:*]/.test(path))
    .map((path) => ({ path, pattern: new URLPattern({ pathname: path }) }));
  const matching = (path: string) => dynamic.filter(({ pattern }) => pattern.test({ pathname: path }));
  const entries = new Map(
    [...methods.keys()].map((path) => {
      // A path such as /notes/new also allows the methods of /notes/:id.
      const all = [path, ...matching(path).map((other) => other.path)].flatMap((one) => methods.get(one) ?? []);
      return [path, { path, methods: [...new Set(all)] }];
    }),
  );
  return (path) => entries.get(path) ?? entries.get(matching(path)[0]?.path ?? '');
}

/** HEAD is answered wherever GET is. */
function methodsOf(method: string): readonly string[] {
  if (method === 'ALL') return everyMethod;
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}
