// mock-oauth2-server of NAV. Arguments: the folder of its libraries, the API identifier. Prints one line of JSON once it listens.
import { spawn } from 'node:child_process';
import { freePort } from '../../support/child-process.ts';

const [libraries, audience] = process.argv.slice(2);
const port = await freePort();
const claims = { sub: 'ada', aud: [audience], scope: 'read:messages' };
const requestMappings = [{ requestParam: 'resource', match: audience, claims }];
const JSON_CONFIG = JSON.stringify({ tokenCallbacks: [{ issuerId: 'default', requestMappings }] });
const main = 'no.nav.security.mock.oauth2.StandaloneMockOAuth2ServerKt';
spawn('setpriv', ['--pdeathsig', 'KILL', 'java', '-cp', `${libraries}/*`, main], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, JSON_CONFIG, SERVER_HOSTNAME: '127.0.0.1', SERVER_PORT: port, LOG_LEVEL: 'ERROR' },
});
const issuer = `http://127.0.0.1:${port}/default`;
while ((await fetch(`${issuer}/.well-known/openid-configuration`).catch(() => undefined))?.status !== 200)
  await Bun.sleep(200);
process.stdout.write(`${JSON.stringify({ issuer })}\n`);
