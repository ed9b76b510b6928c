import { describe, expect, test } from 'bun:test';
import { createHash, createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { Elysia } from 'elysia';
import { resourceServer } from '../../../src/auth/elysia/resource-server.ts';
import { createProofVerifier, type ProvenRequest, type VerifyProof } from '../../../src/auth/proof/proof.ts';
import type { ProofAlgorithm } from '../../../src/auth/proof/proof-key.ts';
import { createMemoryReplayStore, type ReplayStore } from '../../../src/auth/proof/replay-store.ts';
import type { RefusalReason } from '../../../src/auth/refusals.ts';
import { startIssuer } from '../../support/issuer.ts';
import { exactRsaKey, publish, rsaKey } from '../../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../../support/mint.ts';
import {
  goodProofParts,
  makeProof,
  type ProofOverrides,
  proofKey,
  publicJwk,
  thumbprintOf,
} from '../../support/proof.ts';

const publicUrl = 'https://api.example.test';
const path = '/api/private';
const token = 'header.payload.signature';
const nowSeconds = 2_000_000_000;
const target = { url: publicUrl + path, token, nowSeconds };

type ProofVerdict = RefusalReason | 'accepted';

interface Row extends ProofOverrides {
  readonly name: string;
  readonly want: ProofVerdict;
  /** The whole header value, in place of a proof that is made. */
  readonly value?: string | null;
  readonly thumbprint?: string;
  readonly method?: string;
  /** The request's address as the server sees it. */
  readonly requested?: string;
  readonly publicUrl?: string;
  /** The accepted ones. */
  readonly algorithms?: readonly ProofAlgorithm[];
}

/** Shows a proof with a request of its own. */
async function show(
  verify: VerifyProof,
  dpop: string | null,
  { method = 'GET', url = target.url, thumbprint = thumbprintOf(proofKey()) } = {},
): Promise<ProofVerdict> {
  const headers = new Headers(dpop === null ? {} : { dpop });
  return (await verify({ method, url, headers }, token, thumbprint))?.reason ?? 'accepted';
}

/** What is recorded. */
async function judge(row: Omit<Row, 'name' | 'want'>): Promise<{ verdict: ProofVerdict; uses: number }> {
  const replayStore = createMemoryReplayStore({ now: () => nowSeconds * 1000 });
  const verify = createProofVerifier({ publicUrl, ...row, replayStore, now: () => nowSeconds * 1000 });
  const proof = row.value === undefined ? makeProof(target, row) : row.value;
  const thumbprint = row.thumbprint ?? thumbprintOf(row.key ?? proofKey(row.algorithm));
  const { method, requested: url = `http://127.0.0.1:3010${path}` } = row;
  const verdict = await show(verify, proof, { method, url, thumbprint });
  return { verdict, uses: replayStore.state().entries };
}

function holds(rows: readonly Row[]): void {
  for (const { name, want, ...row } of rows) {
    test(`${want}: ${name}`, async () => {
      expect(await judge(row)).toEqual({ verdict: want, uses: want === 'accepted' ? 1 : 0 });
    });
  }
}

/** The largest exponent that is a prime of 31 bits. */
const largeExponent = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 2 ** 31 - 1 }).privateKey;
const goodHeader = goodProofParts(target, proofKey(), 'ES256').header;
const jwk = (overrides: Readonly<Record<string, unknown>>, algorithm = 'ES256') => ({
  jwk: { ...publicJwk(proofKey(algorithm)), ...overrides },
});
const zeroFirst = (value: unknown) =>
  Buffer.concat([Buffer.of(0), Buffer.from(String(value), 'base64url')]).toString('base64url');
