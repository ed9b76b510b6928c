import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { run } from '../support/child-process.ts';
import { listen } from '../support/raw-http.ts';

const PATH = `${process.env.PATH}:/usr/sbin`;

const deployed = (file: string) => Bun.file(join(import.meta.dir, '../../deploy', file)).text();

/** Starts HAProxy as deploy/ configures it, with more lines for its defaults, more rules, and other changes. */
export async function startHaproxy(
  FRONTEND: string,
  servers: readonly [string, string],
  defaults = '',
  rules = '',
  change = (text: string) => text,
) {
  const text = change(await deployed('haproxy/haproxy.cfg'))
    .replace('defaults\n', `defaults\n${defaults}`)
    .replace('  default_backend', `  ${rules}\n  default_backend`);
  const [SERVER_1, SERVER_2] = servers;
  return run(['haproxy', '-db', '-f', 'haproxy.cfg'], { PATH, FRONTEND, SERVER_1, SERVER_2 }, { 'haproxy.cfg': text });
}

/** What the configuration of nginx is included in. The pool of connections is so small that all clients share them. */
export const nginxConf = `daemon off;
user root;
worker_processes 1;
pid nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`).join('\n  ')}
  include protected-api.conf;
}
`;

/** Starts nginx with this configuration of its servers. */
export function startNginx(text: string) {
  const files = { 'nginx.conf': nginxConf, 'protected-api.conf': text };
  return run(['sh', '-c', 'exec nginx -p "$PWD" -c "$PWD/nginx.conf"'], { PATH }, files);
}

/** Returns the servers of nginx as deploy/ configures them. */
export async function nginxServers(frontend: string, one: string, two = one): Promise<string> {
  const values: Readonly<Record<string, string>> = { FRONTEND: frontend, SERVER_1: one, SERVER_2: two };
  return (await deployed('nginx/protected-api.conf.template'))
    .replace(/\$\{(\w+)\}/g, (_, name) => values[name] ?? '')
    .replaceAll('keepalive 32', 'keepalive 2');
}

/** Starts Caddy with this configuration: of its sites, or with options of its servers before them. */
export function startCaddy(text: string) {
  const own = '{\n  admin off\n  auto_https off\n  servers {\n    protocols h1 h2\n';
  const options = /^\{\s*servers \{\n/;
  const Caddyfile = options.test(text) ? text.replace(options, own) : `${own}  }\n}\n${text}`;
  return run(['caddy', 'run', '--config', 'Caddyfile'], { PATH }, { Caddyfile });
}

export const haproxy = {
  name: 'HAProxy as deploy/ configures it',
  /** The options of a listener on which clients must have a certificate, with files of this folder. */
  mutualTls: (folder: string) => ` ssl crt ${folder}/server.both ca-file ${folder}/ca.pem verify required`,
  /** The same for certificates that clients have signed themselves. */
  selfSigned: (folder: string) =>
    ` ssl crt ${folder}/server.both ca-file ${folder}/ca.pem verify optional ca-ignore-err all crt-ignore-err all`,
  /**
   * Starts the proxy at `frontend`, with options, in front of two servers, each `host:port`, by default the same twice.
   */
  start: (frontend: string, one: string, two = one) => startHaproxy(frontend, [one, two]),
};

export const nginx: typeof haproxy = {
  name: 'nginx as deploy/ configures it',
  mutualTls: (folder) => ` ssl; ssl_certificate ${folder}/server.pem; ssl_certificate_key ${folder}/server.key;
      ssl_client_certificate ${folder}/ca.pem; ssl_verify_client on`,
  selfSigned: (folder) => nginx.mutualTls(folder).replace('ssl_verify_client on', 'ssl_verify_client optional_no_ca'),
  start: async (...servers) => startNginx(await nginxServers(...servers)),
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
  return { port: await listen(server), connections: () => connections, close: () => void server.close() };
}

const WORKERS = 16;
const PAUSE_MS = 25;

/**
 * Sends requests over kept connections, a few hundred a second, until `stop` returns those that were not responded to
 * with 200.
 */
export function startLoad(url: string, headersOf: (request: number) => Record<string, string> = () => ({})) {
  const failures: string[] = [];
  let requests = 0;
  let isOver = false;
  const work = async () => {
    while (!isOver) {
      requests += 1;
      const response = await fetch(url, { headers: headersOf(requests) })
        .then(async (response) => `${response.status} ${await response.text()}`)
        .catch(String);
      if (!response.startsWith('200 ')) failures.push(response);
      await Bun.sleep(PAUSE_MS);
    }
  };
  const workers = Array.from({ length: WORKERS }, work);
  const stop = async () => {
    isOver = true;
    await Promise.all(workers);
    return failures;
  };
  return { requests: () => requests, stop };
}
