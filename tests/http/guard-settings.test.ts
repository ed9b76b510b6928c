import { describe, expect, test } from 'bun:test';
import { certificate } from '../support/certificates.ts';
import type { Environment } from '../support/child-process.ts';
import { bearer, fixtureFor } from '../support/fixture.ts';
import { inProcessForm } from '../support/in-process.ts';
import { nowSeconds, type TokenOverrides } from '../support/mint.ts';
import { makeProof, proofKey, thumbprintOf } from '../support/proof.ts';
import { SCOPED } from './table/tokens.ts';

const PUBLIC_URL = 'https://api.example.test';
const { thumbprint, field } = certificate('a');
const bound = { claims: { cnf: { 'x5t#S256': thumbprint } } };

type Headers = (token: string) => Readonly<Record<string, string>>;
type Row = readonly [name: string, status: number, token: TokenOverrides, headers?: Headers];

const withCertificate = (sent: string) => (token: string) => ({ ...bearer(token), 'client-cert': sent });
const withProof = (algorithm: string, status: number): Row => [
  `a proof by ${algorithm}`,
  status,
  { claims: { cnf: { jkt: thumbprintOf(proofKey(algorithm)) } } },
  (token) => ({
    authorization: `DPoP ${token}`,
    dpop: makeProof({ url: PUBLIC_URL + SCOPED, token, nowSeconds: nowSeconds() }, { algorithm }),
  }),
];

/** That a setting reaches the guard; the tests of the guard have a row for each rule. */
const groups: readonly (readonly [settings: Environment, ...rows: readonly Row[]])[] = [
  [
    { TOKEN_TYPE: 'at+jwt' },
    ['an access token', 200, { header: { typ: 'at+jwt' } }],
    ['a token of any type', 401, { header: { typ: 'JWT' } }],
  ],
  [
    { SCOPE_IMPLIES: 'admin=editor, editor=read:messages' },
    ['the broader scope', 200, { claims: { scope: 'admin' } }],
    ['the narrower scope', 200, {}],
    ['another scope', 403, { claims: { scope: 'administrator' } }],
  ],
  [
    { CLIENT_CERT_HEADER: 'Client-Cert' },
    ['its certificate', 200, bound, withCertificate(field)],
    ['no certificate', 401, bound],
    ['another certificate', 401, bound, withCertificate(certificate('b').field)],
    ['its certificate twice', 401, bound, withCertificate(`${field}, ${field}`)],
  ],
  [{}, ['its certificate', 401, bound, withCertificate(field)]],
  [
    { DPOP: 'on', PUBLIC_URL, DPOP_ALGORITHMS: 'ES256, PS256, EdDSA' },
    withProof('ES256', 200),
    withProof('PS256', 200),
    withProof('RS256', 401),
  ],
];

for (const [settings, ...rows] of groups) {
  describe(`the settings ${JSON.stringify(settings)}`, () => {
    const fixture = fixtureFor(inProcessForm, { settings });

    test.each(rows)('answer %s with %d', async (_name, status, token, headers = bearer) => {
      const { service, mint } = fixture();
      expect((await service.fetch(SCOPED, { headers: headers(mint(token)) })).status).toBe(status);
    });
  });
}
