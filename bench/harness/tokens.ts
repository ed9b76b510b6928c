import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The issuer and audience of every token; nothing is ever fetched from these names. */
export const issuer = 'https://tenant.example.com/';
export const audience = 'https://api.example.com';

/**
 * What the files are named after, one token a line. `long` tokens exceed the service's limit of 8 KiB, `huge` ones Bun's
 * limit of 16 KiB for all headers. `unknown-kids` has parts of tokens for load.lua: what precedes the kid's nine digits,
 * what follows them, and the thousand spellings of three digits.
 */
export type TokenFile = 'RS256' | 'forged' | 'expired' | 'long' | 'huge' | 'unknown-kids';

/** Everything a load needs, made before anything is measured. */
export interface Tokens {
  readonly jwks: string;
  /** Path of a PEM file. */
  readonly publicKeyFile: string;
  /** Path of a file with a token a line. */
  file(name: TokenFile): string;
  /** The first token of a file. */
  first(name: TokenFile): string;
  /** A token with a kid that no load sends and no earlier call returned. */
  unknownKid(): string;
}

const lifetimeSeconds = 24 * 3600;
export const folder = join(tmpdir(), 'protected-api-benchmarks');
const pathOf = (name: string) => join(folder, name);
const encode = (value: string | Buffer) => Buffer.from(value).toString('base64url');
const kid = 'Mn2ZqXhVtY0bR7cD-RS256';
const publicKeyFile = pathOf('public-key.pem');

/** Signs a token of the shape and size (about 800 bytes) that hosted authorization servers issue. */
function mintToken(key: KeyObject, expiresAt: number): string {
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
  const header = { alg: 'RS256', typ: 'JWT', kid };
  const signed = `${encode(JSON.stringify(header))}.${encode(JSON.stringify(payload))}`;
  return `${signed}.${encode(sign('sha256', Buffer.from(signed), key))}`;
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

const write = (name: string, lines: readonly string[]) => writeFileSync(pathOf(name), `${lines.join('\n')}\n`);

function makeTokens(): void {
  const now = Math.floor(Date.now() / 1000);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(publicKeyFile, publicKey.export({ type: 'spki', format: 'pem' }));
  const tokens = Array.from({ length: 20_000 }, () => mintToken(privateKey, now + lifetimeSeconds));
  write('RS256', tokens);
  write(
    'expired',
    Array.from({ length: 500 }, (_, n) => mintToken(privateKey, now - 60 - n)),
  );
  const lengthen = (length: number) => tokens.slice(0, 200).map((token) => token + 'A'.repeat(length));
  write('forged', tokens.map(forge));
  write('long', lengthen(9 * 1024));
  write('huge', lengthen(20 * 1024));
  write('unknown-kids', unknownKidParts(tokens[0] ?? ''));
  // Written last, so that a run that was interrupted leaves no incomplete set.
  write('signed-at', [String(now)]);
}

const readFirst = (name: string) => readFileSync(pathOf(name), 'utf8').split('\n', 1)[0] ?? '';

function areFresh(): boolean {
  return existsSync(pathOf('signed-at')) && Date.now() / 1000 - Number(readFirst('signed-at')) < lifetimeSeconds / 2;
}

/** Returns the tokens of the last half day, or makes new ones: signing takes some twenty seconds. */
export function prepareTokens(): Tokens {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!areFresh()) {
    console.error('Signing tokens');
    makeTokens();
  }
  const jwk = createPublicKey(readFileSync(publicKeyFile)).export({ format: 'jwk' });
  const keys = [{ ...jwk, kid, use: 'sig', alg: 'RS256' }];
  const known = new Map<TokenFile, string>();
  const first = (name: TokenFile) => {
    const token = known.get(name) ?? readFirst(name);
    known.set(name, token);
    return token;
  };
  const header = () => encode(JSON.stringify({ alg: 'RS256', typ: 'JWT', kid: randomUUID() }));
  const unknownKid = () => header() + first('RS256').slice(first('RS256').indexOf('.'));
  return { jwks: JSON.stringify({ keys }), publicKeyFile, file: pathOf, first, unknownKid };
}
