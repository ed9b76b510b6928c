import { rsaKey } from '../../support/keys.ts';
import { base64url, mintToken, SIGNING_KID } from '../../support/mint.ts';
import type { Attack } from './attack.ts';
import { forgeWithGarbage, signOneModulusUp } from './forgery.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const changeSignature = (change: (signature: string) => string) => (token: string) =>
  token.replace(/[^.]*$/, (signature) => change(signature));

const missing: readonly Attack[] = [
  { name: 'an empty signature', advisory: 'CVE-2020-28042', token: { reshape: changeSignature(() => '') } },
  {
    name: 'no signature part',
    advisory: 'CVE-2020-28042',
    token: { reshape: (token) => token.replace(/\.[^.]*$/, '') },
  },
  { name: 'a signature of zeros', advisory: 'CVE-2022-21449', token: { signWith: () => Buffer.alloc(256) } },
  { name: 'a signature of ones', advisory: 'CVE-2022-21449', token: { signWith: () => Buffer.alloc(256, 0xff) } },
  {
    name: 'a signature that is the number 1',
    advisory: 'RFC 8017 §8.2.2',
    token: { signWith: () => Buffer.alloc(256).fill(1, 255) },
  },
  { name: 'a signature of one byte', advisory: 'RFC 8017 §8.2.2', token: { signWith: () => Buffer.alloc(1) } },
];

const forged: readonly Attack[] = [
  {
    name: 'a forged cube root with garbage behind the hash, for a key with exponent 3',
    advisory: 'CVE-2006-4339, CVE-2016-1494',
    token: { header: { kid: 'cubic' }, signWith: forgeWithGarbage },
  },
  {
    name: 'a good signature one modulus up',
    advisory: 'RFC 8017 §8.2.2',
    token: { signWith: (input) => signOneModulusUp(input, rsaKey(SIGNING_KID)) },
  },
  { name: 'a signature by a key that nobody published', advisory: 'RFC 8725 §3.3', token: { key: rsaKey('stranger') } },
  { name: 'a signature by another published key', advisory: 'RFC 8725 §3.10', token: { key: rsaKey('other') } },
  {
    name: 'a signature by a key for encryption',
    advisory: 'GHSA-29f5-h73v-w8j9',
    token: { header: { kid: 'encrypting' }, key: rsaKey('encrypting') },
  },
  {
    name: 'a signature by a key of 1024 bits',
    advisory: 'CVE-2022-23539, RFC 7518 §3.3',
    token: { header: { kid: 'weak' }, key: rsaKey('weak', 1024) },
  },
  {
    name: 'the signature of another token',
    advisory: 'RFC 8725 §3.3',
    token: (issuer) => {
      const [header, , signature] = mintToken(issuer).split('.');
      const [, payload] = mintToken(issuer, { claims: { sub: 'administrator' } }).split('.');
      return `${header}.${payload}.${signature}`;
    },
  },
  {
    name: 'a bad signature on an expired token, which must not be told as expired',
    advisory: 'CVE-2024-51744',
    token: { key: rsaKey('stranger'), claims: { exp: 1 } },
  },
  {
    name: 'a bad signature on a token for another audience, which must not be told so',
    advisory: 'CVE-2024-51744',
    token: { key: rsaKey('stranger'), claims: { aud: 'other' } },
  },
];

/** A signature of 256 bytes ends in a letter with four spare bits: fifteen other letters mean the same bytes. */
const otherLastLetters: readonly Attack[] = Array.from({ length: 15 }, (_, at) => ({
  name: `the same signature with its spare bits set to ${at + 1}`,
  advisory: 'RFC 4648 §3.5, CVE-2026-102269',
  token: {
    reshape: changeSignature(
      (signature) => signature.slice(0, -1) + ALPHABET.charAt(ALPHABET.indexOf(signature.slice(-1)) + at + 1),
    ),
  },
}));

const spelling = (name: string, advisory: string, change: (signature: string) => string): Attack => ({
  name: `the same signature ${name}`,
  advisory,
  token: { reshape: changeSignature(change) },
});

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
