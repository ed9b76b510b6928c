import { describe, expect, test } from 'bun:test';
import { calculateJwkThumbprint, exportJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import { createGuard } from '../../../src/auth/guard.ts';
import { createNonces } from '../../../src/auth/proof/nonces.ts';
import { createChecker, offline, tokenOf } from '../../support/checked.ts';
import { bound, makeProof, proven } from '../../support/proof.ts';

const [secret, next] = ['a'.repeat(32), 'b'.repeat(32)];
const start = 2_000_000_000;

describe('createNonces().isFresh()', () => {
  const rows: readonly (readonly [
    name: string,
    isFresh: boolean,
    later: number,
    secrets?: readonly string[],
    change?: (nonce: string) => string,
  ])[] = [
    ['at once', true, 0],
    ['in its last second', true, 60],
    ['a second after that', false, 61],
    ['by a clock that is 30 seconds behind', true, -30],
    ['by a clock that is further behind', false, -31],
    ['after the secret was replaced, while it is the second', true, 0, [next, secret]],
    ['after the secret was removed', false, 0, [next]],
    ['with another time', false, 0, [secret], (nonce) => nonce.replace(/^./, 'y')],
    ['with another signature', false, 0, [secret], (nonce) => `${nonce}A`],
    ['without a signature', false, 0, [secret], (nonce) => nonce.replace(/\..*/, '')],
    ['of nothing', false, 0, [secret], () => ''],
  ];
  test.each(rows)('of a nonce %s: %p', async (_, want, later, secrets = [secret], change = (nonce) => nonce) => {
    const nonce = await createNonces([secret], 60, () => start * 1000).issue();
    const { isFresh } = createNonces(secrets, 60, () => (start + later) * 1000);
    expect(await isFresh(change(nonce))).toBe(want);
  });
});

describe('the option dpopNonceSecret', () => {
  const url = 'https://api.example.test/reports';
  const options = { dpop: 'on', publicUrl: 'https://api.example.test', dpopNonceSecret: secret } as const;
  const check = createChecker(options);
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
