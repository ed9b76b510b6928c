// SPIRE: a server, an agent, and the OIDC Discovery Provider, whose URL is the issuer. Argument: the folder with its
// programs. Prints one line of JSON once a workload gets a JWT-SVID.
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../support/child-process.ts';
import { end, folder, port, serveActions, start, untilDone, untilOk } from './programs.mjs';

const [programs] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const program = (name) => join(programs, name);
const call = async (name, ...args) => (await promisify(execFile)(program(name), args)).stdout;
const write = (name, text) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

/** Runs a server of a trust domain. New keys are of this type. */
async function runServer({ trustDomain, jwtIssuer, serverPort, keyType = 'ec-p256' }) {
  const data = join(folder, trustDomain);
  mkdirSync(data, { recursive: true });
  const socket = join(data, 'api.sock');
  const configuration = `
    server {
      bind_address = "127.0.0.1"
      bind_port = "${serverPort}"
      socket_path = "${socket}"
      trust_domain = "${trustDomain}"
      data_dir = "${data}"
      log_level = "ERROR"
      jwt_key_type = "${keyType}"
      ${jwtIssuer ? `jwt_issuer = "${jwtIssuer}"` : ''}
    }
    plugins {
      DataStore "sql" {
        plugin_data {
          database_type = "sqlite3"
          connection_string = "${join(data, 'database')}"
        }
      }
      NodeAttestor "join_token" {
        plugin_data {}
      }
      KeyManager "disk" {
        plugin_data {
          keys_path = "${join(data, 'keys.json')}"
        }
      }
    }`;
  const child = start([program('spire-server'), 'run', '-config', write(`${trustDomain}.conf`, configuration)]);
  const ask = (...args) => call('spire-server', ...args, '-socketPath', socket);
  const mint = async ({ spiffeID, audience }) =>
    (await ask('jwt', 'mint', '-spiffeID', spiffeID, '-audience', audience)).trim();
  await untilDone(() => ask('healthcheck'));
  return { child, socket, ask, mint };
}

const own = { trustDomain: 'example.org', jwtIssuer: issuer, serverPort: await freePort() };
let server = await runServer(own);
const discovery = `
  log_level = "error"
  domains = ["127.0.0.1"]
  allow_insecure_scheme = true
  insecure_addr = "127.0.0.1:${port}"
  jwt_issuer = "${issuer}"
  server_api {
    address = "unix://${server.socket}"
    poll_interval = "1s"
  }`;
const runProvider = () => start([program('oidc-discovery-provider'), '-config', write('provider.conf', discovery)]);
let provider = runProvider();
await untilOk(`${issuer}/keys`);

const host = 'spiffe://example.org/host';
const [agentData, agentSocket] = ['agent', 'agent.sock'].map((name) => join(folder, name));
rmSync(agentData, { recursive: true, force: true });
mkdirSync(agentData);
const { value } = JSON.parse(await server.ask('token', 'generate', '-spiffeID', host, '-output', 'json'));
const agent = `
  agent {
    data_dir = "${agentData}"
    log_level = "ERROR"
    server_address = "127.0.0.1"
    server_port = "${own.serverPort}"
    socket_path = "${agentSocket}"
    trust_bundle_path = "${write('bundle.pem', await server.ask('bundle', 'show'))}"
    trust_domain = "example.org"
    join_token = "${value}"
  }
  plugins {
    NodeAttestor "join_token" {
      plugin_data {}
    }
    KeyManager "memory" {
      plugin_data {}
    }
    WorkloadAttestor "unix" {
      plugin_data {}
    }
  }`;
start([program('spire-agent'), 'run', '-config', write('agent.conf', agent)]);
const selector = `unix:uid:${process.getuid()}`;
for (const name of ['my-client', 'other']) {
  const spiffeID = `spiffe://example.org/ns/default/sa/${name}`;
  const entry = ['-parentID', host, '-spiffeID', spiffeID, '-selector', selector];
  // A restart finds it.
  await server.ask('entry', 'create', ...entry).catch(() => undefined);
}

/** Returns the JWT-SVID that a workload gets. */
async function fetchToken({ spiffeID, audience }) {
  const args = ['-audience', audience, '-spiffeID', spiffeID, '-socketPath', agentSocket, '-output', 'json'];
  const [{ svids }] = JSON.parse(await call('spire-agent', 'api', 'fetch', 'jwt', ...args));
  return svids[0].svid;
}
const countKeys = async () => (await (await untilOk(`${issuer}/keys`)).json()).keys.length;
const authority = (...args) => server.ask('localauthority', 'jwt', ...args);
const authorityId = async (name, ...args) => JSON.parse(await authority(...args, '-output', 'json'))[name].authority_id;
const replaceServer = async (changes) => {
  await end(server.child);
  server = await runServer({ ...own, ...changes });
};
const control = serveActions({
  // The agent connects again after a restart of its server.
  token: (wanted) => untilDone(() => fetchToken(wanted)),
  /** Returns the SPIFFE bundle, as a bundle endpoint serves it. */
  bundle: async () => JSON.parse(await server.ask('bundle', 'show', '-format', 'spiffe')),
  /** Returns a token of another trust domain. */
  async foreign({ trustDomain, jwtIssuer, ...token }) {
    const foreign = await runServer({ trustDomain, jwtIssuer, serverPort: await freePort() });
    const minted = await foreign.mint(token);
    await end(foreign.child);
    return minted;
  },
  /** Returns a token of a server without `jwt_issuer`. */
  async withoutIssuer(wanted) {
    await replaceServer({ jwtIssuer: undefined });
    const minted = await server.mint(wanted);
    await replaceServer({});
    return minted;
  },
  /** Signs with a new key, which is published before it is used. */
  async rotate({ keyType }) {
    if (keyType) await replaceServer({ keyType });
    const before = await countKeys();
    const id = await authorityId('prepared_authority', 'prepare');
    while ((await countKeys()) === before) await Bun.sleep(100);
    await authority('activate', '-authorityID', id);
  },
  async withdraw() {
    const before = await countKeys();
    const id = await authorityId('old', 'show');
    await authority('taint', '-authorityID', id);
    await authority('revoke', '-authorityID', id);
    while ((await countKeys()) === before) await Bun.sleep(100);
  },
  /** Starts the provider anew, while there is no server. */
  async loseServer() {
    await Promise.all([end(server.child), end(provider)]);
    provider = runProvider();
    await untilOk(`${issuer}/.well-known/openid-configuration`);
  },
});
await untilDone(() => fetchToken({ spiffeID: 'spiffe://example.org/ns/default/sa/my-client', audience: 'any' }));
process.stdout.write(`${JSON.stringify({ issuer, control })}\n`);
