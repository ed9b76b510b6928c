import { describe, expect, test } from 'bun:test';
import { chmodSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createGuard } from 'protected-api';
import { requireToken } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { freePort, type RunningProcess, run, untilProcess } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import { listen } from '../support/raw-http.ts';
import { readText } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { curl, writeCertificates } from './client-certificates.ts';
import { startCaddy, startNginx } from './proxies.ts';

/*
 * The lines of docs/guides/certificates.md in the proxies that they are for, each as its page has them, and with the
 * lines that people add later: whatever a client sends in the header, it cannot use the token of another.
 */

const PATH = `${process.env.PATH}:/usr/sbin`;
const folder = temporaryFolder();
// Apache does not run as the user who owns the folder.
chmodSync(folder, 0o755);
await writeCertificates(folder);
const pem = (client: string) => readFileSync(join(folder, `${client}.pem`), 'utf8');

const issuer = await createTestIssuer();
const guard = createGuard({ ...issuer.options, clientCertificate: 'Client-Cert' });
const token = await issuer.token({}, { boundTo: pem('a') });

const page = await readText('docs/guides/certificates.md');
const linesFor = (language: string) => new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(page)?.[1] ?? '';

interface Places {
  /** Ports of listeners with and without TLS. */
  readonly tls: number;
  readonly plain: number;
  /** The address of the API. */
  readonly api: string;
  /** The lines of the page. */
  readonly lines: string;
}

const modules = 'mpm_event authz_core headers socache_shmcb ssl proxy proxy_http'.split(' ');
const apacheServer = (name: string, listener: string) => `<VirtualHost 127.0.0.1:${listener}
    ProxyPass / http://${name}/
    <Location /own>
      RequestHeader set X-Own 1
    </Location>
  </VirtualHost>`;

const proxies: Readonly<Record<string, readonly [language: string, start: (places: Places) => RunningProcess]>> = {
  HAProxy: [
    'haproxy',
    ({ tls, plain, api, lines }) => {
      const text = `defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend clients
  bind 127.0.0.1:${tls} ssl crt ${folder}/server.both ca-file ${folder}/ca.pem verify optional
  default_backend api
frontend added
  bind 127.0.0.1:${plain}
  default_backend api
backend api
  ${lines.replaceAll('\n', '\n  ')}
  http-request set-header X-Own 1
  server one ${api}
`;
      return run(['haproxy', '-db', '-f', 'haproxy.cfg'], { PATH }, { 'haproxy.cfg': text });
    },
  ],
  nginx: [
    'nginx',
    ({ tls, plain, api, lines }) =>
      startNginx(`server {
  listen 127.0.0.1:${tls} ssl;
  listen 127.0.0.1:${plain};
  ssl_certificate ${folder}/server.pem;
  ssl_certificate_key ${folder}/server.key;
  ssl_client_certificate ${folder}/ca.pem;
  ssl_verify_client optional;
  underscores_in_headers on;
  ignore_invalid_headers off;
  ${lines}
  location / { proxy_pass http://${api}; }
  location /added { proxy_pass http://${api}; }
  location /own { proxy_set_header X-Own 1; proxy_pass http://${api}; }
}`),
  ],
  Caddy: [
    'text',
    ({ tls, plain, api, lines }) => {
      const site = `${lines}
  handle /added* {
    reverse_proxy ${api}
  }
  handle /own* {
    request_header X-Own 1
    reverse_proxy ${api} {
      header_up X-Own 2
    }
  }
  reverse_proxy ${api}`;
      const client = `client_auth {\nmode verify_if_given\ntrusted_ca_cert_file ${folder}/ca.pem\n}`;
      return startCaddy(`(api) {\n${site}\n}
https://localhost:${tls} {\nimport api\ntls ${folder}/server.pem ${folder}/server.key {\n${client}\n}\n}
http://localhost:${plain} {\nimport api\n}\n`);
    },
  ],
  Apache: [
    'apache',
    ({ tls, plain, api, lines }) => {
      const text = `ServerName localhost
PidFile \${HOME}/httpd.pid
ErrorLog \${HOME}/error.log
User www-data
${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
Listen 127.0.0.1:${tls}
Listen 127.0.0.1:${plain}
${lines}
${apacheServer(
  api,
  `${tls}>
    SSLEngine on
    SSLCertificateFile ${folder}/server.pem
    SSLCertificateKeyFile ${folder}/server.key
    SSLCACertificateFile ${folder}/ca.pem
    SSLVerifyClient optional
    SSLOptions +ExportCertData`,
)}
${apacheServer(api, `${plain}>`)}
`;
      const start = 'exec apache2 -d "$PWD" -f "$PWD/httpd.conf" -D FOREGROUND';
      return run(['sh', '-c', start], { PATH }, { 'httpd.conf': text });
    },
  ],
};

