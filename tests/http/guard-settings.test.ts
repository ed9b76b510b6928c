import { describe, expect, test } from 'bun:test';
import { certificate } from '../support/certificates.ts';
import type { Environment } from '../support/child-process.ts';
import { fixtureFor } from '../support/fixture.ts';
import { inProcessForm } from '../support/in-process.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { nowSeconds, SIGNING_KID, type TokenOverrides } from '../support/mint.ts';
import { makeProof, proofKey, thumbprintOf } from '../support/proof.ts';
import { rawGet } from '../support/raw-http.ts';
import { SCOPED } from './table/tokens.ts';

const PUBLIC_URL = 'https://api.example.test';
const { thumbprint, field } = certificate('a');
const other = certificate('b');
const bound = { claims: { cnf: { 'x5t#S256': thumbprint } } };
const keyed = (algorithm: string) => ({ claims: { cnf: { jkt: thumbprintOf(proofKey(algorithm)) } } });
const certificateLines = (...values: readonly string[]) => values.map((value) => `Client-Cert: ${value}`);
const bearer = (token: string) => [`Authorization: Bearer ${token}`];
const dpop = (algorithm: string) => (token: string) => [
  `Authorization: DPoP ${token}`,
  `DPoP: ${makeProof({ url: PUBLIC_URL + SCOPED, token, nowSeconds: nowSeconds() }, { algorithm })}`,
];

type Row = readonly [name: string, token: TokenOverrides, status: number, lines?: (token: string) => readonly string[]];

const withCertificates = (name: string, status: number, ...values: readonly string[]): Row => [
  name,
  bound,
  status,
  (token) => [...bearer(token), ...certificateLines(...values)],
];

const groups: readonly { readonly settings: Environment; readonly rows: readonly Row[] }[] = [
  {
    settings: { TOKEN_TYPE: 'at+jwt' },
    rows: [
      ['an access token', { header: { typ: 'at+jwt' } }, 200],
      ['a token of any type', { header: { typ: 'JWT' } }, 401],
      ['a token without a type', { header: { typ: undefined } }, 401],
    ],
  },
  {
    settings: { SCOPE_IMPLIES: 'admin=editor, editor=read:messages' },
    rows: [
      ['the broader scope', { claims: { scope: 'admin' } }, 200],
      ['the narrower scope', {}, 200],
      ['another scope', { claims: { scope: 'administrator' } }, 403],
    ],
  },
  {
    settings: { CLIENT_CERT_HEADER: 'Client-Cert' },
    rows: [
      withCertificates('its certificate', 200, field),
      withCertificates('no certificate', 401),
      withCertificates('another certificate', 401, other.field),
      withCertificates('its certificate in two headers', 401, field, field),
      withCertificates('its certificate after another', 401, other.field, field),
      withCertificates('its certificate before another', 401, field, other.field),
    ],
  },
  { settings: {}, rows: [withCertificates('its certificate', 401, field)] },
  {
    settings: { DPOP: 'on', PUBLIC_URL, DPOP_ALGORITHMS: 'ES256, PS256, EdDSA' },
    rows: [
      ['a proof by ES256', keyed('ES256'), 200, dpop('ES256')],
      ['a proof by PS256', keyed('PS256'), 200, dpop('PS256')],
      ['a proof by RS256', keyed('RS256'), 401, dpop('RS256')],
      ['a proof by ES384', keyed('ES384'), 401, dpop('ES384')],
    ],
  },
];

for (const { settings, rows } of groups) {
  describe(`the settings ${JSON.stringify(settings)}`, () => {
    const keys = () => [publish(rsaKey(SIGNING_KID), SIGNING_KID)];
    const fixture = fixtureFor(inProcessForm, { keys, settings });
    for (const [name, token, status, lines = bearer] of rows) {
      test(`answer ${status} to ${name}`, async () => {
        const { service, mint } = fixture();
        expect((await rawGet(service.origin, SCOPED, lines(mint(token)))).status).toBe(status);
      });
    }
  });
}