/** The key of the same x and the other y. */
const mirrored = () => {
  const numberOf = (value: unknown) => BigInt(`0x${Buffer.from(String(value), 'base64url').toString('hex')}`);
  const textOf = (value: bigint) => Buffer.from(value.toString(16).padStart(64, '0'), 'hex').toString('base64url');
  const field = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const { kty = '', crv = '', x = '', y, d } = proofKey().export({ format: 'jwk' });
  const other = { kty, crv, x, y: textOf(field - numberOf(y)), d: textOf(order - numberOf(d)) };
  return createPrivateKey({ key: other, format: 'jwk' });
};
/** A proof of exactly this many characters, padded with an unused member. */
const padded = (length: number) => {
  const withPads = (header: number, claims: number) =>
    makeProof(target, { header: { pad: 'x'.repeat(header) }, claims: { pad: 'x'.repeat(claims) } });
  const room = Math.floor(((length - withPads(0, 0).length) * 3) / 4);
  const candidates = [0, 1, 2].flatMap((header) =>
    [-3, -2, -1, 0].map((more) => withPads(header, room + more - header)),
  );
  return candidates.find((proof) => proof.length === length) ?? '';
};
/** What FAPI 2.0 wants (§5.4.1). */
const fapi = ['ES256', 'PS256', 'EdDSA'] as const;
const deepJson = (depth: number) => `{"typ":"dpop+jwt","alg":"ES256","jwk":${'['.repeat(depth)}${']'.repeat(depth)}}`;

