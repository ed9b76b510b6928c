import { describe, expect, test } from 'bun:test';
import { certificate } from '../support/certificates.ts';
import type { Environment } from '../support/child-process.ts';
import { bearer, fixtureFor } from '../support/fixture.ts';
import { inProcessForm } from '../support/in-process.ts';
import type { TokenOverrides } from '../support/mint.ts';
import { SCOPED } from './table/tokens.ts';

const { thumbprint, field } = certificate('a');
const bound = { claims: { cnf: { 'x5t#S256': thumbprint } } };

type Headers = (token: string) => Readonly<Record<string, string>>;
type Row = readonly [name: string, status: number, token: TokenOverrides, headers?: Headers];

const withCertificate = (sent: string) => (token: string) => ({ ...bearer(token), 'client-cert': sent });
/** That settings reach the guard: the one that is no option itself. Tests of `optionsFromEnvironment` have the others. */
const groups: readonly (readonly [settings: Environment, ...rows: readonly Row[]])[] = [
  [
    { CLIENT_CERT_HEADER: 'Client-Cert' },
    ['its certificate', 200, bound, withCertificate(field)],
    ['no certificate', 401, bound],
    ['another certificate', 401, bound, withCertificate(certificate('b').field)],
    ['its certificate twice', 401, bound, withCertificate(`${field}, ${field}`)],
  ],
  [{}, ['its certificate', 401, bound, withCertificate(field)]],
];

for (const [settings, ...rows] of groups) {
  describe(`the settings ${JSON.stringify(settings)}`, () => {
    const fixture = fixtureFor(inProcessForm, { settings });

    test.each(rows)('make the response to %s a %d', async (_name, status, token, headers = bearer) => {
      const { service, mint } = fixture();
      expect((await service.fetch(SCOPED, { headers: headers(mint(token)) })).status).toBe(status);
    });
  });
}
