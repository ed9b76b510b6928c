import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { calculateJwkThumbprint, exportJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import { resourceServer } from '../../../src/auth/elysia.ts';
import { createGuard } from '../../../src/auth/index.ts';
import { createNonces } from '../../../src/auth/proof/nonces.ts';
import { createChecker, offline, tokenOf } from '../../support/checked.ts';
import { bound, makeProof, proven } from '../../support/proof.ts';

const [secret, next] = ['a'.repeat(32), 'b'.repeat(32)];
const start = 2_000_000_000_123;

describe('createNonces()', () => {
  const rows: readonly (readonly [name: string, want: number | undefined, secrets?: readonly string[]])[] = [
    ['it gave out', start],
    ['of the secret that is being replaced', start, [next, secret]],
    ['of a secret that was removed', undefined, [next]],
  ];
  const issued = () => createNonces([secret], () => start).issue();
  test.each(rows)('knows when a nonce was given out that %s: %p', async (_, want, secrets = [secret]) =>
    expect(await createNonces(secrets, () => 0).issuedAtMs(await issued())).toBe(want),
  );

  test('knows nothing else', async () => {
    const nonce = await issued();
    const [time = '', signature] = nonce.split('.');
    const { issuedAtMs } = createNonces([secret], () => 0);
    for (const other of [`y${nonce}`, `${nonce}A`, time, `${time}.`, `.${signature}`, '', [nonce], { toString: 1 }])
      expect([other, await issuedAtMs(other)]).toEqual([other, undefined]);
  });
});

describe('the option dpopNonceSecret', () => {
  const url = 'https://api.example.test/messages';
  const options = { dpop: 'on', publicUrl: 'https://api.example.test', dpopNonceSecret: secret } as const;
  let nowMs = Date.now();
  const used: unknown[] = [];
  const replayStore = { markUsed: (...use: readonly unknown[]) => used.push(use.slice(1, 3)) > 0 };
  const check = createChecker(options, { now: () => nowMs });
  const token = tokenOf({ claims: { cnf: bound } });
  const send = (nonce?: string, claims = {}) =>
    check(new Headers({ ...proven(token, url), dpop: makeProof({ url, token }, { claims: { nonce, ...claims } }) }));

  test('asks for a nonce, and accepts a proof with it once', async () => {
    const { result, reason, challenge } = await send();
    expect(reason).toBe('proof_nonce_missing');
    expect(challenge).toStartWith('DPoP error="use_dpop_nonce", ');
    const nonce = (result as Response).headers.get('dpop-nonce') ?? '';
    expect(nonce).toMatch(/^[\w.-]+$/);
    const jti = 'the same';
    expect((await send(nonce, { jti })).reason).toBeUndefined();
    expect((await send(nonce, { jti })).reason).toBe('proof_replayed');
    expect((await send('unknown')).reason).toBe('proof_nonce_stale');
  });

  const wrongClocks = [-86_400, 86_400].map((offset) => ({ iat: Math.floor(nowMs / 1000) + offset }));
  test.each(wrongClocks)('a client whose clock is wrong gets a nonce, and is accepted with it: %p', async (claims) => {
    const { result, reason } = await send(undefined, claims);
    expect(reason).toBe('proof_nonce_missing');
    const nonce = (result as Response).headers.get('dpop-nonce') ?? '';
    expect((await send(nonce, claims)).reason).toBeUndefined();
    for (const wrong of [{ iat: undefined }, { iat: '1' }, { exp: 1 }, { nbf: 9e9 }])
      expect((await send(nonce, { ...claims, ...wrong })).reason).toBe('proof_time');
    // By the clock of the client, which also writes these.
    for (const own of [{ nbf: claims.iat }, { exp: claims.iat + 5 }, { nbf: claims.iat + 60 }])
      expect((await send(nonce, { ...claims, ...own })).reason).toBeUndefined();
    expect((await send(nonce, { ...claims, nbf: claims.iat + 61 })).reason).toBe('proof_time');
    expect((await send(nonce, { ...claims, exp: claims.iat - 60 })).reason).toBe('proof_time');
  });

  test.each([
    ['in the first half of its life', 29_999, false],
    ['from then on', 30_000, true],
    ['in its last millisecond', 60_000, true],
  ])('a response to a proof with a nonce %s has the next one: %p', async (_, laterMs, isOffered) => {
    const startMs = nowMs;
    const nonce = await createNonces([secret], () => startMs).issue();
    nowMs += laterMs;
    const { dpopNonce } = (await send(nonce)).result as { readonly dpopNonce?: string };
    expect(dpopNonce !== undefined).toBe(isOffered);
    nowMs += 60_000;
    if (dpopNonce) expect((await send(dpopNonce)).reason).toBeUndefined();
    nowMs = startMs;
  });

  for (const aot of [true, false])
    test.each([
      ['text', 'GET', '/text'],
      ['a Response', 'GET', '/response'],
      ['a static value', 'GET', '/static'],
      ['a function as its scope', 'GET', '/called'],
      ['a body', 'POST', '/text'],
    ])(`a route of Elysia with aot ${aot} and %s responds with the next nonce`, async (_, method, path) => {
      const app = new Elysia({ aot })
        .use(resourceServer({ ...offline(), ...options }))
        .all('/text', () => 'ok')
        .get('/response', () => new Response('ok'))
        .get('/static', 'ok')
        .get('/called', () => 'ok', { scope: () => [] });
      for (const [ageMs, isOffered] of [
        [0, false],
        [40_000, true],
      ] as const) {
        const nonce = await createNonces([secret], () => Date.now() - ageMs).issue();
        const url = options.publicUrl + path;
        const dpop = makeProof({ method, url, token }, { claims: { nonce } });
        const headers = { authorization: `DPoP ${token}`, dpop };
        const response = await app.handle(new Request(url, { method, headers }));
        expect([response.status, response.headers.has('dpop-nonce')]).toEqual([200, isOffered]);
        expect(response.headers.get('cache-control')).toBe(isOffered ? 'no-store' : null);
      }
    });

  test.each([
    ['at once', 0, undefined, [90_000]],
    ['in its last millisecond', 60_000, undefined, [30_000]],
    ['after that', 60_001, 'proof_nonce_stale', []],
    ['by a clock that is 30 seconds behind', -30_000, undefined, [120_000]],
    ['by a clock that is further behind', -30_001, 'proof_nonce_stale', []],
  ])('a nonce %s: its age decides, also how long the proof is kept', async (_, laterMs, want, lifetimesMs) => {
    const issuedAtMs = nowMs;
    const nonce = await createNonces([secret], () => issuedAtMs).issue();
    used.length = 0;
    nowMs += laterMs;
    const later = createChecker({ ...options, replayStore: replayStore as never }, { now: () => nowMs });
    const dpop = makeProof({ url, token }, { claims: { nonce } });
    expect((await later(new Headers({ ...proven(token, url), dpop }))).reason).toBe(want as string);
    expect(used).toEqual(lifetimesMs.map((lifetimeMs) => [lifetimeMs, issuedAtMs]));
    nowMs = issuedAtMs;
  });

  test.each([
    ['a faulty proof', { htm: 'POST' }, 'proof_method'],
    ['a nonce that is no text', { nonce: 7 }, 'proof_nonce_stale'],
  ])('rejects %s', async (_, claims, want) => expect((await send(undefined, claims)).reason).toBe(want));

  test('is what oauth4webapi answers by itself: it keeps the nonce and repeats the request', async () => {
    const keys = await oauth.generateKeyPair('ES256', { extractable: true });
    const jkt = await calculateJwkThumbprint(await exportJWK(keys.publicKey));
    const bearer = tokenOf({ claims: { cnf: { jkt } } });
    const handle = oauth.DPoP({}, keys);
    const guard = createGuard({ ...offline(), ...options });
    const statuses: number[] = [];
    const call = () =>
      oauth.protectedResourceRequest(bearer, 'GET', new URL(url), undefined, undefined, {
        DPoP: handle,
        async [oauth.customFetch](target: string, init: object) {
          const result = await guard.check(new Request(target, init));
          const response = result instanceof Response ? result : Response.json(result.claims);
          statuses.push(response.status);
          return response;
        },
      });
    expect(await call().catch(oauth.isDPoPNonceError)).toBe(true);
    expect((await call()).status).toBe(200);
    expect(statuses).toEqual([401, 200]);
  });
});
