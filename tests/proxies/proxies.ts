import { join } from 'node:path';
import { type RunningProcess, run } from '../support/child-process.ts';

export interface Proxy {
  readonly name: string;
  /** The options of a listener on which clients must have a certificate, with files of this folder. */
  readonly mutualTls: (folder: string) => string;
  /** Starts the proxy at `frontend`, with options, in front of the service at `server`, both `host:port`. */
  readonly start: (frontend: string, server: string) => Promise<RunningProcess>;
}

const path = `${process.env.PATH}:/usr/sbin`;

export const haproxy: Proxy = {
  name: 'HAProxy as deploy/ configures it',
  mutualTls: (folder) => ` ssl crt ${folder}/server.both ca-file ${folder}/ca.pem verify required`,
  async start(FRONTEND, server) {
    const configuration = await Bun.file(join(import.meta.dir, '../../deploy/haproxy/haproxy.cfg')).text();
    const environment = { PATH: path, FRONTEND, SERVER_1: server, SERVER_2: server };
    return run(['haproxy', '-db', '-f', 'haproxy.cfg'], environment, { 'haproxy.cfg': configuration });
  },
};

export const nginx: Proxy = {
  name: 'nginx with connections that it reuses',
  mutualTls: (folder) => ` ssl; ssl_certificate ${folder}/server.pem; ssl_certificate_key ${folder}/server.key;
      ssl_client_certificate ${folder}/ca.pem; ssl_verify_client on`,
  async start(frontend, server) {
    const configuration = await Bun.file(join(import.meta.dir, 'nginx.conf')).text();
    const filled = configuration.replace(' FRONTEND;', ` ${frontend};`).replace(' SERVER;', ` ${server};`);
    const command = ['sh', '-c', 'exec nginx -p "$PWD" -c "$PWD/nginx.conf"'];
    return run(command, { PATH: path }, { 'nginx.conf': filled });
  },
};
