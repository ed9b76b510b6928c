import { Buffer } from 'node:buffer';
import { createHash, type KeyObject, sign } from 'node:crypto';
import { certificateOf } from '../forge/certificate.ts';
import {
  type Base,
  base64url,
  bytesOf,
  type Forgery,
  forge,
  keyNamed,
  publish,
  strangersKey,
  withSignature,
} from '../forge/forge.ts';
import type { Trial } from '../row/row.ts';
import { tokens } from '../row/topic.ts';

// Tokens that an attacker signed: with the header and the claims of a good token, as far as it is known.

/** A token that an attacker signed, with members of the header that lead to the attacker's key. */
const led =
  (members: (base: Base, key: KeyObject) => object, claims?: (key: KeyObject) => object): Forgery =>
  (base) => {
    const key = strangersKey(base.header.alg);
    return { key, header: { ...members(base, key) }, claims: { ...claims?.(key) } };
  };
/** The certificate of a key, and its thumbprints (RFC 7515 §4.1.6 to §4.1.8). */
const certified = (key: KeyObject) => {
  const der = certificateOf(key);
  const thumbprint = (hash: string) => createHash(hash).update(der).digest('base64url');
  return { x5c: [der.toString('base64')], x5t: thumbprint('sha1'), 'x5t#S256': thumbprint('sha256') };
};
const kidOf = ({ header }: Base) => String(header.kid ?? 'attacker');
/** An RSA signature by the issuer's key whatever `alg` says, or an attacker's. */
const signed =
  (signWith: (input: Uint8Array, base: Base) => Uint8Array): Forgery =>
  (base) => ({ signWith: (input) => signWith(input, base) });
const bytes = (length: number, byte: number, alg?: string): Forgery => ({
  ...(alg && { header: { alg } }),
  signWith: () => new Uint8Array(length).fill(byte),
});

const integerOf = (value: Uint8Array) => BigInt(`0x${Buffer.from(value).toString('hex')}`);
const modulusOf = (key: KeyObject) => integerOf(bytesOf(String(key.export({ format: 'jwk' }).n)));
/** How often a token is signed until its signature fits. */
const attempts = 400;
/**
 * Returns a token whose good signature is written as the same number modulo n, one modulus up. It must not be longer
 * than the modulus, so only some signatures will do.
 */
const oneModulusUp: Forgery = (base) => {
  const key = base.key ?? keyNamed('stranger', 'RS256');
  const modulus = modulusOf(key);
  for (let left = attempts; left > 0; left -= 1) {
    const payloadText = JSON.stringify({ ...base.claims(), jti: `${left}-${Math.random()}` });
    const token = forge({ ...base, key }, { payloadText });
    const sum = integerOf(bytesOf(token.slice(token.lastIndexOf('.') + 1))) + modulus;
    if (sum >> 2048n === 0n)
      return withSignature(token, base64url(Buffer.from(sum.toString(16).padStart(512, '0'), 'hex')));
  }
  return withSignature(forge(base), '');
};
/** Whether a sum that fits comes within so many attempts. */
const hasRoom = ({ base: { key } }: Trial) =>
  key?.asymmetricKeyType === 'rsa' && modulusOf(key) < (2n ** 2048n / 100n) * 98n
    ? undefined
    : 'The modulus of the key leaves no room above it';

/** For a verifier that takes numbers which no key gives. */
const degenerate = {
  remedy: 'Update the library of signatures: it accepts a number that no key signs',
  ownCode: 'Let the platform verify signatures: it rejects zero, and numbers from the modulus or the order on',
} as const;

