// HashiCorp Vault, unsealed, with users who may read identity tokens. Arguments: its program, the audience.
// Prints one line of JSON once it is set up.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/child-process.ts';
import { folder, port, serveActions, start, untilDone } from './programs.mjs';

const [program, audience] = process.argv.slice(2);
const origin = `http://127.0.0.1:${port}`;
const clusterPort = await freePort();
const [file, data, kept] = ['vault.hcl', 'data', 'kept.json'].map((name) => join(folder, name));
mkdirSync(data, { recursive: true });
const configuration = `
  storage "raft" {
    path = "${data}"
    node_id = "only"
  }
  listener "tcp" {
    address = "127.0.0.1:${port}"
    cluster_address = "127.0.0.1:${clusterPort}"
    tls_disable = true
  }
  api_addr = "${origin}"
  cluster_addr = "http://127.0.0.1:${clusterPort}"
  disable_mlock = true
  log_level = "error"
`;
writeFileSync(file, configuration);
start([program, 'server', `-config=${file}`]);

let root;
async function ask(method, path, body, token = root) {
  const response = await fetch(`${origin}/v1/${path}`, {
    method,
    headers: token ? { 'x-vault-token': token } : {},
    body: body && JSON.stringify(body),
    keepalive: false,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text && JSON.parse(text);
}

const policy = `
  path "identity/oidc/token/*" { capabilities = ["read"] }
  path "identity/oidc/provider/default/authorize" { capabilities = ["read"] }
`;

/** Sets it up as the page says, and returns the ID of each user. */
async function setUp() {
  const role = (name, client_id, template, key = 'my-key') =>
    ask('POST', `identity/oidc/role/${name}`, { key, client_id, template, ttl: '1h' });
  const groups = '{"groups": {{identity.entity.groups.names}}}';
  for (const [algorithm, name] of Object.entries({ RS256: 'my-key', ES256: 'ES256', EdDSA: 'EdDSA' }))
    await ask('POST', `identity/oidc/key/${name}`, { algorithm, allowed_client_ids: '*', verification_ttl: '2h' });
  await role('my-api', audience, groups);
  await role('ES256', audience, groups, 'ES256');
  await role('EdDSA', audience, groups, 'EdDSA');
  await role('without-groups', audience);
  await role('another-api', 'https://other.example.com', groups);
  await role('own-audience', undefined, groups);
  await ask('POST', 'sys/auth/userpass', { type: 'userpass' });
  await ask('PUT', 'sys/policies/acl/tokens', { policy });
  const { accessor } = (await ask('GET', 'sys/auth')).data['userpass/'];
  const entities = {};
  for (const name of ['ada', 'bob']) {
    await ask('POST', `auth/userpass/users/${name}`, { password: 'password', token_policies: 'tokens' });
    entities[name] = (await ask('POST', 'identity/entity', { name })).data.id;
    await ask('POST', 'identity/entity-alias', { name, canonical_id: entities[name], mount_accessor: accessor });
  }
  await ask('POST', 'identity/group', { name: 'read:messages', member_entity_ids: [entities.ada] });
  // Vault as the OpenID provider of an application.
  const redirect_uris = 'https://app.example.test/callback';
  const client = { redirect_uris, assignments: 'allow_all', key: 'my-key', id_token_ttl: '1h' };
  await ask('POST', 'identity/oidc/client/reader', client);
  return entities;
}

const unseal = async (key) => {
  await ask('PUT', 'sys/unseal', { key });
  await untilDone(() => ask('GET', 'identity/oidc/config'));
};
await untilDone(() => ask('GET', 'sys/seal-status'));
const isNew = !existsSync(kept);
const init = isNew
  ? await ask('PUT', 'sys/init', { secret_shares: 1, secret_threshold: 1 })
  : JSON.parse(readFileSync(kept, 'utf8'));
root = init.root_token;
await unseal(init.keys[0]);
const entities = init.entities ?? (await setUp());
writeFileSync(kept, JSON.stringify({ ...init, entities }));
const { client_id: id, client_secret: secret } = (await ask('GET', 'identity/oidc/client/reader')).data;

const logIn = async (user) =>
  (await ask('POST', `auth/userpass/login/${user}`, { password: 'password' }, '')).auth.client_token;
const control = serveActions({
  token: async ({ role, user }) =>
    (await ask('GET', `identity/oidc/token/${role}`, undefined, await logIn(user))).data.token,
  login: ({ user }) => logIn(user),
  /** Signs the user in to an application, and returns what its callback gets. */
  authorize: async ({ user, ...parameters }) =>
    ask(
      'GET',
      `identity/oidc/provider/default/authorize?${new URLSearchParams(parameters)}`,
      undefined,
      await logIn(user),
    ),
  /** Publishes the previous key for this time. */
  rotate: ({ verification_ttl = '1' }) => ask('POST', 'identity/oidc/key/my-key/rotate', { verification_ttl }),
  async withdraw() {
    await Bun.sleep(1100);
    // A write ends its cache of keys, which else lasts a minute.
    await ask('POST', 'identity/oidc/key/my-key', {});
  },
  seal: () => ask('PUT', 'sys/seal'),
  unseal: () => unseal(init.keys[0]),
});
const said = { issuer: `${origin}/v1/identity/oidc`, control, clients: { reader: { id, secret } }, entities };
process.stdout.write(`${JSON.stringify(said)}\n`);
