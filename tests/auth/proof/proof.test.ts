import { describe, expect, test } from 'bun:test';
import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createProofVerifier, type ProvenRequest, type VerifyProof } from '../../../src/auth/proof/proof.ts';
import type { ProofAlgorithm } from '../../../src/auth/proof/proof-key.ts';
import { createMemoryReplayStore, type ReplayStore } from '../../../src/auth/proof/replay-store.ts';
import type { RefusalReason } from '../../../src/auth/refusals.ts';
import { createChecker, tokenOf } from '../../support/checked.ts';
import { exactRsaKey, rsaKey } from '../../support/keys.ts';
import {
  goodProofParts,
  makeProof,
  type ProofOverrides,
  proofKey,
  publicJwk,
  thumbprintOf,
} from '../../support/proof.ts';
import { smallOrder } from '../../support/signatures.ts';

const publicUrl = 'https://api.example.test';
const path = '/api/private';
const token = 'header.payload.signature';
const nowSeconds = 2_000_000_000;
const target = { url: publicUrl + path, token, nowSeconds };

type ProofVerdict = RefusalReason | 'accepted';

interface Change extends ProofOverrides {
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
async function shown(
  verify: VerifyProof,
  dpop: string | null,
  { method = 'GET', url = target.url, thumbprint = thumbprintOf(proofKey()) } = {},
): Promise<ProofVerdict> {
  const headers = new Headers(dpop === null ? {} : { dpop });
  return (await verify({ method, url, headers }, token, thumbprint))?.reason ?? 'accepted';
}

/** What is recorded. */
async function judge(row: Change): Promise<{ verdict: ProofVerdict; uses: number }> {
  const replayStore = createMemoryReplayStore({ now: () => nowSeconds * 1000 });
  const verify = createProofVerifier({ publicUrl, ...row, replayStore, now: () => nowSeconds * 1000 });
  const proof = row.value === undefined ? makeProof(target, row) : row.value;
  const thumbprint = row.thumbprint ?? thumbprintOf(row.key ?? proofKey(row.algorithm));
  const { method, requested: url = `http://127.0.0.1:3010${path}` } = row;
  const verdict = await shown(verify, proof, { method, url, thumbprint });
  return { verdict, uses: replayStore.state().entries };
}

/** The largest exponent that is a prime of 31 bits. */
const largeExponent = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 2 ** 31 - 1 }).privateKey;
const { header, claims: goodParts } = goodProofParts(target, proofKey(), 'ES256');
const [goodHeader, goodClaims] = [header, goodParts].map((part) => JSON.stringify(part)) as [string, string];
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');
const zeroFirst = (value: unknown) =>
  Buffer.concat([Buffer.of(0), Buffer.from(String(value), 'base64url')]).toString('base64url');
/** Both parts padded to so many bytes with blanks, which JSON takes at its end. */
const padded = (headerBytes: number, claimsBytes: number) => ({
  headerText: goodHeader.padEnd(headerBytes),
  payloadText: goodClaims.padEnd(claimsBytes),
});
/** What FAPI 2.0 wants (§5.4.1). */
const fapi = ['ES256', 'PS256', 'EdDSA'] as const;

/** The changes to a valid proof. */
type Row = readonly [name: string, change: Change];

function holds(name: string, table: Readonly<Partial<Record<ProofVerdict, readonly Row[]>>>): void {
  describe(`createProofVerifier() judges ${name}:`, () => {
    for (const [want, rows] of Object.entries(table))
      for (const [row, change] of rows)
        test(`${want}: ${row}`, async () => {
          expect(await judge(change)).toEqual({ verdict: want as ProofVerdict, uses: want === 'accepted' ? 1 : 0 });
        });
  });
}

const show = (value: unknown) => JSON.stringify(value) ?? 'missing';
const members = (part: 'header' | 'claims', name: string, values: readonly unknown[], more: Change = {}) =>
  values.map((value): Row => [`${name} ${show(value).slice(0, 80)}`, { ...more, [part]: { [name]: value } }]);
/** Proofs that show the key of this algorithm with these members. */
const keys = (algorithm: string, ...changes: readonly Readonly<Record<string, unknown>>[]) =>
  changes.map((change): Row => {
    const jwk = { ...publicJwk(proofKey(algorithm)), ...change };
    return [`${algorithm} by a key with ${show(change).slice(0, 60)}`, { algorithm, header: { jwk } }];
  });
