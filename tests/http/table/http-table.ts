import { describe } from 'bun:test';
import { fixtureFor } from '../../support/fixture.ts';
import type { Form } from '../../support/forms.ts';
import type { Issuer } from '../../support/issuer.ts';
import { crowdedKeySet } from '../../support/keys.ts';
import { crossOriginRows } from './cross-origin.ts';
import { httpMannersRows } from './http-manners.ts';
import { outageRows } from './outage.ts';
import { probeRows } from './probed.ts';

/**
 * Registers the whole HTTP table, the same for every form in which the service is used, with the whole probe or these
 * rows of it.
 */
export function describeHttpTable(form: Form, only?: readonly string[]): void {
  describe(form.name, () => {
    describe('with its issuer up', () => {
      // A busy machine may take longer than the defaults for a fetch, and for the rows of one target. Rows in which the
      // issuer fails must not be the first to fetch again.
      const settings = { JWKS_TIMEOUT_SECONDS: '20', JWKS_COOLDOWN_SECONDS: '3600' };
      const fixture = fixtureFor(form, { keys: crowdedKeySet, settings });
      probeRows(fixture, only);
      httpMannersRows(fixture);
      crossOriginRows(fixture);
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
