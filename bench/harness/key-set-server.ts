export type KeySetServer = ReturnType<typeof startKeySetServer>;

/**
 * Starts an authorization server's key set inside the caller's process: idle, it takes nothing from the load generator's core.
 * It has a path for each server under test, so that the fetches of each can be counted.
 */
export function startKeySetServer(jwks: string) {
  const fetches = new Map<string, number>();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const name = new URL(url).pathname.slice(1);
      fetches.set(name, (fetches.get(name) ?? 0) + 1);
      return keySet.isDown ? new Response('{}', { status: 500 }) : Response.json(JSON.parse(jwks));
    },
  });
  const keySet = {
    uri: (name: string) => `http://127.0.0.1:${server.port}/${name}`,
    fetches: (name: string) => fetches.get(name) ?? 0,
    /** While down, every fetch gets a 500. */
    isDown: false,
    stop: () => server.stop(true),
  };
  return keySet;
}