const signature = (text: string) => ({ reshape: (proof: string) => proof.replace(/[^.]*$/, text) });
const otherKey = proofKey('ES256', 'other');
const { x } = publicJwk(proofKey());

holds('signatures and keys', {
  accepted: [
    ...['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'].map((algorithm): Row => [algorithm, { algorithm }]),
    ...keys('EdDSA', { alg: 'Ed25519' }),
    ...keys('ES256', { use: 'sig', ext: true, key_ops: ['verify'], kid: '1' }),
    ...[2049, 4096].map((bits): Row => [`${bits} bits`, { algorithm: 'RS256', key: exactRsaKey('proof', bits) }]),
    ['an exponent of 4 bytes', { algorithm: 'RS256', key: largeExponent }],
    ['an algorithm of the list', { algorithms: ['ES256'] }],
    ['Ed25519 where the list has EdDSA', { algorithm: 'Ed25519', algorithms: ['ES256', 'EdDSA'] }],
  ],
  proof_algorithm: [
    ...members('header', 'alg', ['none', 'HS256', 'ES512', 'es256', undefined]),
    ['an algorithm that the list lacks', { algorithm: 'RS256', algorithms: fapi }],
  ],
  proof_key: [
    ...members('header', 'jwk', [undefined, null, 'EC', [publicJwk(proofKey())], { kty: 'oct', k: 'AAAA' }]),
    ...members('header', 'jwk', [publicJwk(proofKey('RS256'))]),
    ...keys('ES256', ...['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'].map((name) => ({ [name]: 'AA' }))),
    ...keys('ES256', { p: null }, { alg: 'ES384' }, { use: 'enc' }, { key_ops: ['sign'] }, { y: undefined }),
    ...keys('ES256', { x: zeroFirst(x) }, { x: 'AAAA' }, { x: `${x}=` }, { y: x }),
    ...keys('EdDSA', { crv: 'Ed448' }, { crv: 'X25519' }, { alg: 'ES256' }),
    ...keys('EdDSA', { x: zeroFirst(publicJwk(proofKey('EdDSA')).x) }, ...smallOrder.map((x) => ({ x }))),
    ...keys('RS256', { n: zeroFirst(publicJwk(proofKey('RS256')).n) }, { n: `${'_'.repeat(341)}g` }),
    ...keys('RS256', { e: 'AQ' }, { e: 'Ag' }, { e: 'AQAAAAE' }, { e: 'AAEAAQ' }),
    ['a P-384 key for ES256', { key: proofKey('ES384') }],
    ['a P-256 key for ES384', { algorithm: 'ES384', key: proofKey() }],
    ['an EC key for EdDSA', { header: { alg: 'EdDSA' } }],
    ...[2047, 4104].map((bits): Row => [`${bits} bits`, { algorithm: 'RS256', key: exactRsaKey('proof', bits) }]),
    ['1024 bits', { algorithm: 'RS256', key: rsaKey('proof', 1024) }],
  ],
  proof_signature: [
    ...members('header', 'jwk', [publicJwk(otherKey)]),
    ['an empty signature of the right length', signature('A'.repeat(86))],
    ['a signature that is too short', signature('AAAA')],
  ],
  proof_key_mismatch: [
    ['a key that the token is not bound to', { thumbprint: thumbprintOf(otherKey) }],
    ['a token bound to a key that has no thumbprint', { thumbprint: '' }],
  ],
});

holds('the header value and the JWS', {
  accepted: [
    ['other members', { header: { kid: 'x', b64: false, nonce: 1 }, claims: { nonce: 'x', exp: 1 } }],
    ['the last of members that repeat', { headerText: goodHeader.replace('{', '{"alg":"none","typ":"JWT",') }],
    ['4096 characters', padded(300, 2706)],
  ],
  proof_oversized: [['4097 characters', padded(301, 2705)]],
  proof_missing: [null, ' '].map((value) => [show(value), { value }]),
  proof_repeated: [`${makeProof(target)}, ${makeProof(target)}`, '{"payload":"e30","signature":"AAAA"}'].map(
    (value) => [value.slice(0, 20), { value }],
  ),
  proof_malformed: [
    ['two parts', { reshape: (proof) => proof.replace(/\.[^.]*$/, '') }],
    ['four parts', { reshape: (proof) => `${proof}.AAAA` }],
    ['no signature', signature('')],
    ['padding', { reshape: (proof) => `${proof}==` }],
    ['spare bits in the signature', { reshape: (proof) => proof.replace(/.$/, 'B') }],
    ['white space', { reshape: (proof) => proof.replace('.', '. ') }],
    ...['{', '[]'].map((headerText): Row => [`the header ${headerText}`, { headerText }]),
    ['claims that are no object', { payloadText: 'null' }],
  ],
  proof_type: members('header', 'typ', ['JWT', 'DPOP+JWT', undefined]),
  proof_critical_header: members('header', 'crit', [['b64'], []]),
});