export const forgeries = [
  ...tokens(
    'embedded',
    {
      rule: 'RFC 8725 §3.10; RFC 7515 §4.1.2',
      needs: 'nothing',
      remedy: "Name the issuer's keys or their URL, and turn off keys that come with a token",
      ownCode: 'Never read jwk, jku, x5u or x5c of a token, nor a URL or a key in its kid',
    },
    {
      jwk: ['a key of the attacker in jwk (CVE-2018-0114)', led((base, key) => ({ jwk: publish(key, kidOf(base)) }))],
      'jwk-alone': [
        'a key of the attacker in jwk, and no kid',
        led((_, key) => ({ jwk: publish(key, 'x'), kid: undefined })),
      ],
      jku: ["the URL of an attacker's keys in jku", led(({ elsewhere }) => ({ jku: elsewhere }))],
      'jku-alone': [
        "the URL of an attacker's keys in jku, and no kid",
        led(({ elsewhere }) => ({ jku: elsewhere, kid: undefined })),
      ],
      x5u: ["the URL of an attacker's certificate in x5u", led(({ elsewhere }) => ({ x5u: elsewhere }))],
      x5c: ["an attacker's key in x5c", led((_, key) => certified(key))],
      'x5c-alone': [
        "an attacker's key in x5c, and no kid",
        [
          led((_, key) => ({ ...certified(key), kid: undefined })),
          led((_, key) => ({ x5c: certified(key).x5c, kid: undefined })),
        ],
      ],
      claims: [
        'a key of the attacker in the claims sub_jwk, cnf and jwks',
        led(
          () => ({}),
          (key) => {
            const jwk = publish(key, 'x');
            return { sub_jwk: jwk, cnf: { jwk }, jwks: { keys: [jwk] } };
          },
        ),
      ],
      kid: [
        'a key of the attacker, or the URL of one, as kid',
        [led((_, key) => ({ kid: JSON.stringify(publish(key, 'x')) })), led(({ elsewhere }) => ({ kid: elsewhere }))],
      ],
      'iss-header': ['the URL of an attacker as iss in the header', led(({ elsewhere }) => ({ iss: elsewhere }))],
      crit: [
        'a jwk of the attacker that crit lists',
        led((base, key) => ({ jwk: publish(key, kidOf(base)), crit: ['jwk'] })),
      ],
    },
  ),
  ...tokens(
    'signature',
    {
      rule: 'RFC 8725 §3.3; RFC 7515 §5.2',
      needs: 'nothing',
      remedy: 'Verify the signature: a token that is only decoded says what anybody wrote',
      ownCode: 'Let a library for JOSE verify the header and payload as they came, and look at its result',
    },
    {
      stranger: [
        'a signature by a key that the issuer never published',
        ({ header }) => ({ key: strangersKey(header.alg) }),
      ],
      'unknown-kid': [
        'a signature by another key, and a kid that the issuer never published',
        ({ header }) => ({ key: strangersKey(header.alg), header: { kid: 'never-published' } }),
        {
          remedy: 'Reject a token whose key is not found: here it passes without a check of its signature',
          ownCode: 'Return where no key has the kid, and never go on without one',
        },
      ],
      'stranger-expired': [
        'a signature by another key, and an exp in the past (CVE-2024-51744)',
        ({ header }) => ({ key: strangersKey(header.alg), claims: { exp: 1 } }),
      ],
      zeros: [
        'a signature of zeros, as RS256 and as ES256 (CVE-2022-21449)',
        [bytes(256, 0), bytes(64, 0), bytes(64, 0, 'ES256'), bytes(96, 0, 'ES384')],
        degenerate,
      ],
      ones: ['a signature of bytes 1, or 255', [bytes(256, 1), bytes(256, 255)], degenerate],
      one: [
        'a signature that is the number 1 (RFC 8017 §8.2.2)',
        signed(() => new Uint8Array(256).fill(1, 255)),
        degenerate,
      ],
      short: ['a signature of one byte', bytes(1, 0)],
      ps256: ['a signature of PS256 in a token that says RS256', { signedAs: 'PS256' }, { needs: 'issuer' }],
      rs1: [
        'a signature with SHA-1 (RFC 8725 §3.2)',
        signed((input, { key }) => sign('RSA-SHA1', input, key ?? strangersKey('RS256'))),
        { needs: 'issuer' },
      ],
      'modulus-up': [
        'a good signature plus the modulus (RFC 8017 §8.2.2)',
        oneModulusUp,
        { needs: 'issuer', skip: hasRoom },
      ],
    },
  ),
];
