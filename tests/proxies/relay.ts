import { type AddressInfo, connect, createServer } from 'node:net';

/** Passes bytes on to `port` unchanged, and counts the connections on which requests for the API came. */
export async function startRelay(port: number) {
  let connections = 0;
  const server = createServer((client) => {
    const service = connect(port, '127.0.0.1');
    let isCounted = false;
    client.on('data', (chunk) => {
      if (!isCounted && chunk.includes('/api/')) {
        isCounted = true;
        connections += 1;
      }
    });
    client.pipe(service).pipe(client);
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    close: () => void server.close(),
  };
}
