import { describe, expect, test } from 'bun:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { type Certificate, type ClientCertificate, createGuard, type GuardOptions } from 'protected-api/guard';
import { createTestIssuer, type TokenOptions } from 'protected-api/testing';
import { DEFAULTS, judge, type Outcome } from '../../adversary/oracle.ts';
import { judgeProof } from '../../adversary/proof-oracle.ts';
import { certificate } from '../../support/certificates.ts';

const issuer = await createTestIssuer();
const publicUrl = 'https://api.example.test';
const refuseNetwork: GuardOptions['fetch'] = () => Promise.reject(new Error('No test contacts a server'));
const guard = createGuard({ ...issuer.options, fetch: refuseNetwork });

async function codeFor(headers: Readonly<Record<string, string>>, { check } = guard): Promise<string> {
  const result = await check(new Request(`${publicUrl}/me`, { headers }));
  return result instanceof Response ? ((await result.json()) as { readonly code: string }).code : 'accepted';
}

const rows: readonly [name: string, Parameters<typeof issuer.token>, Outcome][] = [
  ['as it is', [], 'accepted'],
  ['with claims', [{ sub: 'ada', scope: 'read:reports' }], 'accepted'],
  ['with another header that is allowed', [{}, { header: { typ: 'JWT' } }], 'accepted'],
  ['with a list of audiences', [{ aud: ['other', issuer.options.audience] }], 'accepted'],
  ['that expired', [{}, { expired: true }], 'token_expired'],
  ['that is forged', [{}, { forged: true }], 'invalid_header'],
  ['that is forged and expired', [{}, { forged: true, expired: true }], 'invalid_header'],
  ['for another audience', [{ aud: 'other' }], 'invalid_claims'],
  ['of another issuer', [{ iss: 'https://other.invalid/' }], 'invalid_claims'],
  ['without exp', [{ exp: undefined }], 'invalid_header'],
  ['with another alg', [{}, { header: { alg: 'none' } }], 'invalid_header'],
  ['without kid', [{}, { header: { kid: undefined } }], 'invalid_header'],
  ['bound to the key of proofs, without a proof', [{}, { boundTo: 'dpop' }], 'invalid_header'],
  ['bound to a certificate, without one', [{}, { boundTo: certificate('a').pem }], 'invalid_header'],
];

describe('createTestIssuer()', () => {
  for (const [name, args, outcome] of rows) {
    test(`token() ${name}: ${outcome} for the guard and for the independent verifier`, async () => {
      const authorization = `Bearer ${await issuer.token(...args)}`;
      expect(await codeFor({ authorization })).toBe(outcome);
      const { issuer: name, audience, keys } = issuer.options;
      const nowSeconds = Date.now() / 1000;
      const world = { ...DEFAULTS, issuers: { [name]: keys.keys }, audience, nowSeconds, toleranceSeconds: 0 };
      expect(judge(authorization, world).outcomes).toContain(outcome);
    });
  }

  test('token() has the claims and the header that it is given', async () => {
    const token = await issuer.token({ sub: 'ada', scope: 'read:reports' }, { header: { typ: 'JWT' } });
    const { iss, aud, sub, scope, iat = 0, exp = 0 } = decodeJwt(token);
    expect({ iss, aud, sub, scope }).toEqual({
      iss: issuer.options.issuer,
      aud: issuer.options.audience,
      sub: 'ada',
      scope: 'read:reports',
    });
    expect(exp - iat).toBe(3600);
    expect(decodeProtectedHeader(token).typ).toBe('JWT');
  });

  test('has an issuer that no server can have, and publishes no private key', () => {
    expect(new URL(issuer.options.issuer).hostname).toEndWith('.invalid');
    for (const key of issuer.options.keys.keys)
      expect(Object.keys(key).toSorted()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  });

  test('has keys of its own: tokens of another are rejected', async () => {
    const other = await createTestIssuer();
    expect(await codeFor({ authorization: `Bearer ${await other.token()}` })).toBe('invalid_header');
  });

  test('proof() is for one request and one token, for the guard and for the independent verifier', async () => {
    const { check } = createGuard({ ...issuer.options, dpop: 'required', publicUrl });
    const token = await issuer.token({}, { boundTo: 'dpop' });
    const send = async (path: string, dpop: string, method = 'GET', sent = token) => {
      const headers = { authorization: `DPoP ${sent}`, dpop };
      const result = await check(new Request(publicUrl + path, { method, headers }));
      return result instanceof Response ? result.headers.get('www-authenticate') : 'accepted';
    };
    const request = new Request(`${publicUrl}/me?query#fragment`);
    const prove = () => issuer.proof(request, token);
    const proof = await prove();
    expect(decodeJwt(proof).htu).toBe(`${publicUrl}/me`);
    const { jkt: thumbprint = '' } = decodeJwt<{ cnf: { jkt?: string } }>(token).cnf;
    const world = { publicUrl, method: 'GET', path: '/me', token, thumbprint, nowSeconds: Date.now() / 1000 };
    expect(judgeProof(proof, world)).toBe('accepted');
    expect(await send('/me', proof)).toBe('accepted');
    expect(await send('/me', proof), 'used again').toStartWith('DPoP error="invalid_dpop_proof"');
    expect(await send('/other', await prove())).toStartWith('DPoP error="invalid_dpop_proof"');
    expect(await send('/me', await prove(), 'POST')).toStartWith('DPoP error="invalid_dpop_proof"');
    const another = await issuer.token({ sub: 'ada' }, { boundTo: 'dpop' });
    expect(await send('/me', await prove(), 'GET', another)).toStartWith('DPoP error="invalid_dpop_proof"');
    const thief = await (await createTestIssuer()).proof(request, token);
    expect(judgeProof(thief, world)).toBe('invalid_token');
    expect(await send('/me', thief)).toStartWith('DPoP error="invalid_token"');
  });

  const certificates: readonly [form: string, Certificate][] = [
    ['PEM', certificate('a').pem],
    ['DER', new Uint8Array(certificate('a').der)],
  ];
  for (const [form, boundTo] of certificates) {
    test(`token() bound to a certificate as ${form} is accepted with that certificate only`, async () => {
      const authorization = `Bearer ${await issuer.token({}, { boundTo })}`;
      const guardWith = (clientCertificate: ClientCertificate) => createGuard({ ...issuer.options, clientCertificate });
      expect(
        await codeFor(
          { authorization },
          guardWith(() => certificate('a').pem),
        ),
      ).toBe('accepted');
      expect(
        await codeFor(
          { authorization },
          guardWith(() => certificate('b').pem),
        ),
      ).toBe('invalid_header');
    });
  }

  for (const boundTo of ['no certificate', new Uint8Array(3)] as const satisfies readonly TokenOptions['boundTo'][])
    test(`token() throws for ${JSON.stringify(boundTo)}, which is no certificate`, async () => {
      await expect(issuer.token({}, { boundTo })).rejects.toThrow(TypeError);
    });
});
