import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { mintToken, SIGNING_KID } from '../support/mint.ts';
import { encodeForSigning } from './attacks/forgery.ts';
import { createTarget, KEY_SET_TIMES, type Target } from './target.ts';

const FLOOD = 10_000;
const goodKey = () => publish(rsaKey(SIGNING_KID), SIGNING_KID);

/** Beside a good key, each of these has spoilt a whole set somewhere. */
const spoilers: readonly { readonly name: string; readonly keys: readonly unknown[] }[] = [
  { name: 'null', keys: [null] },
  { name: 'what is no object', keys: [1, 'text', true, [], [[]]] },
  { name: 'empty objects', keys: [{}, {}] },
  { name: 'an n that is no base64url', keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID, { n: '!!!' })] },
  { name: 'an n of zeros', keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID, { n: 'A'.repeat(342) })] },
  { name: 'an n of half a megabit', keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID, { n: 'f'.repeat(90_000) })] },
  { name: 'an e of 0', keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID, { e: 'AA' })] },
  { name: 'an e of 2', keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID, { e: 'Ag' })] },
  { name: 'an e longer than n', keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID, { e: 'f'.repeat(400) })] },
  { name: 'members of the wrong type', keys: [{ kty: 1, kid: {}, n: [], e: null, use: 0, key_ops: 'verify' }] },
  { name: 'kids out of the prototype', keys: ['__proto__', 'constructor'].map((kid) => publish(rsaKey('other'), kid)) },
  { name: 'a weak key under the same kid', keys: [publish(rsaKey('weak', 1024), SIGNING_KID)] },
  { name: 'another key under the same kid', keys: [publish(rsaKey('other'), SIGNING_KID)] },
  { name: 'a curve nobody knows', keys: [{ kty: 'EC', crv: 'P-1', kid: SIGNING_KID, x: 'AA', y: 'AA' }] },
  {
    name: 'as many other keys as there can be',
    keys: Array.from({ length: 999 }, (_, at) => publish(rsaKey('other'), `other ${at}`)),
  },
];

