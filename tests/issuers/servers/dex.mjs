// Dex with users of its own. Arguments: its program, the client ID of the API.
// Prints one line of JSON once it listens.
import { Database } from 'bun:sqlite';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { end, folder, port, serveActions, start, untilOk } from './programs.mjs';

const [program, audience] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}/dex`;
const hash = await Bun.password.hash('password', { algorithm: 'bcrypt', cost: 10 });
const [file, database] = ['config.json', 'database'].map((name) => join(folder, name));

const client = (id, others) => ({
  id,
  name: id,
  secret: `${id}-secret`,
  redirectURIs: ['https://app.example.test/callback'],
  ...others,
});
const user = (name, groups) => ({ email: name, username: name, userID: `id of ${name}`, hash, groups });
const configurationFor = (algorithm) => ({
  issuer,
  storage: { type: 'sqlite3', config: { file: database } },
  web: { http: `127.0.0.1:${port}` },
  logger: { level: 'error' },
  oauth2: {
    grantTypes: ['authorization_code', 'refresh_token', 'client_credentials', 'password'],
    passwordConnector: 'local',
    skipApprovalScreen: true,
  },
  signer: { type: 'local', config: { keysRotationPeriod: '6h', algorithm } },
  // As the page says.
  staticClients: [
    client(audience, { trustedPeers: ['reader'] }),
    client('reader', { clientCredentialsClaims: { groups: ['read:messages'] } }),
    client('visitor', { clientCredentialsClaims: { groups: ['read:messages'] } }),
  ],
  // With SQLite, a refresh for a user of its own waits for itself: it asks for the password within a transaction.
  connectors: [{ type: 'mockCallback', id: 'elsewhere', name: 'A login elsewhere' }],
  enablePasswordDB: true,
  staticPasswords: [user('ada', ['read:messages']), user('bob', [])],
});

async function run(algorithm = 'RS256') {
  writeFileSync(file, JSON.stringify(configurationFor(algorithm)));
  const child = start([program, 'serve', file]);
  await untilOk(`${issuer}/.well-known/openid-configuration`);
  return child;
}
let server = await run();
/** Changes it while it is stopped, because it has no API for its keys. */
const change =
  (apply) =>
  async ({ algorithm }) => {
    await end(server);
    apply();
    server = await run(algorithm);
  };
const set = (assignment) => () => {
  const storage = new Database(database);
  storage.run(`UPDATE keys SET ${assignment}`);
  storage.close();
};
const control = serveActions({
  // The time at which it makes a new key has passed. Only a new key is for another algorithm.
  rotate: change(set("next_rotation = '2000-01-01 00:00:00+00:00'")),
  withdraw: change(set("verification_keys = CAST('[]' AS BLOB)")),
  /** Like a restart with the storage `memory`. */
  forget: change(() => rmSync(database)),
});
process.stdout.write(`${JSON.stringify({ issuer, control })}\n`);
