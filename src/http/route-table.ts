/** A route as clients see it: its pattern, and the methods that its path takes. */
export interface RouteEntry {
  readonly path: string;
  readonly methods: readonly string[];
}

/**
 * Returns a function from a request path to the route that takes it, undefined when there is none. HEAD goes with GET;
 * OPTIONS is left out, because preflights are answered on any path.
 */
export function createRouteTable(
  routes: readonly { readonly method: string; readonly path: string }[],
): (path: string) => RouteEntry | undefined {
  const entries = new Map<string, RouteEntry>();
  for (const { method, path } of routes) {
    if (method === 'OPTIONS') continue;
    const methods = [...(entries.get(path)?.methods ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])];
    entries.set(path, { path, methods });
  }
  const dynamic = [...entries.values()]
    .filter(({ path }) => /[:*]/.test(path))
    .map((entry) => ({ entry, pattern: new URLPattern({ pathname: entry.path }) }));

  return (path) => entries.get(path) ?? dynamic.find(({ pattern }) => pattern.test({ pathname: path }))?.entry;
}
