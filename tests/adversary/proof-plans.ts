import { createHash, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { exactRsaKey, rsaKey } from '../support/keys.ts';
import { makeProof, proofKey, publicJwk, thumbprintOf } from '../support/proof.ts';
import { anyMember, edited, editsOf, few, member, merged } from './arbitraries.ts';

const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjbGllbnQifQ.c2lnbmF0dXJl';
const NOW_SECONDS = 1_900_000_000.5;
const ADDRESSES = [
  { publicUrl: 'https://api.example.test', path: '/api/private' },
  { publicUrl: 'http://localhost:3010', path: '/api/private-scoped' },
  { publicUrl: 'https://api.example.test/base', path: '/r%C3%A9sum%C3%A9/a:b' },
] as const;

/** Private keys that sign proofs; each fits some of the algorithms that a proof can name, or none. */
const SIGNERS = {
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
} satisfies Record<string, () => KeyObject>;

/** Changes to the spelling of htu: some leave the address the same, some make it another. */
const RESPELLINGS = [
  ...(['/.$&', '/x/..$&', '/x/%2E%2e$&', '/..$&', '/$&', '\\', '/%4'] as const).map((it) => [/\/[^/]*$/, it] as const),
  ...(['/.', '/', '?a=/../b#c', '#/x', 'a', ' ', '/x/..', '/..'] as const).map((more) => [/$/, more] as const),
  ...([':443', ':80', ':', '.'] as const).map((more) => [/(?<=:\/\/[^/]*)(?=\/[^/]|$)/, more] as const),
  [/^https?/, 'HTTPS'],
  [/api/, 'API'],
  [/p/, '%70'],
  [/p/, '%50'],
  [/%C3/, '%c3'],
  [/:b/, '%3ab'],
  [/:\/\//, '://user@'],
  [/.$/, ''],
  [/k|l/, '\u212a'],
] as const;

const algorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'];
const headerMember = fc.oneof(
  member('alg', [...algorithms, 'ES512', 'RS512', 'HS256', 'none', 'eddsa']),
  member('typ', ['dpop+jwt', 'DPoP+jwt', 'application/dpop+jwt', 'JWT']),
  member('crit', [['b64'], ['exp'], []]),
  member('b64', [false, true]),
  member('jwk', [publicJwk(proofKey('ES256')), publicJwk(proofKey('EdDSA')), [publicJwk(proofKey('ES256'))]]),
  anyMember(['alg', 'typ', 'jwk', 'kid', 'crit', '__proto__', 'x5c']),
);
const keyValues = [
  ...['AQAB', 'AQ', 'Aw', 'AA', 'AAEAAQ', 'AQAAAAE', '_____w', '_'.repeat(43), 'A'.repeat(43), 'AQAB='],
  publicJwk(proofKey()).x,
];
const jwkMember = fc.oneof(
  ...['x', 'y', 'n', 'e'].map((name) => member(name, keyValues)),
  member('kty', ['EC', 'OKP', 'RSA', 'oct']),
  member('crv', ['P-256', 'P-384', 'P-521', 'Ed25519', 'Ed448', 'X25519', 'secp256k1']),
  ...['d', 'p', 'k', 'oth', 'priv'].map((name) => member(name, ['AA', 'AQAB'])),
  member('use', ['sig', 'enc']),
  member('alg', algorithms),
  member('key_ops', [['verify'], ['sign'], ['sign', 'verify']]),
  anyMember(['kty', 'crv', 'x', 'y', 'n', 'e', 'kid', 'ext', '__proto__']),
);
const times = [-60.25, -60, -59.5, -1, 0, 0.5, 59.5, 60, 60.25, 3600, -3600].map((delta) => NOW_SECONDS + delta);
const hash = (text: string, encoding: 'base64' | 'base64url') => createHash('sha256').update(text).digest(encoding);
const claimsMember = fc.oneof(
  member('htm', ['GET', 'get', 'POST', 'GET ', ['GET']]),
  member('htu', [ADDRESSES[0].publicUrl, ADDRESSES[0].path, ['https://api.example.test/api/private']]),
  ...[1, 2, 3].map(() => member('iat', times)),
  member('iat', [`${NOW_SECONDS}`, NOW_SECONDS * 1000]),
  member('ath', [TOKEN, hash(TOKEN, 'base64'), hash('other', 'base64url')]),
  member('jti', ['x', 'x'.repeat(256), 'x'.repeat(257), 'é\u0000', ['x']]),
  member('exp', [0]),
  anyMember(['htm', 'htu', 'iat', 'jti', 'ath', 'nonce', '__proto__']),
);

type Signer = keyof typeof SIGNERS;
const names = Object.keys(SIGNERS) as Signer[];
const pair: fc.Arbitrary<readonly [signer: Signer, algorithm: string]> = fc.oneof(
  ...(['ES256', 'ES384', 'EdDSA'] as const).map((name) => fc.constant([name, name] as const)),
  ...['RS256', 'PS256'].map((algorithm) => fc.constant(['RSA', algorithm] as const)),
  ...['EdDSA Ed25519', 'large PS256'].map((text) => fc.constant(text.split(' ') as [Signer, string])),
  fc.tuple(fc.constantFrom(...names), fc.constantFrom(...algorithms, 'ES512', 'none')),
);
const rarely = fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, fc.constantFrom(...names));

/** Plans for proofs, readable in a counterexample: some are good, the rest is wrong in one way or several at once. */
export const proofPlans = fc.record({
  pair,
  address: fc.constantFrom(...ADDRESSES),
  respellings: few(fc.constantFrom(...RESPELLINGS), 3, 5),
  header: few(headerMember, 2, 8),
  jwk: few(jwkMember, 2, 8),
  claims: few(claimsMember, 2, 7),
  edits: editsOf(8),
  /** Whose key the proof shows, and whose the token is bound to, when it is not the signer's. */
  shows: rarely,
  boundTo: rarely,
});
type ProofPlan = typeof proofPlans extends fc.Arbitrary<infer Plan> ? Plan : never;

/** Makes the proof of a plan, with a real signature over whatever the plan left, and the request that it comes with. */
export function buildProof({ pair: [signer, algorithm], address: { publicUrl, path }, ...plan }: ProofPlan) {
  const url = plan.respellings.reduce<string>((spelt, [from, to]) => spelt.replace(from, to), publicUrl + path);
  const jwk = merged([publicJwk(SIGNERS[plan.shows ?? signer]()), ...plan.jwk]);
  const target = { url, token: TOKEN, nowSeconds: NOW_SECONDS };
  const [header, claims] = [merged([{ jwk }, ...plan.header]), merged(plan.claims)];
  const proof = makeProof(target, { key: SIGNERS[signer](), algorithm, header, claims });
  const thumbprint = thumbprintOf(SIGNERS[plan.boundTo ?? signer]());
  const world = { publicUrl, path, method: 'GET', token: TOKEN, thumbprint, nowSeconds: NOW_SECONDS };
  return { proof: edited(proof, plan.edits), world };
}
