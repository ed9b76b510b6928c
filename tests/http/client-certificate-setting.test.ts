import { describe, expect, test } from 'bun:test';
import { certificate } from '../support/certificates.ts';
import { bearer, fixtureFor } from '../support/fixture.ts';
import { inProcessForm } from '../support/in-process.ts';
import { SCOPED } from './table/tokens.ts';

const { thumbprint, field } = certificate('a');
const bound = { claims: { cnf: { 'x5t#S256': thumbprint } } };

const withCertificate = (sent: string) => (token: string) => ({ ...bearer(token), 'client-cert': sent });
const ownCertificate = withCertificate(field);

// That settings reach the guard, by the one that is no option itself. Tests of `optionsFromEnvironment` have the others.
describe('CLIENT_CERT_HEADER', () => {
  const fixture = fixtureFor(inProcessForm, { settings: { CLIENT_CERT_HEADER: 'Client-Cert' } });
  const withoutSetting = fixtureFor(inProcessForm);

  test.each([
    ['its certificate', 200, ownCertificate, fixture],
    ['no certificate', 401, bearer, fixture],
    ['another certificate', 401, withCertificate(certificate('b').field), fixture],
    ['its certificate twice', 401, withCertificate(`${field}, ${field}`), fixture],
    ['its certificate, but without the setting', 401, ownCertificate, withoutSetting],
  ])('makes the response to a bound token with %s a %d', async (_name, status, headersOf, fixtureOf) => {
    const { service, mint } = fixtureOf();
    expect((await service.fetch(SCOPED, { headers: headersOf(mint(bound)) })).status).toBe(status);
  });
});