describe('createProofVerifier() judges', () => {
  describe('signatures and keys:', () => {
    holds([
      { name: 'ES256', want: 'accepted' },
      { name: 'ES384', algorithm: 'ES384', want: 'accepted' },
      { name: 'RS256', algorithm: 'RS256', want: 'accepted' },
      { name: 'PS256', algorithm: 'PS256', want: 'accepted' },
      { name: 'EdDSA', algorithm: 'EdDSA', want: 'accepted' },
      { name: 'Ed25519, its other name', algorithm: 'Ed25519', want: 'accepted' },
      {
        name: 'EdDSA by a key for Ed25519',
        algorithm: 'EdDSA',
        header: jwk({ alg: 'Ed25519' }, 'EdDSA'),
        want: 'accepted',
      },
      { name: 'RSA of 2049 bits', algorithm: 'RS256', key: exactRsaKey('proof', 2049), want: 'accepted' },
      { name: 'RSA of 4096 bits', algorithm: 'RS256', key: exactRsaKey('proof', 4096), want: 'accepted' },
      {
        name: 'a key with what WebCrypto exports',
        header: jwk({ use: 'sig', ext: true, key_ops: ['verify'], kid: '1' }),
        want: 'accepted',
      },
      { name: 'none', header: { alg: 'none' }, want: 'proof_algorithm' },
      { name: 'HS256', header: { alg: 'HS256' }, want: 'proof_algorithm' },
      { name: 'ES512, which is not in the list', header: { alg: 'ES512' }, want: 'proof_algorithm' },
      { name: 'es256', header: { alg: 'es256' }, want: 'proof_algorithm' },
      { name: 'no alg', header: { alg: undefined }, want: 'proof_algorithm' },
      { name: 'no jwk', header: { jwk: undefined }, want: 'proof_key' },
      { name: 'a jwk that is null', header: { jwk: null }, want: 'proof_key' },
      { name: 'a jwk that is text', header: { jwk: 'EC' }, want: 'proof_key' },
      { name: 'a jwk that is a list', header: { jwk: [publicJwk(proofKey())] }, want: 'proof_key' },
      ...['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'].map(
        (name) => ({ name: `the private member ${name}`, header: jwk({ [name]: 'AA' }), want: 'proof_key' }) as const,
      ),
      { name: 'an empty private member', header: jwk({ p: null }), want: 'proof_key' },
      { name: 'a symmetric key', header: { jwk: { kty: 'oct', k: 'AAAA' } }, want: 'proof_key' },
      { name: 'a symmetric member beside a public key', header: jwk({ k: 'AAAA' }), want: 'proof_key' },
      { name: 'a P-384 key for ES256', key: proofKey('ES384'), want: 'proof_key' },
      { name: 'a P-256 key for ES384', algorithm: 'ES384', key: proofKey(), want: 'proof_key' },
      { name: 'an EC key for EdDSA', header: { alg: 'EdDSA' }, want: 'proof_key' },
      { name: 'an RSA key for ES256', header: { jwk: publicJwk(proofKey('RS256')) }, want: 'proof_key' },
      { name: 'Ed448', algorithm: 'EdDSA', header: jwk({ crv: 'Ed448' }, 'EdDSA'), want: 'proof_key' },
      { name: 'X25519', algorithm: 'EdDSA', header: jwk({ crv: 'X25519' }, 'EdDSA'), want: 'proof_key' },
      { name: 'a key for another algorithm', header: jwk({ alg: 'ES384' }), want: 'proof_key' },
      {
        name: 'an Ed25519 key for another algorithm',
        algorithm: 'EdDSA',
        header: jwk({ alg: 'ES256' }, 'EdDSA'),
        want: 'proof_key',
      },
      { name: 'a key for encryption', header: jwk({ use: 'enc' }), want: 'proof_key' },
      { name: 'a key that only signs', header: jwk({ key_ops: ['sign'] }), want: 'proof_key' },
      { name: 'a key without y', header: jwk({ y: undefined }), want: 'proof_key' },
      { name: 'a coordinate of 33 bytes', header: jwk({ x: zeroFirst(publicJwk(proofKey()).x) }), want: 'proof_key' },
      {
        name: 'a coordinate of 33 bytes for EdDSA',
        algorithm: 'EdDSA',
        header: jwk({ x: zeroFirst(publicJwk(proofKey('EdDSA')).x) }, 'EdDSA'),
        want: 'proof_key',
      },
      { name: 'a coordinate that is too short', header: jwk({ x: 'AAAA' }), want: 'proof_key' },
      { name: 'a coordinate with padding', header: jwk({ x: `${publicJwk(proofKey()).x}=` }), want: 'proof_key' },
      { name: 'a point that is not on the curve', header: jwk({ y: publicJwk(proofKey()).x }), want: 'proof_key' },
      { name: 'RSA of 2047 bits', algorithm: 'RS256', key: exactRsaKey('proof', 2047), want: 'proof_key' },
      {
        name: 'a leading zero',
        algorithm: 'RS256',
        header: jwk({ n: zeroFirst(publicJwk(proofKey('RS256')).n) }, 'RS256'),
        want: 'proof_key',
      },
      { name: 'RSA of 1024 bits', algorithm: 'RS256', key: rsaKey('proof', 1024), want: 'proof_key' },
      { name: 'RSA of 4104 bits', algorithm: 'RS256', key: exactRsaKey('proof', 4104), want: 'proof_key' },
      {
        name: 'RSA of 16384 bits',
        header: { alg: 'RS256', jwk: { kty: 'RSA', n: '_'.repeat(2728), e: 'AQAB' } },
        want: 'proof_key',
      },
      { name: 'PS256 by RSA of 4104 bits', algorithm: 'PS256', key: exactRsaKey('proof', 4104), want: 'proof_key' },
      { name: 'an exponent of 4 bytes', algorithm: 'RS256', key: largeExponent, want: 'accepted' },
      { name: 'an exponent of 1', algorithm: 'RS256', header: jwk({ e: 'AQ' }, 'RS256'), want: 'proof_key' },
      { name: 'an even exponent', algorithm: 'RS256', header: jwk({ e: 'Ag' }, 'RS256'), want: 'proof_key' },
      { name: 'an exponent of 5 bytes', algorithm: 'RS256', header: jwk({ e: 'AQAAAAE' }, 'RS256'), want: 'proof_key' },
      {
        name: 'an exponent with a leading zero',
        algorithm: 'RS256',
        header: jwk({ e: 'AAEAAQ' }, 'RS256'),
        want: 'proof_key',
      },
      {
        name: 'an even modulus',
        algorithm: 'RS256',
        header: jwk({ n: `${'_'.repeat(341)}g` }, 'RS256'),
        want: 'proof_key',
      },
      {
        name: 'another key of the same client',
        header: { jwk: publicJwk(proofKey('ES256', 'other')) },
        want: 'proof_signature',
      },
      {
        name: 'an empty signature of the right length',
        reshape: (proof) => proof.replace(/[^.]*$/, 'A'.repeat(86)),
        want: 'proof_signature',
      },
      {
        name: 'a signature that is too short',
        reshape: (proof) => proof.replace(/[^.]*$/, 'AAAA'),
        want: 'proof_signature',
      },
      {
        name: 'a good proof by a key that the token is not bound to',
        thumbprint: thumbprintOf(proofKey('ES256', 'other')),
        want: 'proof_key_mismatch',
      },
      {
        name: 'a good proof by the key of the same x and the other y',
        key: mirrored(),
        thumbprint: thumbprintOf(proofKey()),
        want: 'proof_key_mismatch',
      },
      { name: 'an algorithm of the list', algorithms: ['ES256'], want: 'accepted' },
      {
        name: 'Ed25519 where the list has EdDSA',
        algorithm: 'Ed25519',
        algorithms: ['ES256', 'EdDSA'],
        want: 'accepted',
      },
      { name: 'an algorithm that the list lacks', algorithm: 'RS256', algorithms: fapi, want: 'proof_algorithm' },
      { name: 'a token bound to a key that has no thumbprint', thumbprint: '', want: 'proof_key_mismatch' },
    ]);
  });

  describe('the header value and the JWS:', () => {
    holds([
      {
        name: 'other members in header and claims',
        header: { kid: 'x', b64: false, nonce: 1 },
        claims: { nonce: 'x', exp: 1 },
        want: 'accepted',
      },
      {
        name: 'the last of members that repeat',
        headerText: JSON.stringify(goodHeader).replace('{', '{"alg":"none","typ":"JWT",'),
        want: 'accepted',
      },
      { name: '4096 characters', value: padded(4096), want: 'accepted' },
      { name: '4097 characters', value: padded(4097), want: 'proof_oversized' },
      { name: '64 KB', value: padded(65_536), want: 'proof_oversized' },
      { name: 'no header', value: null, want: 'proof_missing' },
      { name: 'an empty header', value: ' ', want: 'proof_missing' },
      { name: 'two headers', value: `${makeProof(target)}, ${makeProof(target)}`, want: 'proof_repeated' },
      { name: 'two parts', reshape: (proof) => proof.replace(/\.[^.]*$/, ''), want: 'proof_malformed' },
      { name: 'four parts', reshape: (proof) => `${proof}.AAAA`, want: 'proof_malformed' },
      { name: 'no signature', reshape: (proof) => proof.replace(/[^.]*$/, ''), want: 'proof_malformed' },
      { name: 'padding', reshape: (proof) => `${proof}==`, want: 'proof_malformed' },
      { name: 'spare bits in the signature', reshape: (proof) => proof.replace(/.$/, 'B'), want: 'proof_malformed' },
      { name: 'white space', reshape: (proof) => proof.replace('.', '. '), want: 'proof_malformed' },
      { name: 'a header that is no JSON', headerText: '{', want: 'proof_malformed' },
      { name: 'a header that is a list', headerText: '[]', want: 'proof_malformed' },
      { name: 'claims that are no object', payloadText: 'null', want: 'proof_malformed' },
      {
        name: 'JWS in JSON serialization',
        value: '{"payload":"e30","protected":"e30","signature":"AAAA"}',
        want: 'proof_repeated',
      },
      { name: 'deep JSON', headerText: deepJson(1000), want: 'proof_key' },
      { name: 'typ JWT', header: { typ: 'JWT' }, want: 'proof_type' },
      { name: 'typ in upper case', header: { typ: 'DPOP+JWT' }, want: 'proof_type' },
      { name: 'no typ', header: { typ: undefined }, want: 'proof_type' },
      { name: 'crit', header: { crit: ['b64'], b64: false }, want: 'proof_critical_header' },
      { name: 'an empty crit', header: { crit: [] }, want: 'proof_critical_header' },
    ]);
  });

  describe('the claims:', () => {
    holds([
      { name: 'iat 60 seconds ago', claims: { iat: nowSeconds - 60 }, want: 'accepted' },
      { name: 'iat in 60 seconds', claims: { iat: nowSeconds + 60 }, want: 'accepted' },
      { name: 'iat with a fraction', claims: { iat: nowSeconds + 59.5 }, want: 'accepted' },
      { name: 'jti of 256 characters', claims: { jti: 'x'.repeat(256) }, want: 'accepted' },
      { name: 'another method that the request has too', method: 'POST', claims: { htm: 'POST' }, want: 'accepted' },
      { name: 'another method', claims: { htm: 'POST' }, want: 'proof_method' },
      { name: 'HEAD with a proof for GET', method: 'HEAD', want: 'proof_method' },
      { name: 'the method in lower case', claims: { htm: 'get' }, want: 'proof_method' },
      { name: 'no htm', claims: { htm: undefined }, want: 'proof_method' },
      { name: 'iat more than 60 seconds ago', claims: { iat: nowSeconds - 60.001 }, want: 'proof_time' },
      { name: 'iat in more than 60 seconds', claims: { iat: nowSeconds + 60.001 }, want: 'proof_time' },
      { name: 'iat in milliseconds', claims: { iat: nowSeconds * 1000 }, want: 'proof_time' },
      { name: 'iat that is text', claims: { iat: `${nowSeconds}` }, want: 'proof_time' },
      { name: 'no iat', claims: { iat: undefined }, want: 'proof_time' },
      {
        name: 'an infinite iat',
        payloadText: JSON.stringify(goodProofParts(target, proofKey(), '').claims).replace(`${nowSeconds}`, '1e400'),
        want: 'proof_time',
      },
      {
        name: 'the hash of another token',
        claims: { ath: createHash('sha256').update('other').digest('base64url') },
        want: 'proof_token_hash',
      },
      {
        name: 'the hash with padding',
        claims: { ath: `${createHash('sha256').update(token).digest('base64url')}=` },
        want: 'proof_token_hash',
      },
      { name: 'no ath', claims: { ath: undefined }, want: 'proof_token_hash' },
      { name: 'jti of 257 characters', claims: { jti: 'x'.repeat(257) }, want: 'proof_id' },
      { name: 'an empty jti', claims: { jti: '' }, want: 'proof_id' },
      { name: 'a jti that is a number', claims: { jti: 1 }, want: 'proof_id' },
      { name: 'no jti', claims: { jti: undefined }, want: 'proof_id' },
    ]);
  });

  describe('htu, which RFC 3986 normalization equates with the address:', () => {
    const equal = [
      'HTTPS://API.Example.TEST/api/private',
      'https://api.example.test:443/api/private',
      'https://api.example.test:/api/private',
      'https://%61pi.example.test/api/private',
      'https://api.example.test/api/./private',
      'https://api.example.test/x/../api/private',
      'https://api.example.test/../api/private',
      'https://api.example.test/%61pi/privat%65',
      'https://api.example.test/x/%2e%2E/api/private',
      'https://api.example.test/api/private?x=1#y',
    ];
    const different = [
      'http://api.example.test/api/private',
      'https://api.example.test:8443/api/private',
      'https://api.example.test:0443/api/private',
      'https://api.example.test:80/api/private',
      'https://api.example.test./api/private',
      'https://evil.example.test/api/private',
      'https://user@api.example.test/api/private',
      'https://api.example.test/api/private/',
      'https://api.example.test/api/private/.',
      'https://api.example.test//api/private',
      'https://api.example.test/API/private',
      'https://api.example.test/api%2Fprivate',
      'https://api.example.test/api/private-scoped',
      'https://api.example.test\\api\\private',
      'https://api.example.test/api/private\n',
      ' https://api.example.test/api/private',
      'https://api.example.test/api/%zzprivate',
      'https://api.example.test',
      'https:/api.example.test/api/private',
      '//api.example.test/api/private',
      '/api/private',
      '',
    ];
    const isEqual = (want: ProofVerdict) => (htu: unknown) =>
      ({ name: JSON.stringify(htu), claims: { htu }, want }) as const;
    holds([
      ...equal.map(isEqual('accepted')),
      ...different.map(isEqual('proof_url')),
      ...[undefined, null, 1, [target.url]].map(isEqual('proof_url')),
    ]);
    holds([
      {
        name: 'the case of percent-encoding',
        claims: { htu: `${publicUrl}/a%3ab%C3%a9` },
        requested: 'http://x/a%3Ab%c3%A9?q',
        want: 'accepted',
      },
      {
        name: 'a path that ends in dots',
        claims: { htu: `${publicUrl}/a/b/..` },
        requested: 'http://x/a/',
        want: 'accepted',
      },
      { name: 'an empty path', claims: { htu: publicUrl }, requested: 'http://x/', want: 'accepted' },
      { name: 'a path of dots', claims: { htu: `${publicUrl}/a/../.` }, requested: 'http://x/', want: 'accepted' },
      {
        name: 'the default port of http',
        publicUrl: 'http://localhost',
        claims: { htu: 'http://localhost:80/api/private' },
        want: 'accepted',
      },
      {
        name: 'an address below a path',
        publicUrl: `${publicUrl}/base`,
        claims: { htu: `${publicUrl}/base/api/private` },
        want: 'accepted',
      },
      {
        name: 'a path of the address that the request has too',
        publicUrl: `${publicUrl}/api/private`,
        claims: { htu: `${publicUrl}/api/private/api/private` },
        want: 'accepted',
      },
      {
        name: 'a path of the address alone, where the request has it too',
        publicUrl: `${publicUrl}/api/private`,
        want: 'proof_url',
      },
      ...['/api/private', '//api.example.test/api/private', 'api/private', '*', ''].flatMap((requested) => [
        { name: `the path of a URL that is not absolute: ${requested}`, requested, want: 'proof_url' } as const,
        { name: `no path for ${requested}`, requested, claims: { htu: publicUrl }, want: 'proof_url' } as const,
      ]),
      {
        name: 'a port of the address',
        publicUrl: 'http://localhost:3010',
        claims: { htu: 'http://localhost/api/private' },
        want: 'proof_url',
      },
      {
        name: 'the Kelvin sign for a k',
        publicUrl: 'https://k.example.test',
        claims: { htu: 'https://\u212a.example.test/api/private' },
        want: 'proof_url',
      },
      {
        name: 'a host that the request names',
        claims: { htu: 'https://evil.example.test/api/private' },
        requested: 'https://evil.example.test/api/private',
        want: 'proof_url',
      },
    ]);
  });
});

