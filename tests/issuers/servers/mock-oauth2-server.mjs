// mock-oauth2-server of NAV. Arguments: the folder of its libraries, the API identifier. KEYS may name its key, which it calls
// after the issuer. Prints one line of JSON once it listens.
import { spawn } from 'node:child_process';
import { freePort } from '../../support/child-process.ts';
import { rsaKey } from '../../support/keys.ts';

const [libraries, audience] = process.argv.slice(2);
const { KEYS, PORT = '0' } = process.env;
const port = PORT === '0' ? await freePort() : PORT;
const claims = { sub: 'ada', aud: [audience], scope: 'read:messages' };
const requestMappings = [
  { requestParam: 'resource', match: audience, claims },
  { requestParam: 'grant_type', match: 'authorization_code', claims: { sub: 'ada' } },
];
const initialKeys = KEYS && JSON.stringify({ ...rsaKey(KEYS.split(' ')[0]).export({ format: 'jwk' }), kid: 'any' });
const JSON_CONFIG = JSON.stringify({
  tokenCallbacks: [{ issuerId: 'default', requestMappings }],
  ...(initialKeys && { tokenProvider: { keyProvider: { initialKeys, algorithm: 'RS256' } } }),
});
const main = 'no.nav.security.mock.oauth2.StandaloneMockOAuth2ServerKt';
const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'java', '-cp', `${libraries}/*`, main], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, JSON_CONFIG, SERVER_HOSTNAME: '127.0.0.1', SERVER_PORT: port, LOG_LEVEL: 'ERROR' },
});
child.on('exit', (code) => process.exit(code ?? 1));
const issuer = `http://127.0.0.1:${port}/default`;
while ((await fetch(`${issuer}/.well-known/openid-configuration`).catch(() => undefined))?.status !== 200)
  await Bun.sleep(200);
process.stdout.write(`${JSON.stringify({ issuer })}\n`);
