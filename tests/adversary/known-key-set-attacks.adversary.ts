import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { mintToken, SIGNING_KID } from '../support/mint.ts';
import { createTarget, KEY_SET_TIMES, type Target } from './target.ts';

const goodKey = () => publish(rsaKey(SIGNING_KID), SIGNING_KID);

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

  test('decompresses nothing: 64 MB of keys that arrive as 64 KB (CWE-409)', async () => {
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
    expect(target.guard.state().issuers[0]?.lastFailure?.failure).toBe('encoded');
    expect(served).toBe(1);
    await server.stop(true);
  });

  test('gets nothing in by a kid that names another key of the set (RFC 8725 §3.10)', async () => {
    issuer.keys = [goodKey(), publish(rsaKey('other'), 'other')];
    await started();
    await expectMessage(await target.show(mint('other', rsaKey('other'))));
    await expectError(await target.show(mint(SIGNING_KID, rsaKey('other'))), 401, 'invalid_header');
    await expectError(await target.show(mint('other', rsaKey(SIGNING_KID))), 401, 'invalid_header');
  });
});
