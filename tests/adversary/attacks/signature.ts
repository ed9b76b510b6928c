import { rsaKey } from '../../support/keys.ts';
import { base64url, mintToken, SIGNING_KID } from '../../support/mint.ts';
import { type Attack, attack } from './attack.ts';
import { forgeWithGarbage, signOneModulusUp } from './forgery.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const changeSignature = (change: (signature: string) => string) => (token: string) =>
  token.replace(/[^.]*$/, (signature) => change(signature));

const missing: readonly Attack[] = [
  attack('an empty signature', 'CVE-2020-28042', { reshape: changeSignature(() => '') }),
  attack('no signature part', 'CVE-2020-28042', { reshape: (token) => token.replace(/\.[^.]*$/, '') }),
  attack('a signature of zeros', 'CVE-2022-21449', { signWith: () => Buffer.alloc(256) }),
  attack('a signature of ones', 'CVE-2022-21449', { signWith: () => Buffer.alloc(256, 0xff) }),
  attack('a signature that is the number 1', 'RFC 8017 §8.2.2', { signWith: () => Buffer.alloc(256).fill(1, 255) }),
  attack('a signature of one byte', 'RFC 8017 §8.2.2', { signWith: () => Buffer.alloc(1) }),
];

const forged: readonly Attack[] = [
  attack('a forged cube root with garbage behind the hash, for a key with exponent 3', 'CVE-2006-4339, CVE-2016-1494', {
    header: { kid: 'cubic' },
    signWith: forgeWithGarbage,
  }),
  attack('a good signature one modulus up', 'RFC 8017 §8.2.2', {
    signWith: (input) => signOneModulusUp(input, rsaKey(SIGNING_KID)),
  }),
  attack('a signature by a key that nobody published', 'RFC 8725 §3.3', { key: rsaKey('stranger') }),
  attack('a signature by another published key', 'RFC 8725 §3.10', { key: rsaKey('other') }),
  attack('a signature by a key for encryption', 'GHSA-29f5-h73v-w8j9', {
    header: { kid: 'encrypting' },
    key: rsaKey('encrypting'),
  }),
  attack('a signature by a key of 1024 bits', 'CVE-2022-23539, RFC 7518 §3.3', {
    header: { kid: 'weak' },
    key: rsaKey('weak', 1024),
  }),
  attack('the signature of another token', 'RFC 8725 §3.3', (issuer) => {
    const [header, , signature] = mintToken(issuer).split('.');
    const [, payload] = mintToken(issuer, { claims: { sub: 'administrator' } }).split('.');
    return `${header}.${payload}.${signature}`;
  }),
  attack('a bad signature on an expired token, which must not be told as expired', 'CVE-2024-51744', {
    key: rsaKey('stranger'),
    claims: { exp: 1 },
  }),
  attack('a bad signature on a token for another audience, which must not be told so', 'CVE-2024-51744', {
    key: rsaKey('stranger'),
    claims: { aud: 'other' },
  }),
];

/** A signature of 256 bytes ends in a letter with four spare bits: fifteen other letters mean the same bytes. */
const otherLastLetters: readonly Attack[] = Array.from({ length: 15 }, (_, at) =>
  attack(`the same signature with its spare bits set to ${at + 1}`, 'RFC 4648 §3.5, CVE-2026-102269', {
    reshape: changeSignature(
      (signature) => signature.slice(0, -1) + ALPHABET.charAt(ALPHABET.indexOf(signature.slice(-1)) + at + 1),
    ),
  }),
);

const spelling = (name: string, advisory: string, change: (signature: string) => string): Attack =>
  attack(`the same signature ${name}`, advisory, { reshape: changeSignature(change) });

const respelled: readonly Attack[] = [
  ...otherLastLetters,
  spelling('with padding', 'CVE-2026-62995', (signature) => `${signature}==`),
  spelling('with characters that are no base64url behind it', 'CVE-2026-102269', (signature) => `${signature}!!!!`),
  spelling(
    'with characters that are no base64url in it',
    'GHSA-3fvg-4v2m-98jf',
    (signature) => `${signature.slice(0, 9)}!@$%${signature.slice(9)}`,
  ),
  spelling(
    'with an escape in it',
    'GHSA-3fvg-4v2m-98jf',
    (signature) => `${signature.slice(0, 9)}\\11${signature.slice(9)}`,
  ),
  spelling('with a leading zero byte', 'RFC 8017 §8.2.2', (signature) =>
    base64url(Buffer.concat([Buffer.of(0), Buffer.from(signature, 'base64url')])),
  ),
  spelling('with a byte behind it', 'RFC 8017 §8.2.2', (signature) =>
    base64url(Buffer.concat([Buffer.from(signature, 'base64url'), Buffer.of(0)])),
  ),
  spelling(
    'in the standard alphabet',
    'RFC 7515 §2',
    (signature) => `+/${signature.replaceAll('-', '+').replaceAll('_', '/')}`,
  ),
  spelling('with a dot behind it', 'RFC 7515 §7.1', (signature) => `${signature}.`),
];

/** The signature is missing, forged, borrowed, or a good one spelled another way. */
export const signatureAttacks: readonly Attack[] = [...missing, ...forged, ...respelled];
