import { createHmac } from 'node:crypto';
import type { Forgery } from '../forge/forge.ts';
import { publishedSecret, sideKey } from '../issuer/served-issuer.ts';
import { headers } from '../row/changes.ts';
import { acceptedTokens, isFetched, tokens } from '../row/topic.ts';

// Tokens by other keys that the issuer publishes, and with odd key IDs.

const by =
  (name: string, kid: string): Forgery =>
  () => ({ header: { kid: `probe-${kid}` }, key: sideKey(name) });

export const keyTokens = tokens(
  'key',
  {
    rule: 'RFC 7517 §4; RFC 8725 §3.1',
    needs: 'issuer',
    remedy: 'Take a library that reads use, key_ops and alg of a JWK, and refuses RSA keys below 2,048 bits',
    ownCode: 'Use a key only as its use, key_ops and alg say, and RSA keys from 2,048 bits on',
    skip: isFetched,
  },
  {
    twins: [
      'tokens by either of two keys under one kid',
      acceptedTokens(by('first twin', 'twins'), by('second twin', 'twins')),
      {
        level: 'should',
        rule: 'RFC 7517 §4.5',
        remedy: 'Publish each key under a kid of its own, or take a library that tries both',
        ownCode: 'Try each key that has the kid and fits alg',
      },
    ],
    'neither-twin': ['a token by neither of two keys under one kid', by('rotated', 'twins')],
    other: [
      'a token by one published key that names another',
      [by('first twin', 'rotated'), ({ header }) => ({ header: { kid: header.kid }, key: sideKey('rotated') })],
    ],
    weak: ['a token by a key of 1,024 bits (CVE-2022-23539)', by('weak', 'weak'), { rule: 'RFC 7518 §3.3' }],
    encrypting: [
      'a token by a key for encryption (GHSA-29f5-h73v-w8j9)',
      by('rotated', 'encrypting'),
      { level: 'should', rule: 'RFC 7517 §4.2' },
    ],
    wrapping: [
      'a token by a key whose key_ops lack verify',
      by('rotated', 'wrapping'),
      { level: 'should', rule: 'RFC 7517 §4.3' },
    ],
    'other-alg': ['a token by a key for PS256', by('rotated', 'for-ps256')],
    symmetric: [
      'an HMAC with a secret that the issuer published',
      () => ({
        header: { alg: 'HS256', kid: 'probe-symmetric' },
        signWith: (input) => createHmac('sha256', publishedSecret).update(input).digest(),
      }),
    ],
  },
);

export const keyIdTokens = tokens(
  'kid',
  {
    rule: 'RFC 8725 §3.10; RFC 7515 §4.1.4',
    needs: 'issuer',
    level: 'should',
    remedy: 'Let a client for JWK Sets find the key (createRemoteJWKSet of jose, jwks-rsa, PyJWKClient)',
    ownCode: 'Look a kid up among the keys of the issuer, as a string and exactly, in a Map',
  },
  {
    unknown: ['a kid that the issuer never published', headers('kid', 'never-published')],
    path: [
      'a kid that is a path or a query',
      headers('kid', '../../../../dev/null', 'file:///dev/null', "' UNION SELECT 'secret' -- "),
    ],
    members: [
      'a kid that is the name of a member of every object (CVE-2024-34273)',
      headers('kid', '__proto__', 'constructor', 'hasOwnProperty', 'length', '0'),
    ],
    similar: [
      'a kid that is similar to the right one',
      ['\0', ' '].map(
        (more): Forgery =>
          ({ header }) => ({ header: { kid: `${header.kid}${more}` } }),
      ),
    ],
    type: [
      'a kid that is not a string',
      [...headers('kid', 0, true, null, {}), ({ header }) => ({ header: { kid: [header.kid] } })],
    ],
    'unknown-expired': [
      'an unknown kid, expired',
      { claims: { exp: 1 }, header: { kid: 'never-published' } },
      { level: 'must' },
    ],
  },
);
