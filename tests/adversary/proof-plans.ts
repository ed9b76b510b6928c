import { createHash, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { exactRsaKey, rsaKey } from '../support/keys.ts';
import { goodProofParts, makeProof, proofKey, publicJwk, thumbprintOf } from '../support/proof.ts';
import {
  anyMember,
  apply,
  type Change,
  changesOf,
  type Edit,
  edited,
  editsOf,
  few,
  json,
  type Member,
  oneOf,
  place,
} from './edits.ts';
import type { ProofWorld } from './proof-oracle.ts';

const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjbGllbnQifQ.c2lnbmF0dXJl';
const NOW_SECONDS = 1_900_000_000.5;
const ADDRESSES = [
  { publicUrl: 'https://api.example.test', path: '/api/private' },
  { publicUrl: 'http://localhost:3010', path: '/api/private-scoped' },
  { publicUrl: 'https://api.example.test/base', path: '/r%C3%A9sum%C3%A9/a:b' },
] as const;

/** Private keys that sign proofs; each fits some of the algorithms that a proof can name, or none. */
const SIGNERS: Readonly<Record<string, () => KeyObject>> = {
  ES256: () => proofKey('ES256'),
  ES384: () => proofKey('ES384'),
  RSA: () => proofKey('RS256'),
  EdDSA: () => proofKey('EdDSA'),
  'another ES256': () => proofKey('ES256', 'another'),
  'another EdDSA': () => proofKey('EdDSA', 'another'),
  weak: () => rsaKey('weak', 1024),
  'just too weak': () => exactRsaKey('proof', 2047),
  large: () => exactRsaKey('proof', 4096),
  'too large': () => exactRsaKey('proof', 4104),
};

/** How a proof is made: readable, so that a counterexample can be understood. */
export interface ProofPlan {
  readonly signer: string;
  readonly algorithm: string;
  readonly address: number;
  readonly respell: readonly Respelling[];
  readonly header: readonly Change[];
  readonly jwk: readonly Change[];
  readonly claims: readonly Change[];
  readonly edits: readonly Edit[];
  /** Whose key the proof shows, when it is not the signer's. */
  readonly shows: string;
  /** Whose key the token is bound to, when it is not the signer's. */
  readonly boundTo: string;
}

/** A change to the spelling of htu: most leave the address the same, some make it another. */
interface Respelling {
  readonly how: keyof typeof RESPELL;
  readonly at: number;
}

const indexOf = (text: string, at: number) => Math.floor(at * text.length);
const splice = (text: string, at: number, more: string) => text.slice(0, at) + more + text.slice(at);
const slashes = (url: string) => [...url.matchAll(/\//g)].map(({ index }) => index).slice(2);
const atSlash = (more: string) => (url: string, at: number) => {
  const places = slashes(url);
  return splice(url, places[indexOf(places.join(''), at) % places.length] ?? url.length, more);
};
const percent = (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;

const RESPELL = {
  'percent-encode': (url: string, at: number) =>
    splice(
      url.slice(0, indexOf(url, at)) + url.slice(indexOf(url, at) + 1),
      indexOf(url, at),
      percent(url[indexOf(url, at)] ?? 'a'),
    ),
  'upper case': (url: string, at: number) => {
    const index = indexOf(url, at);
    return url.slice(0, index) + url.slice(index, index + 3).toUpperCase() + url.slice(index + 3);
  },
  'lower case': (url: string, at: number) => url.slice(0, indexOf(url, at)) + url.slice(indexOf(url, at)).toLowerCase(),
  dot: atSlash('/.'),
  'there and back': atSlash('/x/..'),
  'encoded dots': atSlash('/x/%2E%2e'),
  up: atSlash('/..'),
  'another slash': atSlash('/'),
  'dot at the end': (url: string) => `${url}/.`,
  'slash at the end': (url: string) => `${url}/`,
  query: (url: string) => `${url}?a=/../b#c`,
  fragment: (url: string) => `${url}#/x`,
  'default port': (url: string) =>
    url.replace(/^(https?:\/\/[^/]+)/, (origin) => `${origin}${origin.startsWith('https') ? ':443' : ':80'}`),
  'empty port': (url: string) => url.replace(/^(https?:\/\/[^/]+)/, '$1:'),
  user: (url: string) => url.replace('://', '://user@'),
  backslash: (url: string, at: number) => splice(url, indexOf(url, at), '\\'),
  cut: (url: string, at: number) => url.slice(0, indexOf(url, at)),
  letter: (url: string, at: number) => splice(url, indexOf(url, at), 'a'),
  space: (url: string, at: number) => splice(url, indexOf(url, at), ' '),
  'half a triplet': (url: string, at: number) => splice(url, indexOf(url, at), '%4'),
  kelvin: (url: string) => url.replace('k', '\u212a').replace('K', '\u212a'),
};

const texts = (members: object) => Object.entries(members).map(([name, value]): Member => [name, json(value)]);
const keyOf = (signer: string) => SIGNERS[signer]?.() ?? proofKey();

/** Makes the proof of a plan, with a real signature over whatever the plan left, and the request that it comes with. */
export function buildProof(plan: ProofPlan): { readonly proof: string; readonly world: ProofWorld } {
  const key = keyOf(plan.signer);
  const { publicUrl, path } = ADDRESSES[plan.address] ?? ADDRESSES[0];
  const url = plan.respell.reduce((spelt, { how, at }) => RESPELL[how](spelt, at), publicUrl + path);
  const target = { url, token: TOKEN, nowSeconds: NOW_SECONDS };
  const { header, claims } = goodProofParts(target, key, plan.algorithm);
  const jwkText = apply(texts(publicJwk(keyOf(plan.shows || plan.signer))), plan.jwk);
  const proof = makeProof(target, {
    key,
    algorithm: plan.algorithm,
    headerText: apply([...texts({ typ: header.typ, alg: header.alg }), ['jwk', jwkText]], plan.header),
    payloadText: apply(texts(claims), plan.claims),
  });
  const thumbprint = thumbprintOf(keyOf(plan.boundTo || plan.signer));
  return {
    proof: edited(proof, plan.edits),
    world: { publicUrl, path, method: 'GET', token: TOKEN, thumbprint, nowSeconds: NOW_SECONDS },
  };
}

const algorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'];
const headerMember = fc.oneof(
  oneOf('alg', [...algorithms, 'ES512', 'RS512', 'HS256', 'none', 'eddsa']),
  oneOf('typ', ['dpop+jwt', 'DPoP+jwt', 'application/dpop+jwt', 'JWT']),
  oneOf('crit', [['b64'], ['exp'], []]),
  oneOf('b64', [false, true]),
  oneOf('jwk', [publicJwk(proofKey('ES256')), publicJwk(proofKey('EdDSA')), [publicJwk(proofKey('ES256'))]]),
  anyMember(['alg', 'typ', 'jwk', 'kid', 'crit', '__proto__', 'x5c']),
);
const keyValues = [
  ...['AQAB', 'AQ', 'Aw', 'AA', 'AAEAAQ', 'AQAAAAE', '_____w', '_'.repeat(43), 'A'.repeat(43), 'AQAB='],
  publicJwk(proofKey()).x,
];
const jwkMember = fc.oneof(
  ...['x', 'y', 'n', 'e'].map((name) => oneOf(name, keyValues)),
  oneOf('kty', ['EC', 'OKP', 'RSA', 'oct']),
  oneOf('crv', ['P-256', 'P-384', 'P-521', 'Ed25519', 'Ed448', 'X25519', 'secp256k1']),
  ...['d', 'p', 'k', 'oth', 'priv'].map((name) => oneOf(name, ['AA', 'AQAB'])),
  oneOf('use', ['sig', 'enc']),
  oneOf('alg', algorithms),
  oneOf('key_ops', [['verify'], ['sign'], ['sign', 'verify']]),
  anyMember(['kty', 'crv', 'x', 'y', 'n', 'e', 'kid', 'ext', '__proto__']),
);
const times = [-60.25, -60, -59.5, -1, 0, 0.5, 59.5, 60, 60.25, 3600, -3600].map((delta) => NOW_SECONDS + delta);
const claimsMember = fc.oneof(
  oneOf('htm', ['GET', 'get', 'POST', 'GET ', ['GET']]),
  oneOf('htu', [ADDRESSES[0].publicUrl, ADDRESSES[0].path, ['https://api.example.test/api/private']]),
  { weight: 3, arbitrary: oneOf('iat', times) },
  oneOf('iat', [`${NOW_SECONDS}`, NOW_SECONDS * 1000]),
  oneOf('ath', [
    TOKEN,
    createHash('sha256').update(TOKEN).digest('base64'),
    createHash('sha256').update('other').digest('base64url'),
  ]),
  oneOf('jti', ['x', 'x'.repeat(256), 'x'.repeat(257), 'é\u0000', ['x']]),
  oneOf('exp', [0]),
  oneOf('nonce', ['x']),
  anyMember(['htm', 'htu', 'iat', 'jti', 'ath', '__proto__']),
);

const fitting = fc.constantFrom(
  ...['ES256', 'ES384', 'EdDSA'].map((name) => [name, name] as const),
  ['RSA', 'RS256'],
  ['RSA', 'PS256'],
  ['EdDSA', 'Ed25519'],
  ['large', 'PS256'] as const,
);
const anyPair = fc.tuple(fc.constantFrom(...Object.keys(SIGNERS)), fc.constantFrom(...algorithms, 'ES512', 'none'));

const rarely = fc.oneof({ weight: 6, arbitrary: fc.constant('') }, fc.constantFrom(...Object.keys(SIGNERS)));

/** Plans for proofs: some are good, the rest is wrong in one way or several at once. */
export const proofPlans: fc.Arbitrary<ProofPlan> = fc
  .record({
    pair: fc.oneof({ weight: 8, arbitrary: fitting }, anyPair),
    address: fc.nat(ADDRESSES.length - 1),
    respell: few(
      fc.record<Respelling>({ how: fc.constantFrom(...(Object.keys(RESPELL) as (keyof typeof RESPELL)[])), at: place }),
      3,
      1,
    ),
    header: changesOf(headerMember, 2, 3),
    jwk: changesOf(jwkMember, 2, 3),
    claims: changesOf(claimsMember, 2, 3),
    edits: editsOf(5),
    shows: rarely,
    boundTo: rarely,
  })
  .map(({ pair: [signer, algorithm], ...plan }) => ({ signer, algorithm, ...plan }));
