import { Buffer } from 'node:buffer';
import { createHmac } from 'node:crypto';
import type { Forgery } from '../forge/forge.ts';
import { publishedSecret, sideKey } from '../issuer/served-issuer.ts';
import { headers } from '../row/changes.ts';
import type { Attempt, Trial } from '../row/row.ts';
import { acceptedTokens, isFetched, rejectedTokens, tokens } from '../row/topic.ts';

// Tokens by other keys that the issuer publishes, and with odd key IDs.

const by =
  (name: string, kid: string): Forgery =>
  () => ({ header: { kid: `probe-${kid}` }, key: sideKey(name) });

export const keyTokens = tokens(
  'key',
  {
    rule: 'RFC 7517 §4; RFC 8725 §3.1',
    needs: 'issuer',
    remedy: 'Take a library that reads use, key_ops and alg of a JWK, and rejects RSA keys below 2,048 bits',
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
    'zero-signature': [
      'r and s of zero for a key of ES256, as JWS and as DER (CVE-2022-21449)',
      [Buffer.alloc(64), Buffer.from('3006020100020100', 'hex')].map((zeros) => ({
        header: { alg: 'ES256', kid: 'probe-curve' },
        signWith: () => zeros,
      })),
      { rule: 'FIPS 186-5 §6.4.2; RFC 8725 §3.1' },
    ],
    symmetric: [
      'an HMAC with a secret that the issuer published',
      () => ({
        header: { alg: 'HS256', kid: 'probe-symmetric' },
        signWith: (input) => createHmac('sha256', publishedSecret).update(input).digest(),
      }),
      {
        remedy: 'Accept asymmetric algorithms only: everybody knows a secret that the issuer publishes',
        ownCode: 'Skip keys of the type oct in a key set',
      },
    ],
  },
);

const withoutKid: Attempt = { token: { header: { kid: undefined } } };
const withUnknownKid: Attempt = { token: { header: { kid: 'never-published' } } };
/** Whether an API has one key, whatever a token says: it fetches none, or takes a token with any kid and with none. */
async function hasStaticKey({ server, sendOnce }: Trial): Promise<boolean> {
  if (server) return server.fetches === 0;
  const [absent, unknown] = [await sendOnce(withoutKid), await sendOnce(withUnknownKid)];
  return absent.outcome === 'served' && unknown.outcome === 'served';
}
/** Rejects tokens with these key IDs, unless the API looks none up. */
const looked = (...forgeries: readonly Forgery[]) => {
  const way = rejectedTokens(...forgeries);
  return {
    ...way,
    requests: way.requests + 2,
    run: async (trial: Trial) =>
      (await hasStaticKey(trial))
        ? { verdict: 'skipped' as const, got: 'The API has one key, and looks none up' }
        : way.run(trial),
  };
};

export const keyIdTokens = tokens(
  'kid',
  {
    rule: 'RFC 8725 §3.10; RFC 7515 §4.1.4',
    needs: 'issuer',
    level: 'should',
    remedy: 'Let a client for JWK Sets find the key by its kid',
    ownCode: 'Look a kid up among the keys of the issuer, as a string and exactly, in a Map',
  },
  {
    unknown: ['a kid that the issuer never published', looked(...headers('kid', 'never-published'))],
    path: [
      'a kid that is a path or a query',
      looked(...headers('kid', '../../../../dev/null', 'file:///dev/null', "' UNION SELECT 'secret' -- ")),
    ],
    members: [
      'a kid that is the name of a member of every object (CVE-2024-34273)',
      looked(...headers('kid', '__proto__', 'constructor', 'hasOwnProperty', 'length', '0')),
    ],
    similar: [
      'a kid that is similar to the right one',
      looked(
        ...['\0', ' '].map(
          (more): Forgery =>
            ({ header }) => ({ header: { kid: `${header.kid}${more}` } }),
        ),
      ),
    ],
    type: [
      'a kid that is not a string',
      looked(...headers('kid', 0, true, null, {}), ({ header }) => ({ header: { kid: [header.kid] } })),
    ],
    'unknown-expired': [
      'an unknown kid, expired',
      { claims: { exp: 1 }, header: { kid: 'never-published' } },
      { level: 'must' },
    ],
  },
);
