// Debian's glewlwyd, set up through its own administration API, on loopback and with a database in a folder of its own.
// Arguments: the API identifier, the algorithm (RS256 or ES256). Prints one line of JSON: its issuer identifier and two clients.
import { Database } from 'bun:sqlite';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/child-process.ts';
import { rsaKey, signingKey } from '../../support/keys.ts';

const [audience, algorithm] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'glewlwyd-'));
const file = (name) => join(folder, name);
// It cannot say on which port it listens.
const port = await freePort();
const origin = `http://127.0.0.1:${port}`;

const database = new Database(file('database'), { create: true });
database.run('PRAGMA journal_mode = DELETE');
database.exec(readFileSync('/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3', 'utf8'));
database.close();

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
async function administer(path, body) {
  const response = await fetch(`${origin}/api/${path}`, {
    method: 'POST',
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

/** It signs with the first key, and publishes one `kid` for two algorithms. */
const keys = [
  [rsaKey('glewlwyd'), 'RS256'],
  [signingKey('ES256', 'glewlwyd'), 'ES256'],
].map(([key, alg]) => ({ ...key.export({ format: 'jwk' }), kid: 'the only one', alg }));
if (algorithm === 'ES256') keys.reverse();
const issuer = `${origin}/api/oidc`;
await administer('mod/plugin/', {
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
  },
});
const clients = {};
for (const [id, scope] of Object.entries({ reader: 'read:messages', visitor: 'write:messages' })) {
  await administer('scope/', { name: scope, password_required: false });
  // Letters and digits only: it does not decode what RFC 6749 §2.3.1 makes clients encode.
  const secret = crypto.randomUUID().replaceAll('-', '');
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
  clients[id] = { id, secret, scope };
}
process.stdout.write(`${JSON.stringify({ issuer, clients })}\n`);