holds('the claims', {
  accepted: [
    ...members('claims', 'iat', [nowSeconds - 60, nowSeconds + 60, nowSeconds + 59.5]),
    ...members('claims', 'jti', ['x'.repeat(256)]),
    ...members('claims', 'htm', ['POST'], { method: 'POST' }),
  ],
  proof_method: [
    ...members('claims', 'htm', ['POST', 'get', undefined]),
    ['HEAD with a proof for GET', { method: 'HEAD' }],
  ],
  proof_time: [
    ...members('claims', 'iat', [
      nowSeconds - 60.001,
      nowSeconds + 60.001,
      nowSeconds * 1000,
      `${nowSeconds}`,
      undefined,
    ]),
    ['an infinite iat', { payloadText: goodClaims.replace(`${nowSeconds}`, '1e400') }],
  ],
  proof_token_hash: members('claims', 'ath', [sha256('other'), `${sha256(token)}=`, undefined]),
  proof_id: members('claims', 'jti', ['x'.repeat(257), '', 1, undefined]),
});

const at = (name: string, htu: string, requested: string): Row => [name, { claims: { htu }, requested }];
const below = (publicUrl: string, htu: string): Row => [`${htu} at ${publicUrl}`, { publicUrl, claims: { htu } }];
holds('htu, which RFC 3986 normalization equates with the address', {
  accepted: [
    ...members('claims', 'htu', [
      ...['HTTPS://API.Example.TEST/api/private', `${publicUrl}:443${path}`, `${publicUrl}:${path}`],
      ...['https://%61pi.example.test/api/private', `${publicUrl}/api/./private`, `${publicUrl}/x/..${path}`],
      ...[`${publicUrl}/..${path}`, `${publicUrl}/%61pi/privat%65`, `${publicUrl}/x/%2e%2E${path}`],
      `${target.url}?x=1#y`,
    ]),
    at('the case of percent-encoding', `${publicUrl}/a%3ab%C3%a9`, 'http://x/a%3Ab%c3%A9?q'),
    at('a path that ends in dots', `${publicUrl}/a/b/..`, 'http://x/a/'),
    at('an empty path', publicUrl, 'http://x/'),
    at('a path of dots', `${publicUrl}/a/../.`, 'http://x/'),
    below('http://localhost', `http://localhost:80${path}`),
    below(`${publicUrl}/base`, `${publicUrl}/base${path}`),
    below(target.url, target.url + path),
  ],
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
    // The Kelvin sign.
    below('https://k.example.test', `https://\u212a.example.test${path}`),
    at('a host that the request names', `https://evil.example.test${path}`, `https://evil.example.test${path}`),
    ...[path, '//api.example.test/api/private', 'api/private', '*', ''].flatMap((requested) => [
      at(`the path of a URL that is not absolute: ${requested}`, target.url, requested),
      at(`no path for ${requested}`, publicUrl, requested),
    ]),
  ],
});

