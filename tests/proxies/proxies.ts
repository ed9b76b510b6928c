import { join } from 'node:path';
import { type RunningProcess, run } from '../support/child-process.ts';

export interface Proxy {
  readonly name: string;
  /** The options of a listener on which clients must have a certificate, with files of this folder. */
  readonly mutualTls: (folder: string) => string;
  /** Starts the proxy at `frontend`, with options, in front of the service at `server`, both `host:port`. */
  readonly start: (frontend: string, server: string) => Promise<RunningProcess>;
}

const PATH = `${process.env.PATH}:/usr/sbin`;

/** Starts HAProxy as deploy/ configures it, with more lines for its defaults. */
export async function startHaproxy(FRONTEND: string, servers: readonly [string, string], defaults = '') {
  const configuration = await Bun.file(join(import.meta.dir, '../../deploy/haproxy/haproxy.cfg')).text();
  const text = configuration.replace('defaults\n', `defaults\n${defaults}`);
  const [SERVER_1, SERVER_2] = servers;
  return run(['haproxy', '-db', '-f', 'haproxy.cfg'], { PATH, FRONTEND, SERVER_1, SERVER_2 }, { 'haproxy.cfg': text });
}

export const haproxy: Proxy = {
  name: 'HAProxy as deploy/ configures it',
  mutualTls: (folder) => ` ssl crt ${folder}/server.both ca-file ${folder}/ca.pem verify required`,
  start: (frontend, server) => startHaproxy(frontend, [server, server]),
};

export const nginx: Proxy = {
  name: 'nginx with connections that it reuses',
  mutualTls: (folder) => ` ssl; ssl_certificate ${folder}/server.pem; ssl_certificate_key ${folder}/server.key;
      ssl_client_certificate ${folder}/ca.pem; ssl_verify_client on`,
  async start(frontend, server) {
    const configuration = await Bun.file(join(import.meta.dir, 'nginx.conf')).text();
    const filled = configuration.replace(' FRONTEND;', ` ${frontend};`).replace(' SERVER;', ` ${server};`);
    return run(['sh', '-c', 'exec nginx -p "$PWD" -c "$PWD/nginx.conf"'], { PATH }, { 'nginx.conf': filled });
  },
};