describe('an attack on the key set', () => {
  let issuer: Issuer;
  let stranger: Issuer;
  let target: Target;
  beforeAll(async () => {
    issuer = await startIssuer();
    stranger = await startIssuer([publish(rsaKey('stranger'), SIGNING_KID), publish(rsaKey('stranger'), 'stranger')]);
  });
  afterAll(async () => {
    await issuer.close();
    await stranger.close();
  });
  beforeEach(() => {
    issuer.keys = [goodKey()];
    issuer.mode = { kind: 'keys' };
    target = createTarget({ issuer: issuer.url });
  });

  const mint = (kid = SIGNING_KID, key = rsaKey(SIGNING_KID)) => mintToken(issuer.url, { header: { kid }, key });
  const started = async () => {
    target.guard.start();
    await expectMessage(await target.show(mint()));
  };

  for (const { name, keys } of spoilers) {
    for (const isFirst of [true, false]) {
      test(`does not spoil a good key by ${isFirst ? 'preceding' : 'following'} it with ${name} (CVE-2026-102274, RFC 7517 §5)`, async () => {
        issuer.keys = isFirst ? [...keys, goodKey()] : [goodKey(), ...keys];
        await started();
        await expectError(await target.show(mint(SIGNING_KID, rsaKey('stranger'))), 401, 'invalid_header');
        await expectError(await target.show(mint(SIGNING_KID, rsaKey('weak', 1024))), 401, 'invalid_header');
      });
    }
  }

  for (const status of [301, 302, 303, 307, 308]) {
    test(`leads nowhere by a redirect, status ${status} (RFC 8725 §3.10, CWE-918)`, async () => {
      await started();
      issuer.mode = { kind: 'answer', status, headers: { location: `${stranger.url}.well-known/jwks.json` } };
      target.clock.advance(KEY_SET_TIMES.maxAgeMs);
      await expectError(await target.show(mint('stranger', rsaKey('stranger'))), 401, 'invalid_header');
      await expectMessage(await target.show(mint()));
      expect(stranger.fetches).toBe(0);
    });
  }

  test('leads nowhere by a token that names another issuer or address (CVE-2025-59936, CVE-2024-21643)', async () => {
    await started();
    const address = `${stranger.url}.well-known/jwks.json`;
    const forged = mintToken(issuer.url, {
      header: { jku: address, x5u: address, iss: stranger.url },
      claims: { iss: stranger.url, jku: address },
      key: rsaKey('stranger'),
    });
    await expectError(await target.show(forged), 401, 'invalid_header');
    const honest = mintToken(issuer.url, { claims: { iss: stranger.url } });
    await expectError(await target.show(honest), 401, 'invalid_claims');
    expect(stranger.fetches).toBe(0);
  });

  for (const mode of ['keys', 'error'] as const) {
    const issuerState = mode === 'keys' ? 'up' : 'failing';
    test(`causes one fetch by ${FLOOD} unknown kids, with the issuer ${issuerState} (CVE-2026-48524)`, async () => {
      await started();
      if (mode === 'error') issuer.mode = { kind: 'answer', status: 500 };
      const before = issuer.fetches;
      target.clock.advance(KEY_SET_TIMES.cooldownMs);
      const [, payload, signature] = mint().split('.');
      for (let at = 0; at < FLOOD; at += 100) {
        const answers = Array.from({ length: 100 }, (_, offset) => {
          const header = Buffer.from(`{"alg":"RS256","kid":"unknown ${at + offset}"}`).toString('base64url');
          return target.show(`${header}.${payload}.${signature}`);
        });
        for (const answer of await Promise.all(answers)) expect(answer.status).toBe(401);
        await expectMessage(await target.show(mint()));
      }
      expect(issuer.fetches - before).toBe(1);
    });
  }

  test('clears no keys by making a fetch fail (CVE-2026-48524)', async () => {
    await started();
    const failures = [
      { kind: 'hang' },
      { kind: 'cut off' },
      { kind: 'huge' },
      { kind: 'answer', status: 404 },
    ] as const;
    for (const mode of failures) {
      issuer.mode = mode;
      target.clock.advance(KEY_SET_TIMES.cooldownMs);
      const unknown = target.show(mint('unknown'));
      await expectMessage(await target.show(mint()));
      if (mode.kind === 'hang') target.clock.advance(KEY_SET_TIMES.timeoutMs);
      await expectError(await unknown, 401, 'invalid_header');
      await expectMessage(await target.show(mint()));
    }
  });

  test('inflates nothing: 64 MB of keys that came as 64 KB (CWE-409)', async () => {
    const bomb = gzipSync(`{"keys":[${' '.repeat(64 * 1024 * 1024)}]}`);
    let served = 0;
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch() {
        served += 1;
        return new Response(bomb, { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } });
      },
    });
    target = createTarget({ issuer: issuer.url, jwksUri: `${server.url}keys` });
    await expectError(await target.show(mint()), 503, 'key_set_unavailable');
    expect(target.guard.state().issuers[0]?.lastFailure).toBe('encoded');
    expect(served).toBe(1);
    await server.stop(true);
  });

  test('gets nothing in by a weak key written as long as a strong one (CWE-326, RFC 7518 §3.3)', async () => {
    for (const [bits, zeros] of [
      [1024, 128],
      [1024, 200],
      [2040, 1],
      [2047, 8],
    ] as const) {
      const kid = `weak ${bits} ${zeros}`;
      const { n } = publish(rsaKey(kid, bits), kid);
      const padded = Buffer.concat([Buffer.alloc(zeros), Buffer.from(String(n), 'base64url')]).toString('base64url');
      issuer.keys = [goodKey(), publish(rsaKey(kid, bits), kid, { n: padded })];
      target = createTarget({ issuer: issuer.url });
      await started();
      await expectError(await target.show(mint(kid, rsaKey(kid, bits))), 401, 'invalid_header');
    }
  });

  test('gets nothing in by an exponent of 1, under which anyone can sign (RFC 8017 §3.1)', async () => {
    for (const e of ['AQ', 'AAAAAQ']) {
      issuer.keys = [publish(rsaKey('other'), 'one', { e }), goodKey()];
      target = createTarget({ issuer: issuer.url });
      await started();
      const forged = mintToken(issuer.url, { header: { kid: 'one' }, signWith: encodeForSigning });
      await expectError(await target.show(forged), 401, 'invalid_header');
    }
  });

  test('gets nothing in by a kid that names another key of the set (RFC 8725 §3.10)', async () => {
    issuer.keys = [goodKey(), publish(rsaKey('other'), 'other')];
    await started();
    await expectMessage(await target.show(mint('other', rsaKey('other'))));
    await expectError(await target.show(mint(SIGNING_KID, rsaKey('other'))), 401, 'invalid_header');
    await expectError(await target.show(mint('other', rsaKey(SIGNING_KID))), 401, 'invalid_header');
  });
});
