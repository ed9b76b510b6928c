import { Buffer } from 'node:buffer';
import { createHash, type KeyObject, sign } from 'node:crypto';
import { certificateOf } from '../forge/certificate.ts';
import { type Base, bytesOf, type Forgery, keyNamed, publish, strangersKey } from '../forge/forge.ts';
import { headers } from '../row/changes.ts';
import { tokens } from '../row/topic.ts';

// Tokens that nobody signed, or an attacker did: with the header and the claims of a good token, as far as it is known.

const nones = ['none', 'None', 'NONE', 'nOnE'];
const unsigned = (alg: string): Forgery => ({ header: { alg }, signWith: () => new Uint8Array() });
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
const bytes = (length: number, byte: number) => signed(() => new Uint8Array(length).fill(byte));

/** Returns a good signature written as the same number modulo n, one modulus up. */
function oneModulusUp(input: Uint8Array, { key = keyNamed('stranger', 'RS256') }: Base): Uint8Array {
  const integerOf = (value: Uint8Array) => BigInt(`0x${Buffer.from(value).toString('hex')}`);
  const modulus = integerOf(bytesOf(String(key.export({ format: 'jwk' }).n)));
  const sum = integerOf(sign('sha256', input, key)) + modulus;
  return Buffer.from(sum.toString(16).padStart(sum >> 2048n ? 514 : 512, '0'), 'hex');
}

export const forgeries = [
  ...tokens(
    'none',
    {
      rule: 'RFC 8725 §2.1, §3.2',
      needs: 'nothing',
      remedy:
        'List the algorithms that the API accepts (algorithms in jose, jsonwebtoken and PyJWT; ValidAlgorithms in .NET)',
      ownCode: 'Compare alg with a list of your own before you look for a key',
    },
    {
      'empty-signature': ['a token with alg none and no signature (CVE-2022-23540)', unsigned('none')],
      spellings: ['tokens with alg None, NONE or nOnE, and no signature', nones.slice(1).map(unsigned)],
      signed: ['tokens with alg none, however it is spelled, and a signature', headers('alg', ...nones)],
      'no-signature-part': [
        'a token with alg none in two parts (CVE-2020-28042)',
        { header: { alg: 'none' }, reshape: (token) => token.replace(/\.[^.]*$/, '') },
      ],
      'second-alg': [
        'a header with two members alg, the second none',
        ({ header }) => ({
          headerText: `${JSON.stringify(header).slice(0, -1)},"alg":"none"}`,
          signWith: () => new Uint8Array(),
        }),
      ],
    },
  ),
  ...tokens(
    'alg',
    {
      rule: 'RFC 8725 §3.1; RFC 7515 §4.1.1',
      needs: 'issuer',
      remedy: 'List the algorithms that the API accepts, and publish alg with each key',
      ownCode: 'Take the algorithm from the key and your own list, and compare alg with it exactly',
    },
    {
      ps256: [
        'a real signature of PS256 by a key for RS256 (CVE-2026-22817)',
        { header: { alg: 'PS256' }, signedAs: 'PS256' },
      ],
      ps512: ['a real signature of PS512 by a key for RS256', { header: { alg: 'PS512' }, signedAs: 'PS512' }],
      rs384: ['a real signature of RS384 by a key for RS256', { header: { alg: 'RS384' }, signedAs: 'RS384' }],
      rs512: ['a real signature of RS512 by a key for RS256', { header: { alg: 'RS512' }, signedAs: 'RS512' }],
      es256: [
        'ES256, signed by an EC key of an attacker',
        () => ({ header: { alg: 'ES256' }, signedAs: 'ES256', key: strangersKey('ES256') }),
      ],
      missing: ['no alg', headers('alg', undefined, null, '')],
      type: ['alg that is not a string', headers('alg', 0, [], ['RS256'], { RS256: 1 })],
      spelling: ['alg in other spellings', headers('alg', 'rs256', 'RS256 ', 'RS256\0', 'ＲＳ256')],
      empty: ['an empty object as header', { headerText: '{}' }],
      proto: [
        'a header whose members are in __proto__ (CVE-2024-34273)',
        ({ header }) => ({ headerText: `{"__proto__":${JSON.stringify(header)}}` }),
      ],
    },
  ),
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
      'x5c-alone': ["an attacker's key in x5c, and no kid", led((_, key) => ({ ...certified(key), kid: undefined }))],
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
      remedy: 'Verify, do not only decode: jsonwebtoken.verify, not decode; no verify_signature=False in PyJWT',
      ownCode: 'Let a library for JOSE verify the header and payload as they came, and look at its result',
    },
    {
      stranger: [
        'a signature by a key that the issuer never published',
        ({ header }) => ({ key: strangersKey(header.alg) }),
      ],
      'stranger-expired': [
        'a signature by another key, and an exp in the past (CVE-2024-51744)',
        ({ header }) => ({ key: strangersKey(header.alg), claims: { exp: 1 } }),
      ],
      zeros: ['a signature of zeros (CVE-2022-21449)', [bytes(256, 0), bytes(64, 0)]],
      ones: ['a signature of bytes 1, or 255', [bytes(256, 1), bytes(256, 255)]],
      one: ['a signature that is the number 1 (RFC 8017 §8.2.2)', signed(() => new Uint8Array(256).fill(1, 255))],
      short: ['a signature of one byte', bytes(1, 0)],
      ps256: ['a signature of PS256 in a token that says RS256', { signedAs: 'PS256' }, { needs: 'issuer' }],
      rs1: [
        'a signature with SHA-1 (RFC 8725 §3.2)',
        signed((input, { key }) => sign('RSA-SHA1', input, key ?? strangersKey('RS256'))),
        { needs: 'issuer' },
      ],
      'modulus-up': ['a good signature plus the modulus (RFC 8017 §8.2.2)', signed(oneModulusUp), { needs: 'issuer' }],
    },
  ),
];
