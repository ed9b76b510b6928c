import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { run } from '../support/child-process.ts';

const PATH = `${process.env.PATH}:/usr/sbin`;

/** Starts HAProxy as deploy/ configures it, with more lines for its defaults. */
export async function startHaproxy(FRONTEND: string, servers: readonly [string, string], defaults = '') {
  const configuration = await Bun.file(join(import.meta.dir, '../../deploy/haproxy/haproxy.cfg')).text();
  const text = configuration.replace('defaults\n', `defaults\n${defaults}`);
  const [SERVER_1, SERVER_2] = servers;
  return run(['haproxy', '-db', '-f', 'haproxy.cfg'], { PATH, FRONTEND, SERVER_1, SERVER_2 }, { 'haproxy.cfg': text });
}

export const haproxy = {
  name: 'HAProxy as deploy/ configures it',
  /** The options of a listener on which clients must have a certificate, with files of this folder. */
  mutualTls: (folder: string) => ` ssl crt ${folder}/server.both ca-file ${folder}/ca.pem verify required`,
  /** Starts the proxy at `frontend`, with options, in front of the service at `server`, both `host:port`. */
  start: (frontend: string, server: string) => startHaproxy(frontend, [server, server]),
};

export const nginx: typeof haproxy = {
  name: 'nginx with connections that it reuses',
  mutualTls: (folder) => ` ssl; ssl_certificate ${folder}/server.pem; ssl_certificate_key ${folder}/server.key;
      ssl_client_certificate ${folder}/ca.pem; ssl_verify_client on`,
  async start(frontend, server) {
    const configuration = await Bun.file(join(import.meta.dir, 'nginx.conf')).text();
    const filled = configuration.replace(' FRONTEND;', ` ${frontend};`).replace(' SERVER;', ` ${server};`);
    return run(['sh', '-c', 'exec nginx -p "$PWD" -c "$PWD/nginx.conf"'], { PATH }, { 'nginx.conf': filled });
  },
};

/** Passes bytes on to `port` unchanged, and counts the connections on which requests for the API came. */
export async function startRelay(port: number) {
  let connections = 0;
  const server = createServer((client) => {
    let isCounted = false;
    client.on('data', (chunk) => {
      if (!isCounted && chunk.includes('/api/')) {
        isCounted = true;
        connections += 1;
      }
    });
    // Whichever ends first, the other one is ended too.
    pipeline(client, connect(port, '127.0.0.1'), client, () => {});
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port: ownPort } = server.address() as AddressInfo;
  return { port: ownPort, connections: () => connections, close: () => void server.close() };
}
