import { describe, test } from 'bun:test';
import { algorithmAttacks } from '../../adversary/attacks/algorithm.ts';
import { type Attack, credentialsOf } from '../../adversary/attacks/attack.ts';
import { claimAttacks } from '../../adversary/attacks/claims.ts';
import { headerAttacks } from '../../adversary/attacks/header.ts';
import { serializationAttacks } from '../../adversary/attacks/serialization.ts';
import { signatureAttacks } from '../../adversary/attacks/signature.ts';
import { expectError } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { PRIVATE, SCOPED } from './token-rows.ts';

const attacks: Readonly<Record<string, readonly Attack[]>> = {
  'algorithm confusion': algorithmAttacks,
  'missing, forged and respelled signatures': signatureAttacks,
  'hostile headers': headerAttacks,
  'hostile claims': claimAttacks,
  'other serializations': serializationAttacks,
};

/** Known attacks by a token, by the advisory or the rule of each. */
export function attackRows(fixture: () => Fixture): void {
  for (const [kind, rows] of Object.entries(attacks)) {
    describe(`a known attack by ${kind}`, () => {
      for (const attack of rows) {
        test(`is refused: ${attack.name} (${attack.advisory})`, async () => {
          const { issuer, get } = fixture();
          const credentials = credentialsOf(attack, issuer.url);
          // Twice, because a refusal that is remembered as anything else would be the worst of caches.
          for (const path of [PRIVATE, SCOPED, PRIVATE])
            await expectError(await get(path, credentials), 401, attack.code ?? 'invalid_header');
        });
      }
    });
  }
}
