import { Buffer } from 'node:buffer';
import { createHmac, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { type Base, bytesOf, type Forgery, keyNamed, publish, strangersKey } from '../forge.ts';
import { headers, type Row, type Trial, topic } from '../row.ts';

// Tokens that nobody signed, or an attacker did: with the header and the claims of a good token, as far as it is known.

const keyOf = ({ publicKey }: Base): KeyObject => createPublicKey({ key: { ...publicKey }, format: 'jwk' });
const pem = (base: Base, type: 'spki' | 'pkcs1' = 'spki') => keyOf(base).export({ type, format: 'pem' }).toString();
/** A token whose signature is an HMAC keyed with public data. */
const hmac =
  (secret: (base: Base) => string | Uint8Array, alg = 'HS256', header: object = {}): Forgery =>
  (base) => ({ header: { alg, ...header }, signWith: (input) => createHmac(alg.replace('HS', 'sha'), secret(base)).update(input).digest() });
const isKeyKnown = ({ base }: Trial) => (base.publicKey ? undefined : "The issuer's public key is not known");
const isRsa = ({ base }: Trial) => isKeyKnown({ base } as Trial) ?? (base.publicKey?.n ? undefined : 'Its key is not RSA');

const nones = ['none', 'None', 'NONE', 'nOnE'];
const unsigned = (alg: string): Forgery => ({ header: { alg }, signWith: () => new Uint8Array() });
/** A token that an attacker signed, with members of the header that lead to the attacker's key. */
const led =
  (members: (base: Base, key: KeyObject) => object): Forgery =>
  (base) => {
    const key = strangersKey(base.header.alg);
    return { key, header: { ...members(base, key) } };
  };
const kidOf = ({ header }: Base) => String(header.kid ?? 'attacker');
/** An RSA signature by the issuer's key whatever `alg` says, or an attacker's. */
const signed =
  (signWith: (input: Uint8Array, base: Base) => Uint8Array): Forgery =>
  (base) => ({ signWith: (input) => signWith(input, base) });
const bytes = (length: number, byte: number) => signed(() => new Uint8Array(length).fill(byte));

// biome-ignore format: a row is a line.
export const forgeries: readonly Row[] = [
  ...topic('none', { rule: 'RFC 8725 §2.1, §3.2', needs: 'nothing', remedy: 'List the algorithms that the API accepts. Do not take one from the token' }, {
    'empty-signature': ['a token with alg none and no signature (CVE-2022-23540)', unsigned('none')],
    spellings: ['tokens with alg None, NONE or nOnE, and no signature', nones.slice(1).map(unsigned)],
    signed: ['tokens with alg none, however it is spelled, and a signature', headers('alg', ...nones)],
    'no-signature-part': ['a token with alg none in two parts (CVE-2020-28042)', { header: { alg: 'none' }, reshape: (token) => token.replace(/\.[^.]*$/, '') }],
    'second-alg': ['a header with two members alg, the second none', ({ header }) => ({ headerText: `${JSON.stringify(header).slice(0, -1)},"alg":"none"}`, signWith: () => new Uint8Array() })],
  }),
  ...topic('hmac', { rule: 'RFC 8725 §2.1, §3.1', needs: 'nothing', remedy: 'List asymmetric algorithms only, and never verify an HMAC with a public key', skip: isKeyKnown }, {
    pem: ['HS256 keyed with the public key as PEM (CVE-2015-9235, CVE-2016-10555)', hmac((base) => pem(base))],
    'pem-trimmed': ['HS256 keyed with the PEM less its last line end', hmac((base) => pem(base).trim())],
    'pem-blank': ['HS256 keyed with the PEM behind white space (CVE-2026-34950)', hmac((base) => ` \n${pem(base)}`)],
    'pem-hs384': ['HS384 keyed with the PEM (CVE-2023-48223)', hmac((base) => pem(base), 'HS384')],
    'pem-hs512': ['HS512 keyed with the PEM (CVE-2024-54150)', hmac((base) => pem(base), 'HS512')],
    pkcs1: ['HS256 keyed with the PKCS #1 PEM (CVE-2017-11424)', hmac((base) => pem(base, 'pkcs1')), { skip: isRsa }],
    der: ['HS256 keyed with the key as DER (CVE-2022-29217)', hmac((base) => keyOf(base).export({ type: 'spki', format: 'der' }))],
    jwk: ['HS256 keyed with the JWK as text (CVE-2026-107724)', hmac(({ publicKey }) => JSON.stringify(publicKey))],
    'jwk-set': ['HS256 keyed with the JWK Set as text (CVE-2026-107724)', hmac(({ publicKey }) => JSON.stringify({ keys: [publicKey] }))],
    modulus: ['HS256 keyed with the modulus', [hmac((b) => bytesOf(String(b.publicKey?.n))), hmac((b) => String(b.publicKey?.n))], { skip: isRsa }],
    empty: ['HS256 keyed with nothing (CVE-2026-44351)', hmac(() => ''), { skip: undefined }],
    'empty-file': ['HS256 keyed with nothing, kid an empty file (CVE-2026-44351)', hmac(() => '', 'HS256', { kid: '/dev/null' }), { skip: undefined }],
    secret: ['HS256 keyed with words that are in examples', ['secret', 'your-256-bit-secret', 'changeme'].map((word) => hmac(() => word)), { skip: undefined }],
  }),
  ...topic('alg', { rule: 'RFC 8725 §3.1; RFC 7515 §4.1.1', needs: 'issuer', remedy: 'List the algorithms that the API accepts, and use each key with one of them' }, {
    ps256: ['a real signature of PS256 by a key for RS256 (CVE-2026-22817)', { header: { alg: 'PS256' }, signedAs: 'PS256' }],
    ps512: ['a real signature of PS512 by a key for RS256', { header: { alg: 'PS512' }, signedAs: 'PS512' }],
    rs384: ['a real signature of RS384 by a key for RS256', { header: { alg: 'RS384' }, signedAs: 'RS384' }],
    rs512: ['a real signature of RS512 by a key for RS256', { header: { alg: 'RS512' }, signedAs: 'RS512' }],
    es256: ['ES256, signed by an EC key of an attacker', () => ({ header: { alg: 'ES256' }, signedAs: 'ES256', key: strangersKey('ES256') })],
    missing: ['no alg', headers('alg', undefined, null, '')],
    type: ['alg that is not a string', headers('alg', 0, [], ['RS256'], { RS256: 1 })],
    spelling: ['alg in other spellings', headers('alg', 'rs256', 'RS256 ', 'RS256\0', 'ＲＳ256')],
    empty: ['an empty object as header', { headerText: '{}' }],
    proto: ['a header whose members are in __proto__ (CVE-2024-34273)', ({ header }) => ({ headerText: `{"__proto__":${JSON.stringify(header)}}` })],
  }),
  ...topic('embedded', { rule: 'RFC 8725 §3.10; RFC 7515 §4.1.2', needs: 'nothing', remedy: "Verify with the issuer's keys only, and ignore jwk, jku, x5u and x5c of a token" }, {
    jwk: ['a key of the attacker in jwk (CVE-2018-0114)', led((base, key) => ({ jwk: publish(key, kidOf(base)) }))],
    'jwk-alone': ['a key of the attacker in jwk, and no kid', led((_, key) => ({ jwk: publish(key, 'x'), kid: undefined }))],
    jku: ["the URL of an attacker's keys in jku", led(({ elsewhere }) => ({ jku: elsewhere }))],
    'jku-alone': ["the URL of an attacker's keys in jku, and no kid", led(({ elsewhere }) => ({ jku: elsewhere, kid: undefined }))],
    x5u: ["the URL of an attacker's certificate in x5u", led(({ elsewhere }) => ({ x5u: elsewhere }))],
    x5c: ["an attacker's key in x5c", led((_, key) => ({ x5c: [createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64')], x5t: 'AAAA' }))],
    'iss-header': ['the URL of an attacker as iss in the header', led(({ elsewhere }) => ({ iss: elsewhere }))],
    crit: ['a jwk of the attacker that crit lists', led((base, key) => ({ jwk: publish(key, kidOf(base)), crit: ['jwk'] }))],
  }),
  ...topic('signature', { rule: 'RFC 8725 §3.3; RFC 7515 §5.2', needs: 'nothing', remedy: 'Verify the signature with the key of the issuer, over the header and payload as they came' }, {
    stranger: ['a signature by a key that the issuer never published', ({ header }) => ({ key: strangersKey(header.alg) })],
    'stranger-expired': ['a signature by another key, and an exp in the past (CVE-2024-51744)', ({ header }) => ({ key: strangersKey(header.alg), claims: { exp: 1 } })],
    zeros: ['a signature of zeros (CVE-2022-21449)', [bytes(256, 0), bytes(64, 0)]],
    ones: ['a signature of bytes 1, or 255', [bytes(256, 1), bytes(256, 255)]],
    one: ['a signature that is the number 1 (RFC 8017 §8.2.2)', signed(() => new Uint8Array(256).fill(1, 255))],
    short: ['a signature of one byte', bytes(1, 0)],
    ps256: ['a signature of PS256 in a token that says RS256', { signedAs: 'PS256' }, { needs: 'issuer' }],
    rs1: ['a signature with SHA-1 (RFC 8725 §3.2)', signed((input, { key }) => sign('RSA-SHA1', input, key ?? strangersKey('RS256'))), { needs: 'issuer' }],
    'modulus-up': ['a good signature plus the modulus (RFC 8017 §8.2.2)', signed(oneModulusUp), { needs: 'issuer' }],
  }),
];

/** Returns a good signature written as the same number modulo n, one modulus up. */
function oneModulusUp(input: Uint8Array, { key = keyNamed('stranger', 'RS256') }: Base): Uint8Array {
  const integerOf = (value: Uint8Array) => BigInt(`0x${Buffer.from(value).toString('hex')}`);
  const modulus = integerOf(bytesOf(String(key.export({ format: 'jwk' }).n)));
  const sum = integerOf(sign('sha256', input, key)) + modulus;
  return Buffer.from(sum.toString(16).padStart(sum >> 2048n ? 514 : 512, '0'), 'hex');
}