describe('createProofVerifier()', () => {
  const thumbprint = thumbprintOf(proofKey());
  const verifierWith = (replayStore: ReplayStore, now = () => nowSeconds * 1000) =>
    createProofVerifier({ publicUrl, replayStore, now });

  test('treats a jti as used only for the same key, regardless of the rest of the proof', async () => {
    const verify = verifierWith(createMemoryReplayStore());
    const use = (key: KeyObject, method: string, iat: number) => {
      const proof = makeProof(target, { key, claims: { jti: 'same', iat, htm: method } });
      return shown(verify, proof, { method, thumbprint: thumbprintOf(key) });
    };
    expect(await use(proofKey(), 'GET', nowSeconds)).toBe('accepted');
    expect(await use(otherKey, 'GET', nowSeconds)).toBe('accepted');
    expect(await use(proofKey(), 'POST', nowSeconds - 1)).toBe('proof_replayed');
  });

  describe('shares one use of a proof among judgements of one request:', () => {
    const requestWith = (dpop: string) => ({ method: 'GET', url: target.url, headers: new Headers({ dpop }) });
    const at = () => nowSeconds * 1000;
    const [store, other] = [createMemoryReplayStore({ now: at }), createMemoryReplayStore({ now: at })];
    const judgeWith = (stores: readonly ReplayStore[], request: ProvenRequest) =>
      Promise.all(stores.map(async (store) => (await verifierWith(store)(request, token, thumbprint))?.reason));

    test('two guards with one store, and each with its own', async () => {
      const request = requestWith(makeProof(target));
      expect(await judgeWith([store, store], request)).toEqual([undefined, undefined]);
      expect(await judgeWith([store, other, other], request)).toEqual([undefined, undefined, undefined]);
      const again = { ...request };
      expect(await judgeWith([store, other], again)).toEqual(['proof_replayed', 'proof_replayed']);
      expect(await judgeWith([store], again)).toEqual(['proof_replayed']);
    });

    test('another proof of the same request is another use', async () => {
      const used = makeProof(target);
      await judgeWith([store], requestWith(used));
      const request = requestWith(makeProof(target));
      expect(await judgeWith([store], request)).toEqual([undefined]);
      request.headers.set('dpop', used);
      expect(await judgeWith([store], request)).toEqual(['proof_replayed']);
    });

    test('a request of which it is unknown whether its proof was used', async () => {
      let calls = 0;
      const failing = { markUsed: () => ++calls > 1 };
      const unknown = { markUsed: () => Promise.reject(new Error(String(++calls))) };
      const request = requestWith(makeProof(target));
      expect(await judgeWith([unknown, unknown], request)).toEqual(['replay_unknown', 'replay_unknown']);
      expect(calls).toBe(1);
      expect(await judgeWith([failing], request)).toEqual([undefined]);
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
      expect(await Promise.all([shown(verify, proof), shown(verify, proof)])).toEqual(['proof_time', 'proof_time']);
      expect(seen).toEqual([]);
    });
  }

  const stores: Readonly<Record<string, () => unknown>> = {
    throws() {
      throw new Error('full');
    },
    rejects: () => Promise.reject(new Error('unreachable')),
    'resolves to something else': () => Promise.resolve('OK'),
    'returns nothing': () => undefined,
  };
  for (const [name, markUsed] of Object.entries(stores)) {
    test(`cannot decide about a proof when the store ${name}`, async () => {
      const verify = verifierWith({ markUsed: markUsed as ReplayStore['markUsed'] });
      expect(await shown(verify, makeProof(target))).toBe('replay_unknown');
    });
  }

  test('shows the store a hash and the rest of the window', async () => {
    const seen: unknown[] = [];
    const verify = verifierWith({ markUsed: (...args) => seen.push(args) > 0 });
    for (const iat of [nowSeconds - 60, nowSeconds + 60, nowSeconds + 0.0005])
      await shown(verify, makeProof(target, { claims: { iat, jti: 'secret' } }));
    const hash = createHash('sha256').update(`${thumbprint}.secret`).digest('base64url');
    expect(seen).toEqual([
      [hash, 30_000],
      [hash, 150_000],
      [hash, 90_001],
    ]);
  });
});

test('a guard asks the store of the application', async () => {
  const used: string[] = [];
  const replayStore = { markUsed: async (key: string) => used.push(key) === 1 };
  const check = createChecker({ dpop: 'required', publicUrl, replayStore });
  const bound = tokenOf({ claims: { cnf: { jkt: thumbprintOf(proofKey()) } } });
  const dpop = makeProof({ url: `${publicUrl}/reports`, token: bound, nowSeconds: Math.floor(Date.now() / 1000) });
  for (const reason of [undefined, 'proof_replayed'])
    expect((await check(new Headers({ authorization: `DPoP ${bound}`, dpop }))).reason).toBe(reason);
  expect(used).toEqual([used[0], used[0]] as string[]);
});