describe('createProofVerifier()', () => {
  const thumbprint = thumbprintOf(proofKey());
  const verifierWith = (replayStore: ReplayStore, now = () => nowSeconds * 1000) =>
    createProofVerifier({ publicUrl, replayStore, now });

  test('accepts one of 20 parallel uses of a proof', async () => {
    const verify = verifierWith(createMemoryReplayStore());
    const proof = makeProof(target);
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => show(verify, proof)));
    expect(verdicts.toSorted()).toEqual(['accepted', ...Array(19).fill('proof_replayed')]);
  });

  test('treats a jti as used only for the same key, regardless of the rest of the proof', async () => {
    const verify = verifierWith(createMemoryReplayStore());
    const other = proofKey('ES256', 'other');
    const claims = { jti: 'same' };
    expect(await show(verify, makeProof(target, { claims }))).toBe('accepted');
    expect(await show(verify, makeProof(target, { claims, key: other }), { thumbprint: thumbprintOf(other) })).toBe(
      'accepted',
    );
    const later = { ...claims, iat: nowSeconds - 1, htm: 'POST' };
    expect(await show(verify, makeProof(target, { claims: later }), { method: 'POST' })).toBe('proof_replayed');
  });

  describe('shares one use of a proof among judgements of one request:', () => {
    const requestWith = (dpop: string) => ({ method: 'GET', url: target.url, headers: new Headers({ dpop }) });
    const at = () => nowSeconds * 1000;
    const [store, other] = [createMemoryReplayStore({ now: at }), createMemoryReplayStore({ now: at })];
    const judgeWith = async (stores: readonly ReplayStore[], requests: readonly ProvenRequest[]) =>
      Promise.all(
        stores.map((replayStore, index) =>
          verifierWith(replayStore)(requests[index % requests.length] as ProvenRequest, token, thumbprint),
        ),
      ).then((refusals) => refusals.map((refusal) => refusal?.reason));

    test('two guards with one store, and each with its own', async () => {
      const request = requestWith(makeProof(target));
      expect(await judgeWith([store, store], [request])).toEqual([undefined, undefined]);
      expect(await judgeWith([store, other, other], [request])).toEqual([undefined, undefined, undefined]);
      const again = { ...request };
      expect(await judgeWith([store, other], [again])).toEqual(['proof_replayed', 'proof_replayed']);
      expect(await judgeWith([store], [again])).toEqual(['proof_replayed']);
    });

    test('another proof of the same request is another use', async () => {
      const used = makeProof(target);
      await judgeWith([store], [requestWith(used)]);
      const request = requestWith(makeProof(target));
      expect(await judgeWith([store], [request])).toEqual([undefined]);
      request.headers.set('dpop', used);
      expect(await judgeWith([store], [request])).toEqual(['proof_replayed']);
    });

    test('a request of which it is unknown whether its proof was used', async () => {
      let calls = 0;
      const failing = { markUsed: () => ++calls > 1 };
      const unknown = { markUsed: () => Promise.reject(new Error(String(++calls))) };
      const request = requestWith(makeProof(target));
      expect(await judgeWith([unknown, unknown], [request])).toEqual(['replay_unknown', 'replay_unknown']);
      expect(calls).toBe(1);
      expect(await judgeWith([failing], [request])).toEqual([undefined]);
    });
  });

  for (const [name, laterMs] of [
    ['the process was paused', 151_000],
    ['the clock was set forward', 86_400_000],
    ['the clock was set back', -86_400_000],
  ] as const) {
    test(`rejects a proof that is out of time when it would be marked, because ${name}`, async () => {
      let calls = 0;
      const seen: unknown[] = [];
      const store = createMemoryReplayStore();
      const replayStore = { markUsed: (...use: [string, number]) => seen.push(use) > 0 && store.markUsed(...use) };
      const verify = verifierWith(replayStore, () => nowSeconds * 1000 + (++calls > 2 ? laterMs : 0));
      const proof = makeProof(target);
      expect(await Promise.all([show(verify, proof), show(verify, proof)])).toEqual(['proof_time', 'proof_time']);
      expect(seen).toEqual([]);
    });
  }

  test('rejects a used proof throughout its window, on clocks half a minute apart', async () => {
    let now = (nowSeconds - 60) * 1000;
    const replayStore = createMemoryReplayStore({ now: () => now });
    const first = verifierWith(replayStore, () => now);
    const behind = verifierWith(replayStore, () => now - 29_999);
    const proof = makeProof(target);
    expect(await show(first, proof)).toBe('accepted');
    const judgements = new Map<number, ProofVerdict>();
    for (const seconds of [60, 120, 149.998]) {
      now = (nowSeconds - 60 + seconds) * 1000;
      judgements.set(seconds, await show(behind, proof));
    }
    expect([...judgements.values()]).toEqual(['proof_replayed', 'proof_replayed', 'proof_replayed']);
  });

  const stores: readonly { name: string; markUsed: () => unknown }[] = [
    {
      name: 'throws',
      markUsed: () => {
        throw new Error('full');
      },
    },
    { name: 'rejects', markUsed: () => Promise.reject(new Error('unreachable')) },
    { name: 'resolves to something else', markUsed: () => Promise.resolve('OK') },
    { name: 'returns nothing', markUsed: () => undefined },
  ];
  for (const { name, markUsed } of stores) {
    test(`cannot decide about a proof when the store ${name}`, async () => {
      const verify = verifierWith({ markUsed: markUsed as ReplayStore['markUsed'] });
      expect(await show(verify, makeProof(target))).toBe('replay_unknown');
    });
  }

  test('shows the store a hash and the rest of the window', async () => {
    const seen: unknown[] = [];
    const verify = verifierWith({
      markUsed(...args) {
        seen.push(args);
        return true;
      },
    });
    for (const iat of [nowSeconds - 60, nowSeconds + 60, nowSeconds + 0.0005])
      await show(verify, makeProof(target, { claims: { iat, jti: 'secret' } }));
    const hash = createHash('sha256').update(`${thumbprint}.secret`).digest('base64url');
    expect(seen).toEqual([
      [hash, 30_000],
      [hash, 150_000],
      [hash, 90_001],
    ]);
  });
});

describe('resourceServer() with dpop', () => {
  test('asks the store of the application', async () => {
    const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
    const claims = { cnf: { jkt: thumbprintOf(proofKey()) } };
    const bound = mintToken(issuer.url, { claims });
    const used = new Set<string>();
    const replayStore = { markUsed: async (key: string) => !used.has(key) && Boolean(used.add(key)) };
    const guard = resourceServer({ issuer: issuer.url, audience: AUDIENCE, dpop: 'required', publicUrl, replayStore });
    const app = new Elysia().use(guard).get('/me', ({ claims }) => claims.sub);
    const proof = makeProof({ url: `${publicUrl}/me`, token: bound, nowSeconds: Math.floor(Date.now() / 1000) });
    const request = () =>
      new Request('http://localhost/me', { headers: { authorization: `DPoP ${bound}`, dpop: proof } });
    expect([(await app.handle(request())).status, (await app.handle(request())).status]).toEqual([200, 401]);
    expect(used.size).toBe(1);
    await issuer.close();
  });
});
