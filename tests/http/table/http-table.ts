import { describe } from 'bun:test';
import { fixtureFor } from '../../support/fixture.ts';
import type { Form } from '../../support/forms.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { SIGNING_KID } from '../../support/mint.ts';
import { authorizationHeaderRows } from './authorization-header.ts';
import { crossOriginRows } from './cross-origin.ts';
import { httpMannersRows } from './http-manners.ts';
import { crowdedKeySet, keySetRows } from './key-set.ts';
import { outageRows } from './outage.ts';
import { scopeRows } from './scope.ts';
import { tokenRows } from './tokens.ts';

/** Registers the whole HTTP table, the same for every form in which the service is used. */
export function describeHttpTable(form: Form): void {
  describe(form.name, () => {
    describe('with its issuer up', () => {
      const fixture = fixtureFor(form, { keys: crowdedKeySet });
      httpMannersRows(fixture);
      authorizationHeaderRows(fixture);
      tokenRows(fixture);
      scopeRows(fixture);
      crossOriginRows(fixture);
      keySetRows(fixture);
    });

    const goodKeys = () => [publish(rsaKey(SIGNING_KID), SIGNING_KID)];
    describe('with its issuer down', () => {
      outageRows(fixtureFor(form, { keys: goodKeys, prepare: (issuer) => issuer.goDown() }));
    });
    describe('with its issuer answering 500', () => {
      outageRows(
        fixtureFor(form, {
          keys: goodKeys,
          prepare: (issuer) => {
            issuer.mode = { kind: 'answer', status: 500 };
          },
        }),
      );
    });
  });
}
