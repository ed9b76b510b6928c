import { afterAll, beforeAll, describe, test } from 'bun:test';
import { expectError, expectMessage } from '../support/expect-error.ts';
import type { Issuer } from '../support/issuer.ts';
import { mintToken } from '../support/mint.ts';
import { algorithmAttacks } from './attacks/algorithm.ts';
import { type Attack, credentialsOf, startTemptingIssuer } from './attacks/attack.ts';
import { claimAttacks, scopeAttacks } from './attacks/claims.ts';
import { headerAttacks } from './attacks/header.ts';
import { serializationAttacks } from './attacks/serialization.ts';
import { signatureAttacks } from './attacks/signature.ts';
import { createTarget, PRIVATE, SCOPED, type Target } from './target.ts';

const attacks: Readonly<Record<string, readonly Attack[]>> = {
  'algorithm confusion': algorithmAttacks,
  'missing, forged and respelled signatures': signatureAttacks,
  'hostile headers': headerAttacks,
  'hostile claims': claimAttacks,
  'other serializations': serializationAttacks,
};

describe('a known attack', () => {
  let issuer: Issuer;
  let target: Target;
  beforeAll(async () => {
    issuer = await startTemptingIssuer();
    target = createTarget({ issuer: issuer.url });
    target.guard.start();
  });
  afterAll(async () => {
    target.guard.stop();
    await issuer.close();
  });

  test('is set against a service that accepts a good token', async () => {
    await expectMessage(await target.show(mintToken(issuer.url), PRIVATE));
    await expectMessage(await target.show(mintToken(issuer.url), SCOPED));
  });

  for (const [kind, rows] of Object.entries(attacks)) {
    describe(`by ${kind}`, () => {
      for (const attack of rows) {
        test(`is refused: ${attack.name} (${attack.advisory})`, async () => {
          const credentials = credentialsOf(attack, issuer.url);
          // Twice, because a refusal that is remembered as anything else would be the worst of caches.
          for (const path of [PRIVATE, SCOPED, PRIVATE]) {
            await expectError(await target.show(credentials, path), 401, attack.code ?? 'invalid_header');
          }
        });
      }
    });
  }

  describe('to gain a scope', () => {
    for (const { name, claims } of scopeAttacks) {
      test(`is granted nothing: ${name} (RFC 6749 §3.3)`, async () => {
        const token = mintToken(issuer.url, { claims });
        await expectMessage(await target.show(token, PRIVATE));
        await expectError(await target.show(token, SCOPED), 403, 'Unauthorized');
        await expectError(await target.show(token, SCOPED), 403, 'Unauthorized');
      });
    }
  });

  test('never makes the service ask for keys more than twice, nor remember a refused token', () => {
    // One fetch at the start, and one for the first kid that nobody published: the clock of the cooldown stands still.
    if (issuer.fetches > 2) throw new Error(`${issuer.fetches} fetches`);
    if (target.cache().cacheEntries > 2 + scopeAttacks.length)
      throw new Error(`${target.cache().cacheEntries} entries`);
  });
});
