import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { ProofVerifierOptions } from '../../../src/auth/proof/proof.ts';
import type { ProofAlgorithm, RejectionReason } from '../../../src/auth/types.ts';
import { exactRsaKey } from '../../support/keys.ts';
import { goodProofParts, type ProofOverrides, proofKey, publicJwk, sha256, thumbprintOf } from '../../support/proof.ts';
import { smallOrder } from '../../support/signatures.ts';

export const publicUrl = 'https://api.example.test';
export const path = '/api/private';
export const token = 'header.payload.signature';
export const nowSeconds = 2_000_000_000;
export const now = () => nowSeconds * 1000;
export const target = { url: publicUrl + path, token, nowSeconds };

/** The changes to a valid proof, to its request, and to the options of the verifier. */
export interface Change extends ProofOverrides, Partial<ProofVerifierOptions> {
  readonly thumbprint?: string;
  readonly method?: string;
  /** The request's URL as the server sees it. */
  readonly requested?: string;
}

/** The largest exponent that is a prime of 31 bits. */
const largeExponent = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 2 ** 31 - 1 }).privateKey;
const { header, claims: goodParts } = goodProofParts(target, proofKey(), 'ES256');
const [goodHeader, goodClaims] = [header, goodParts].map((part) => JSON.stringify(part)) as [string, string];
const zeroFirst = (value: unknown) =>
  Buffer.concat([Buffer.of(0), Buffer.from(String(value), 'base64url')]).toString('base64url');
/** Both parts with this many bytes: JSON allows blanks at its end. */
const padded = (headerBytes: number, claimsBytes: number) => ({
  headerText: goodHeader.padEnd(headerBytes),
  payloadText: goodClaims.padEnd(claimsBytes),
});

export type ProofRow = readonly [name: string, change: Change];

const members = (part: 'header' | 'claims', name: string, values: readonly unknown[], more: Change = {}) =>
  values.map(
    (value): ProofRow => [`${name} ${JSON.stringify(value)}`.slice(0, 80), { ...more, [part]: { [name]: value } }],
  );
/** Proofs that show the key of this algorithm with these members. */
const keys = (algorithm: string, ...changes: readonly Readonly<Record<string, unknown>>[]) =>
  changes.map((change): ProofRow => {
    const jwk = { ...publicJwk(proofKey(algorithm)), ...change };
    return [`${algorithm} by a key with ${JSON.stringify(change).slice(0, 60)}`, { algorithm, header: { jwk } }];
  });
const rsa = (name: string, key: KeyObject): ProofRow => [name, { algorithm: 'RS256', key }];
const bits = (length: number) => rsa(`a modulus of ${length} bits`, exactRsaKey('proof', length));
const reshape = (name: string, change: (proof: string) => string): ProofRow => [name, { reshape: change }];
const at = (name: string, htu: string, requested: string): ProofRow => [name, { claims: { htu }, requested }];
const below = (publicUrl: string, htu: string): ProofRow => [`${htu} at ${publicUrl}`, { publicUrl, claims: { htu } }];
export const otherKey = proofKey('ES256', 'other');
const { x } = publicJwk(proofKey());

