import { describe } from 'bun:test';
import { fixtureFor } from '../../support/fixture.ts';
import type { Form } from '../../support/forms.ts';
import type { Issuer } from '../../support/issuer.ts';
import { authorizationHeaderRows } from './authorization-header.ts';
import { crossOriginRows } from './cross-origin.ts';
import { httpMannersRows } from './http-manners.ts';
import { crowdedKeySet, keySetRows } from './key-set.ts';
import { outageRows } from './outage.ts';
import { tokenRows } from './tokens.ts';

/** Registers the whole HTTP table, the same for every form in which the service is used. */
export function describeHttpTable(form: Form): void {
  describe(form.name, () => {
    describe('with its issuer up', () => {
      const fixture = fixtureFor(form, { keys: crowdedKeySet });
      httpMannersRows(fixture);
      authorizationHeaderRows(fixture);
      tokenRows(fixture);
      crossOriginRows(fixture);
      keySetRows(fixture);
    });

    describe('with its issuer down', () => {
      outageRows(fixtureFor(form, { prepare: (issuer) => issuer.close() }));
    });
    describe('with an issuer that returns 500', () => {
      const prepare = (issuer: Issuer) => void Object.assign(issuer, { mode: { kind: 'response', status: 500 } });
      outageRows(fixtureFor(form, { prepare }));
    });
  });
}
