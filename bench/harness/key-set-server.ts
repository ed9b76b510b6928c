/** An authorization server's key set, with a path per server under test so that the fetches of each can be counted. */
export interface KeySetServer {
  uri(name: string): string;
  fetches(name: string): number;
  /** While down, every fetch is answered with a 500. */
  setDown(down: boolean): void;
  stop(): Promise<void>;
}

/** Starts the key-set server inside the caller's process: idle, it takes nothing from the load generator's core. */
export function startKeySetServer(jwks: string): KeySetServer {
  const counts = new Map<string, number>();
  let isDown = false;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const name = new URL(request.url).pathname.split('/')[1] ?? '';
      counts.set(name, (counts.get(name) ?? 0) + 1);
      if (isDown) return new Response('{}', { status: 500 });
      return new Response(jwks, { headers: { 'content-type': 'application/json' } });
    },
  });
  return {
    uri: (name) => `http://127.0.0.1:${server.port}/${name}/jwks.json`,
    fetches: (name) => counts.get(name) ?? 0,
    setDown(down) {
      isDown = down;
    },
    stop: () => server.stop(true),
  };
}
