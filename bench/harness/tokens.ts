import { createPublicKey, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { base64url } from '../../src/probe/forge/forge.ts';
import { publish, rsaKey } from '../../tests/support/keys.ts';
import { mintToken, nowSeconds, SIGNING_KID } from '../../tests/support/mint.ts';

/** The issuer and audience of every token; nothing is ever fetched from these names. */
export const issuer = 'https://tenant.example.com/';
export const audience = 'https://api.example.com';

export type Tokens = ReturnType<typeof prepareTokens>;
export type TokenFile = keyof Tokens['lists'];

/** The servers that are sent all of them remember none, so the same ones can be sent again. */
const tokenCount = 2000;

/** Returns a token of the shape and size (about 800 bytes) that hosted authorization servers issue. */
function makeToken(): string {
  const claims = {
    sub: `auth0|${randomBytes(12).toString('hex')}`,
    aud: [audience, `${issuer}userinfo`],
    exp: nowSeconds() + 24 * 3600,
    scope: 'openid profile read:messages',
    azp: randomBytes(16).toString('hex'),
    jti: randomUUID(),
  };
  return mintToken(issuer, { claims });
}

/** A signature of the right length that is wrong in a place of its own, so that no two forgeries are alike. */
function forge(token: string): string {
  const dot = token.lastIndexOf('.') + 1;
  const signature = Buffer.from(token.slice(dot), 'base64url');
  randomBytes(16).copy(signature, 32);
  return token.slice(0, dot) + base64url(signature);
}

const withUnknownKid = (token: string) =>
  base64url(JSON.stringify({ alg: 'RS256', typ: 'JWT', kid: randomUUID() })) + token.slice(token.indexOf('.'));

/** Everything a load needs, made before anything is measured: signing takes some seconds. */
export function prepareTokens() {
  const folder = mkdtempSync(join(tmpdir(), 'protected-api-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const file = (name: string) => join(folder, name);
  const publicKeyFile = file('public-key.pem');
  const key = rsaKey(SIGNING_KID);
  const first = makeToken();
  const many = Array.from({ length: tokenCount }, makeToken);
  const lists = { one: [first], many, forged: many.map(forge), 'unknown-kids': many.map(withUnknownKid) };
  for (const [name, tokens] of Object.entries(lists)) writeFileSync(file(name), tokens.join('\n'));
  writeFileSync(publicKeyFile, createPublicKey(key).export({ type: 'spki', format: 'pem' }));
  return { first, lists, file, publicKeyFile, jwks: { keys: [publish(key, SIGNING_KID)] } };
}
