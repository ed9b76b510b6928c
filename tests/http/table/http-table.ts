import { describe } from 'bun:test';
import { benchFor } from '../../support/bench.ts';
import type { Form } from '../../support/forms.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { SIGNING_KID } from '../../support/mint.ts';
import { authorizationHeaderRows } from './authorization-header.ts';
import { crossOriginRows } from './cross-origin.ts';
import { httpMannersRows } from './http-manners.ts';
import { crowdedKeySet, keySetRows } from './key-set.ts';
import { outageRows } from './outage.ts';
import { scopeRows } from './scope.ts';
import { tokenClaimRows } from './token-claims.ts';
import { tokenHeaderRows } from './token-header.ts';
import { tokenSpellingRows } from './token-spelling.ts';

/** Registers the whole HTTP table, the same for every form in which the service is used. */
export function describeHttpTable(form: Form): void {
  describe(form.name, () => {
    describe('with its issuer up', () => {
      const bench = benchFor(form, { keys: crowdedKeySet });
      httpMannersRows(bench);
      authorizationHeaderRows(bench);
      describe('a token with', () => {
        tokenClaimRows(bench);
        tokenHeaderRows(bench);
        tokenSpellingRows(bench);
      });
      scopeRows(bench);
      crossOriginRows(bench);
      keySetRows(bench);
    });

    const goodKeys = () => [publish(rsaKey(SIGNING_KID), SIGNING_KID)];
    describe('with its issuer down', () => {
      outageRows(benchFor(form, { keys: goodKeys, prepare: (issuer) => issuer.goDown() }));
    });
    describe('with its issuer answering 500', () => {
      outageRows(
        benchFor(form, {
          keys: goodKeys,
          prepare: (issuer) => {
            issuer.mode = { kind: 'answer', status: 500 };
          },
        }),
      );
    });
  });
}
