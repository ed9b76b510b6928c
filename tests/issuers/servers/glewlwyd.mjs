// Debian's glewlwyd, set up through its own administration API, on loopback and with a database in a folder of its own.
// Arguments: the API identifier, the algorithm (RS256 or ES256). KEYS may name its keys. Its database is in DATA, if that is set.
// Prints one line of JSON: its issuer identifier and two clients.
import { Database } from 'bun:sqlite';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/child-process.ts';
import { signingKey } from '../../support/keys.ts';

const [audience, algorithm = 'RS256'] = process.argv.slice(2);
const { DATA, KEYS = 'issuer', PORT = '0' } = process.env;
const folder = DATA ?? mkdtempSync(join(tmpdir(), 'glewlwyd-'));
const file = (name) => join(folder, name);
// It cannot say on which port it listens.
const port = PORT === '0' ? await freePort() : PORT;
const origin = `http://127.0.0.1:${port}`;

const isNew = !existsSync(file('database'));
if (isNew) {
  const database = new Database(file('database'), { create: true });
  database.run('PRAGMA journal_mode = DELETE');
  database.exec(readFileSync('/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3', 'utf8'));
  database.close();
}

const settings = readFileSync('/etc/glewlwyd/glewlwyd.conf', 'utf8')
  .replace(/^port=.*/m, `port=${port}\nbind_address="127.0.0.1"`)
  .replace(/^external_url=.*/m, `external_url="${origin}/"`)
  .replace(/^log_mode=.*/m, 'log_mode="console"')
  .replace(/^log_level=.*/m, 'log_level="NONE"')
  .replace(/^@include.*/m, `database = { type = "sqlite3" path = "${file('database')}" };`);
writeFileSync(file('settings'), settings);
// It ends with this process, however that ends.
const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'glewlwyd', `--config-file=${file('settings')}`], {
  stdio: 'inherit',
});
child.on('exit', (code) => process.exit(code ?? 1));

let cookie = '';
async function administer(path, body, method = 'POST') {
  const response = await fetch(`${origin}/api/${path}`, {
    method,
    // It may close a connection that is kept.
    keepalive: false,
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  cookie = response.headers.get('set-cookie')?.replace(/;.*/, '') ?? cookie;
}
while (!(await fetch(`${origin}/config`).catch(() => undefined))) await Bun.sleep(50);
await administer('auth/', { username: 'admin', password: 'password' });

/** It signs with the first key. Keys for two algorithms may have one `kid`. */
const keys = KEYS.split(' ').flatMap((name) => {
  const both = ['RS256', 'ES256'].map((alg) => ({
    ...signingKey(alg, name).export({ format: 'jwk' }),
    kid: name,
    alg,
  }));
  return algorithm === 'ES256' ? both.reverse() : both;
});
const issuer = `${origin}/api/oidc`;
const plugin = {
  module: 'oidc',
  name: 'oidc',
  display_name: 'OpenID Connect',
  enabled: true,
  parameters: {
    iss: issuer,
    'jwks-private': JSON.stringify({ keys }),
    'access-token-duration': 3600,
    'refresh-token-duration': 3600,
    'code-duration': 600,
    'allow-non-oidc': true,
    'auth-type-client-enabled': true,
    'auth-type-code-enabled': true,
    'auth-type-refresh-enabled': true,
    'jwks-show': true,
    'resource-allowed': true,
    'resource-scope': { 'read:messages': [audience], 'write:messages': [audience] },
    'oauth-dpop-allowed': true,
    'oauth-dpop-iat-duration': 300,
  },
};
if (isNew) await administer('mod/plugin/', plugin);
else {
  await administer('mod/plugin/oidc', plugin, 'PUT');
  await administer('mod/plugin/oidc/reset', {}, 'PUT');
}
const clients = {};
for (const [id, scope] of Object.entries({ reader: 'read:messages', visitor: 'write:messages' })) {
  // Letters and digits only: it does not decode what RFC 6749 §2.3.1 makes clients encode.
  const secret = `${id}secret`;
  clients[id] = { id, secret, scope };
  if (!isNew) continue;
  await administer('scope/', { name: scope, password_required: false });
  await administer('client/', {
    client_id: id,
    confidential: true,
    password: secret,
    token_endpoint_auth_method: ['client_secret_basic'],
    authorization_type: ['client_credentials'],
    redirect_uri: [`${origin}/nowhere`],
    scope: [scope],
    enabled: true,
  });
}
process.stdout.write(`${JSON.stringify({ issuer, clients })}\n`);
