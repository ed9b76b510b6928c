import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  randomUUID,
  sign,
} from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The issuer and audience of every token; nothing is ever fetched from these names. */
export const issuer = 'https://tenant.example.com/';
export const audience = 'https://api.example.com';

/** Everything a load needs, made before anything is measured. Paths are files with a token a line. */
export interface Tokens {
  readonly jwks: string;
  readonly publicKeyPemFile: string;
  readonly validToken: string;
  readonly forgedToken: string;
  /** A token with a kid that no load sends and no earlier call returned. */
  readonly unknownKidToken: () => string;
  readonly validFile: string;
  readonly forgedFile: string;
  readonly expiredFile: string;
  /** Tokens above the service's limit of 8 KiB. */
  readonly longFile: string;
  /** Tokens above Bun's limit of 16 KiB for all headers together. */
  readonly hugeFile: string;
  /** See load.lua: the two constant parts of a token, then the thousand spellings of three digits. */
  readonly unknownKidsFile: string;
}

const kid = 'Mn2ZqXhVtY0bR7cD4kLpE';
const tokenCount = 20_000;
const lifetimeSeconds = 24 * 3600;

const folder = join(tmpdir(), 'protected-api-bench');
const file = (name: string) => join(folder, name);
const encode = (value: string | Buffer) => Buffer.from(value).toString('base64url');

/** Signs a token of the shape and size (about 800 bytes) that hosted authorization servers issue. */
export function mintToken(privateKey: KeyObject, expiresAt: number): string {
  const payload = {
    iss: issuer,
    sub: `auth0|${randomBytes(12).toString('hex')}`,
    aud: [audience, `${issuer}userinfo`],
    iat: expiresAt - lifetimeSeconds,
    exp: expiresAt,
    scope: 'openid profile read:messages',
    azp: randomBytes(16).toString('hex'),
    jti: randomUUID(),
  };
  const signed = `${encode(JSON.stringify({ alg: 'RS256', typ: 'JWT', kid }))}.${encode(JSON.stringify(payload))}`;
  return `${signed}.${encode(sign('sha256', Buffer.from(signed), privateKey))}`;
}

/** A signature of the right length that is wrong in a place of its own, so that no two forgeries are alike. */
function forge(token: string): string {
  const dot = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(dot + 1), 'base64url');
  randomBytes(16).copy(signature, 32);
  return `${token.slice(0, dot)}.${encode(signature)}`;
}

function unknownKidParts(token: string): string[] {
  // 36 bytes before the digits, 3 digits a group: both are whole base64 groups, so the parts can be joined.
  const before = encode('{"alg":"RS256","typ":"JWT","kid":"k-');
  const after = `${encode('"}')}${token.slice(token.indexOf('.'))}`;
  const digits = Array.from({ length: 1000 }, (_, n) => encode(String(n).padStart(3, '0')));
  return [before, after, ...digits];
}

function makeKeys(): KeyObject {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(file('private.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  writeFileSync(file('public.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
  return privateKey;
}

const writeLines = (name: string, lines: readonly string[]) => writeFileSync(file(name), `${lines.join('\n')}\n`);

function makeTokens(privateKey: KeyObject): void {
  const now = Math.floor(Date.now() / 1000);
  const valid = Array.from({ length: tokenCount }, () => mintToken(privateKey, now + lifetimeSeconds));
  const expired = Array.from({ length: 500 }, (_, n) => mintToken(privateKey, now - 60 - n));
  writeLines('valid.txt', valid);
  writeLines('forged.txt', valid.map(forge));
  writeLines('expired.txt', expired);
  const lengthen = (length: number) => valid.slice(0, 200).map((token) => token + 'A'.repeat(length));
  writeLines('long.txt', lengthen(9 * 1024));
  writeLines('huge.txt', lengthen(20 * 1024));
  writeLines('unknown-kids.txt', unknownKidParts(valid[0] ?? ''));
  // Written last, so that a run which was cut short is not taken for whole.
  writeFileSync(file('made-at'), String(now));
}

const readFirstLine = (name: string) => readFileSync(file(name), 'utf8').split('\n', 1)[0] ?? '';

function areFresh(): boolean {
  if (!existsSync(file('made-at'))) return false;
  const age = Date.now() / 1000 - Number(readFileSync(file('made-at'), 'utf8'));
  return age < lifetimeSeconds / 2;
}

/** Returns the tokens of the last half day, or makes new ones: signing 20,000 takes some fifteen seconds. */
export function prepareTokens(): Tokens {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!areFresh()) {
    console.error(`Signing ${tokenCount} tokens`);
    makeTokens(makeKeys());
  }
  const publicKey = createPublicKey(readFileSync(file('public.pem')));
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' };
  const validToken = readFirstLine('valid.txt');
  return {
    jwks: JSON.stringify({ keys: [jwk] }),
    publicKeyPemFile: file('public.pem'),
    validToken,
    forgedToken: readFirstLine('forged.txt'),
    unknownKidToken: () =>
      encode(JSON.stringify({ alg: 'RS256', typ: 'JWT', kid: randomUUID() })) +
      validToken.slice(validToken.indexOf('.')),
    validFile: file('valid.txt'),
    forgedFile: file('forged.txt'),
    expiredFile: file('expired.txt'),
    longFile: file('long.txt'),
    hugeFile: file('huge.txt'),
    unknownKidsFile: file('unknown-kids.txt'),
  };
}

/** The key the tokens were signed with, for benchmarks that need more of them. */
export const readPrivateKey = (): KeyObject => createPrivateKey(readFileSync(file('private.pem')));
