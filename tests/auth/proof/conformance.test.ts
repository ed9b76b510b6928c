import { describe, expect, test } from 'bun:test';
import { createGuard } from '../../../src/auth/guard.ts';
import { offline, tokenOf } from '../../support/checked.ts';
import { bearer, nowSeconds } from '../../support/mint.ts';
import { bound, makeProof, type ProofOverrides, proofKey, proven } from '../../support/proof.ts';

/**
 * What the conformance suite of the Model Context Protocol checks of a server with DPoP (SEP-1932), replayed by its rules.
 * @see https://github.com/modelcontextprotocol/conformance/pull/395
 */
const publicUrl = 'https://api.example.test';
const url = `${publicUrl}/mcp`;
const token = tokenOf({ claims: { cnf: bound } });
const guard = createGuard({ ...offline(), dpop: 'on', publicUrl, resource: url });
const send = (headers: object, method = 'POST') =>
  guard.check(new Request(url, { method, headers: new Headers(headers as Record<string, string>) }));
const sendProof = (change: ProofOverrides = {}) =>
  send({ authorization: `DPoP ${token}`, dpop: makeProof({ method: 'POST', url, token }, change) });

describe('a server with DPoP', () => {
  test('AcceptsValidProof: within five minutes as far as its window goes', async () =>
    expect(await sendProof()).toHaveProperty('claims'));

  test('PrmDpop: the metadata name the algorithms, and whether bound tokens are required', async () => {
    const document = guard.metadata(new Request(`${publicUrl}/.well-known/oauth-protected-resource/mcp`));
    expect(await document?.json()).toMatchObject({
      resource: url,
      dpop_signing_alg_values_supported: ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'],
      dpop_bound_access_tokens_required: false,
    });
  });

  const claims = (change: ProofOverrides['claims']): ProofOverrides => ({ ...(change && { claims: change }) });
  const faulty: Readonly<Record<string, ProofOverrides>> = {
    RejectsWrongType: { header: { typ: 'JWT' } },
    RejectsSymmetricAlgorithm: { header: { alg: 'HS256' } },
    RejectsAlgorithmNone: { header: { alg: 'none' } },
    RejectsBadSignature: { reshape: (proof: string) => `${proof.slice(0, -8)}AAAAAAAA` },
    RejectsPrivateKey: { header: { jwk: proofKey().export({ format: 'jwk' }) } },
    RejectsMissingJti: claims({ jti: undefined }),
    RejectsMissingHtm: claims({ htm: undefined }),
    RejectsMissingHtu: claims({ htu: undefined }),
    RejectsMissingIat: claims({ iat: undefined }),
    RejectsMissingAth: claims({ ath: undefined }),
    RejectsOtherMethod: claims({ htm: 'GET' }),
    RejectsOtherUrl: claims({ htu: `${publicUrl}/other` }),
    RejectsOtherToken: claims({ ath: 'x' }),
    RejectsStaleIat: claims({ iat: nowSeconds() - 360 }),
    RejectsFutureIat: claims({ iat: nowSeconds() + 360 }),
  };
  test.each(Object.entries(faulty))(
    '%s, and ReportsDpopErrorCode in a challenge that names the algorithms',
    async (_, change) => {
      const response = (await sendProof(change)) as Response;
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(/^DPoP error="invalid_dpop_proof", .*algs="ES256 /);
    },
  );

  test('RejectsReplay', async () => {
    const headers = proven(token, url);
    await send(headers, 'GET');
    expect(await send(headers, 'GET')).toHaveProperty('status', 401);
  });

  test('RejectsOtherKey and RejectsBearerScheme: the token is refused, with the scheme that it needs', async () => {
    for (const response of [await sendProof({ key: proofKey('ES256', 'thief') }), await send(bearer(token))]) {
      expect(response).toHaveProperty('status', 401);
      expect((response as Response).headers.get('www-authenticate')).toMatch(/^DPoP error="invalid_token", .*algs="/);
    }
  });

  test('RejectsMissingProof, and a request without credentials learns both schemes', async () => {
    const missing = (await send({ authorization: `DPoP ${token}` })) as Response;
    expect(missing.headers.get('www-authenticate')).toStartWith('DPoP error="invalid_dpop_proof"');
    const without = (await send({})) as Response;
    expect(without.headers.get('www-authenticate')).toMatch(/^Bearer resource_metadata="\S+", DPoP algs="/);
  });
});