export const proofRows: Readonly<Partial<Record<RejectionReason | 'accepted', readonly ProofRow[]>>> = {
  accepted: [
    ...'ES256 ES384 RS256 PS256 EdDSA Ed25519'.split(' ').map((algorithm): ProofRow => [algorithm, { algorithm }]),
    ...keys('EdDSA', { alg: 'Ed25519' }),
    // RFC 7517 §4: what a client exports with its key does not decide, nor does a member without a value.
    ...keys('ES256', { use: 'enc' }, { key_ops: ['sign'] }, { key_ops: [] }, { alg: 'ES384' }),
    ...keys('ES256', { use: null, key_ops: null, alg: null, kid: null, d: null, p: null }),
    ...['ES512', 'RS384', 'RS512', 'PS384', 'PS512'].map((algorithm): ProofRow => {
      const key = proofKey(algorithm);
      return [`${algorithm} where the list has it`, { algorithm, key, dpopAlgorithms: [algorithm as ProofAlgorithm] }];
    }),
    ...keys('ES256', { use: 'sig', ext: true, key_ops: ['verify'], kid: '1' }),
    ...[2049, 4096].map(bits),
    rsa('an exponent of 4 bytes', largeExponent),
    ['an algorithm of the list', { dpopAlgorithms: ['ES256'] }],
    ['Ed25519 where the list has EdDSA', { algorithm: 'Ed25519', dpopAlgorithms: ['ES256', 'EdDSA'] }],
    ['other members', { header: { kid: 'x', b64: false, nonce: 1 }, claims: { nonce: 'x', other: 1 } }],
    ...members('header', 'typ', ['DPOP+JWT', 'application/dpop+jwt', 'Application/DPoP+jwt']),
    // The window is the tolerance: `nbf` is often `iat`, and a proof may live for seconds only.
    ...members('claims', 'exp', [nowSeconds + 0.5, nowSeconds - 59]),
    ...members('claims', 'nbf', [nowSeconds, nowSeconds + 60]),
    ['the last of members that repeat', { headerText: goodHeader.replace('{', '{"alg":"none","typ":"JWT",') }],
    ['4096 characters', padded(300, 2706)],
    ...members('claims', 'iat', [nowSeconds - 60, nowSeconds + 60, nowSeconds + 59.5]),
    ...members('claims', 'jti', ['x'.repeat(256)]),
    ...members('claims', 'htm', ['POST'], { method: 'POST' }),
    // RFC 3986 normalization equates the following with the URL.
    ...members('claims', 'htu', [
      ...['HTTPS://API.Example.TEST/api/private', `${publicUrl}:443${path}`, `${publicUrl}:${path}`],
      ...['https://%61pi.example.test/api/private', `${publicUrl}/api/./private`, `${publicUrl}/x/..${path}`],
      ...[`${publicUrl}/..${path}`, `${publicUrl}/%61pi/privat%65`, `${publicUrl}/x/%2e%2E${path}`],
      `${target.url}?x=1#y`,
    ]),
    at('the case of percent-encoding', `${publicUrl}/a%3ab%C3%a9`, 'http://x/a%3Ab%c3%A9?q'),
    at('an address with an encoded @', `${publicUrl}/users/ada%40example.com`, 'http://x/users/ada%40example.com'),
    at('a caret, which Bun encodes', `${publicUrl}/a^b`, 'http://x/a%5Eb'),
    at('an encoded caret', `${publicUrl}/a%5eb`, 'http://x/a^b'),
    at('a path that ends in dots', `${publicUrl}/a/b/..`, 'http://x/a/'),
    at('an empty path', publicUrl, 'http://x/'),
    at('a path of dots', `${publicUrl}/a/../.`, 'http://x/'),
    below('http://localhost', `http://localhost:80${path}`),
    below(`${publicUrl}/base`, `${publicUrl}/base${path}`),
    below(target.url, target.url + path),
  ],
  proof_oversized: [['4097 characters', padded(301, 2705)]],
  proof_missing: [reshape('a blank', () => ' ')],
  proof_repeated: [
    reshape('two proofs', (proof) => `${proof}, ${proof}`),
    reshape('a JSON serialization', () => '{"payload":"e30","signature":"AAAA"}'),
  ],
  proof_malformed: [
    reshape('two parts', (proof) => proof.replace(/\.[^.]*$/, '')),
    reshape('four parts', (proof) => `${proof}.AAAA`),
    reshape('no signature', (proof) => proof.replace(/[^.]*$/, '')),
    reshape('padding', (proof) => `${proof}==`),
    reshape('spare bits in the signature', (proof) => proof.replace(/.$/, 'B')),
    reshape('white space', (proof) => proof.replace('.', '. ')),
    ...['{', '[]'].map((headerText): ProofRow => [`the header ${headerText}`, { headerText }]),
    ['claims that are not an object', { payloadText: 'null' }],
  ],
  proof_type: members('header', 'typ', ['JWT', 'dpop+jwt;', 'text/dpop+jwt', ['dpop+jwt'], { toString: 1 }, undefined]),
  proof_algorithm: [
    ...members('header', 'alg', ['none', 'HS256', 'ES512', 'ML-DSA-44', 'es256', undefined]),
    // The algorithms of FAPI 2.0 (§5.4.1).
    ['an algorithm that the list lacks', { algorithm: 'RS256', dpopAlgorithms: ['ES256', 'PS256', 'EdDSA'] }],
  ],
  proof_critical_header: members('header', 'crit', [['b64'], []]),
  proof_key: [
    ...members('header', 'jwk', [undefined, null, 'EC', [publicJwk(proofKey())], { kty: 'oct', k: 'AAAA' }]),
    ...members('header', 'jwk', [publicJwk(proofKey('RS256')), publicJwk(proofKey('ES384'))]),
    ...keys('ES256', ...['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'].map((name) => ({ [name]: 'AA' }))),
    ...keys('ES256', { p: '' }, { kty: null }, { crv: null }, { x: zeroFirst(x) }, { x: `${x}=` }),
    ...keys('ES256', { y: x }, { y: undefined }, { x: 'AAAA' }),
    ...keys('EdDSA', { x: zeroFirst(publicJwk(proofKey('EdDSA')).x) }, ...smallOrder.map((x) => ({ x }))),
    ...keys('RS256', { n: zeroFirst(publicJwk(proofKey('RS256')).n) }, { n: `${'_'.repeat(341)}g` }),
    ...keys('RS256', { e: 'AQ' }, { e: 'Ag' }, { e: 'AQAAAAE' }, { e: 'AAEAAQ' }),
    ...[2047, 4104].map(bits),
  ],
  proof_method: [...members('claims', 'htm', ['POST', 'get', undefined]), ['GET for HEAD', { method: 'HEAD' }]],
  proof_url: [
    ...members('claims', 'htu', [
      ...['http://api.example.test/api/private', `${publicUrl}:8443${path}`, `${publicUrl}:0443${path}`],
      ...[`${publicUrl}:80${path}`, `${publicUrl}.${path}`, 'https://evil.example.test/api/private'],
      ...['https://user@api.example.test/api/private', `${target.url}/`, `${target.url}/.`, `${publicUrl}/${path}`],
      ...[`${publicUrl}/API/private`, `${publicUrl}/api%2Fprivate`, `${target.url}-scoped`, `${target.url}\n`],
      ...[`${publicUrl}\\api\\private`, ` ${target.url}`, `${publicUrl}/api/%zzprivate`, publicUrl],
      ...['https:/api.example.test/api/private', '//api.example.test/api/private', path, ''],
      ...[undefined, null, 1, [target.url]],
    ]),
    below(target.url, target.url),
    below('http://localhost:3010', `http://localhost${path}`),
    below('http://localhost:8080', `http://localhost80${path}`),
    below('http://localhost:3010', `http://localhost:3010:${path}`),
    // The Kelvin sign.
    below('https://k.example.test', `https://\u212a.example.test${path}`),
    at('a host that the request names', `https://evil.example.test${path}`, `https://evil.example.test${path}`),
    ...[path, '//api.example.test/api/private', `/http://x${path}`, '*', ''].flatMap((requested) => [
      at(`the path of a URL that is not absolute: ${requested}`, target.url, requested),
      at(`no path for ${requested}`, publicUrl, requested),
    ]),
  ],
  proof_time: [
    ...members('claims', 'iat', [nowSeconds - 60.001, nowSeconds + 60.001, now(), `${nowSeconds}`, undefined]),
    ...members('claims', 'exp', [nowSeconds - 60, nowSeconds - 61, `${nowSeconds + 60}`, null]),
    ...members('claims', 'nbf', [nowSeconds + 60.5, '0', null]),
    ['an infinite exp', { payloadText: goodClaims.replace('{', '{"exp":1e400,') }],
    ['an infinite iat', { payloadText: goodClaims.replace(`${nowSeconds}`, '1e400') }],
  ],
  proof_token_hash: members('claims', 'ath', [sha256('other'), `${sha256(token)}=`, undefined]),
  proof_id: members('claims', 'jti', ['x'.repeat(257), '', 1, undefined]),
  proof_signature: [
    ...members('header', 'jwk', [publicJwk(otherKey)]),
    reshape('an empty signature of the right length', (proof) => proof.replace(/[^.]*$/, 'A'.repeat(86))),
    reshape('a signature that is too short', (proof) => proof.replace(/[^.]*$/, 'AAAA')),
  ],
  proof_key_mismatch: [
    ['a key that the token is not bound to', { thumbprint: thumbprintOf(otherKey) }],
    ['a token bound to a key that has no thumbprint', { thumbprint: '' }],
  ],
};