describe.each(Object.entries(proxies))('the lines for %s', (name, [language, start]) => {
  const started = startedFor(
    async () => {
      const server = createServer((request, response) => {
        requireToken(guard)(request, response, () => void response.end('accepted'));
      });
      const [tls, plain] = [await freePort(), await freePort()];
      const proxy = start({ tls, plain, api: `127.0.0.1:${await listen(server)}`, lines: linesFor(language) });
      const origins = [`https://localhost:${tls}`, `http://localhost:${plain}`] as const;
      for (const origin of origins)
        await untilProcess(proxy, async () => (await curl(folder, 'a', origin)) !== undefined, name);
      return { server, proxy, origins };
    },
    ({ server, proxy }) => {
      server.close();
      proxy.signal('SIGTERM');
      return proxy.finished;
    },
  );

  const send = (origin: string, client: string | undefined, headers: readonly string[]) => {
    const args = [`Authorization: Bearer ${token}`, ...headers].flatMap((line) => ['--header', line]);
    return curl(folder, client, ...args, origin);
  };
  const base64 = pem('a').replaceAll(/-----.*-----|\n/g, '');
  const forms = [base64, `:${base64}:`, encodeURIComponent(pem('a')), pem('a').trim().replaceAll('\n', ' ')];
  /** What a client without the certificate sends to use the token. In curl, `Client-Cert;` has no value. */
  const spoofed = [
    ...forms.flatMap((form) => [`Client-Cert: ${form}`, `client_cert: ${form}`].map((line) => [line])),
    [`Client-Cert: ${base64}`, `Client-Cert: ${base64}`],
    ['Client-Cert;', `Client-Cert: ${base64}`],
    [`Client-Cert: ${base64}`, 'Client-Cert;'],
    [`Client-Cert: ${base64}`, 'Connection: Client-Cert'],
  ];

  test.each(['/', '/added'])('give the API at %s the certificate of a client, or none', async (path) => {
    const [origin, plain] = started().origins;
    expect(await send(origin + path, 'a', [])).toBe('accepted');
    expect(await send(origin + path, 'b', [])).toContain('Token is bound to another certificate');
    for (const without of [origin, plain])
      expect(await send(without + path, undefined, [])).toContain('but the request has none');
  });

  test('give the API at a path with a header of its own the certificate of a client, or none', async () => {
    const expected = name === 'nginx' ? expect.stringContaining('but the request has none') : 'accepted';
    expect(await send(`${started().origins[0]}/own`, 'a', [])).toEqual(expected);
  });

  test.each(['/', '/added', '/own'])('let no client use the token of another at %s', async (path) => {
    const [origin, plain] = started().origins;
    for (const headers of spoofed) {
      for (const client of ['b', undefined])
        expect([headers, await send(origin + path, client, headers)]).not.toContain('accepted');
      expect([headers, await send(plain + path, undefined, headers)]).not.toContain('accepted');
    }
  });
});
