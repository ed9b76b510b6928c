import { describe, expect, test } from 'bun:test';
import { type Claims, clientCertificateFromHeader, createGuard, type GuardOptions } from '../../../src/auth/guard.ts';
import { certificate } from '../../support/certificates.ts';
import { createChecker, offline, tokenOf } from '../../support/checked.ts';
import { bearer } from '../../support/fixture.ts';
import { nowSeconds } from '../../support/mint.ts';
import { makeProof, proofKey, thumbprintOf } from '../../support/proof.ts';

const { thumbprint, field, escaped } = certificate('a');
const other = certificate('b');

describe('the option isRevoked', () => {
  const answers: readonly (readonly [name: string, answer: () => unknown, isRevoked: boolean])[] = [
    ['false', () => false, false],
    ...[true, undefined, null, 0, 1, '', 'false', Number.NaN, {}].map(
      (value) => [Bun.inspect(value), () => value, true] as const,
    ),
    ['a promise of false', async () => false, true],
    ['a promise that rejects', () => Promise.reject(new Error('no')), true],
  ];
  for (const [name, answer, isRevoked] of answers) {
    test(`${isRevoked ? 'rejects' : 'accepts'} a token that it answers ${name} to`, async () => {
      const { result, reason, challenge } = await createChecker({ isRevoked: answer as () => boolean })({});
      expect(reason).toBe(isRevoked ? 'token_revoked' : undefined);
      if (!(result instanceof Response)) return;
      expect(await result.json()).toMatchObject({ code: 'invalid_header' });
      expect([result.status, challenge]).toEqual([401, expect.stringContaining('error="invalid_token"')]);
    });
  }

  test('is asked for every request, also where the token is cached', async () => {
    const revoked = new Set<unknown>();
    const check = createChecker({ isRevoked: ({ jti }) => revoked.has(jti) });
    const headers = new Headers(bearer(tokenOf({ claims: { jti: 'one' } })));
    expect((await check(headers)).reason).toBeUndefined();
    revoked.add('one');
    expect((await check(headers)).reason).toBe('token_revoked');
    revoked.clear();
    expect((await check(headers)).reason).toBeUndefined();
  });

  /** A list of texts, requested even if the token has another type in that claim, which must not be accepted as a missing one. */
  const strict = ({ sid }: Claims) => typeof sid !== 'string' || sid === 'revoked';
  for (const sid of [undefined, null, ['revoked'], 1, {}, 'revoked']) {
    test(`can reject the sid ${JSON.stringify(sid)}, because it gets the claim as the token has it`, async () => {
      expect((await createChecker({ isRevoked: strict })({ claims: { sid } })).reason).toBe('token_revoked');
    });
  }

  test('precedes step-up and scope, and fails the request when it throws', async () => {
    const check = createChecker({ isRevoked: () => true });
    expect((await check({}, { scope: 'other', acr: 'high' })).reason).toBe('token_revoked');
    const failing = createChecker({
      isRevoked() {
        throw new Error('list unavailable');
      },
    });
    await expect(failing({})).rejects.toThrow('list unavailable');
  });
});

describe('the option clientCertificate', () => {
  const bound = (value: unknown) => ({ claims: { cnf: { 'x5t#S256': value } } });
  const rows: readonly (readonly [name: string, sent: readonly string[], cnf: unknown, reason: string | undefined])[] =
    [
      ['that certificate', [field], thumbprint, undefined],
      ['that certificate as nginx sends it', [escaped], thumbprint, undefined],
      ['no certificate', [], thumbprint, 'certificate_missing'],
      ['another certificate', [other.field], thumbprint, 'certificate_mismatch'],
      ['that certificate twice', [field, field], thumbprint, 'certificate_missing'],
      ['that certificate and another', [field, other.field], thumbprint, 'certificate_missing'],
      ['another certificate and that one', [other.field, field], thumbprint, 'certificate_missing'],
      ['an unreadable value', ['not a certificate'], thumbprint, 'certificate_missing'],
      ...[[thumbprint], 1, null, '', true, { 0: thumbprint }, thumbprint.toLowerCase(), `${thumbprint}=`].map(
        (cnf) => [`that certificate and cnf ${JSON.stringify(cnf)}`, [field], cnf, 'certificate_mismatch'] as const,
      ),
    ];
  const check = createChecker({ clientCertificate: clientCertificateFromHeader('client-cert') });
  const withCertificates = (token: string, sent: readonly string[]) =>
    new Headers([
      ['authorization', `Bearer ${token}`],
      ...sent.map((value): [string, string] => ['client-cert', value]),
    ]);
  for (const [name, sent, cnf, reason] of rows) {
    test(`${reason ? 'rejects' : 'accepts'} a bound token with ${name}`, async () => {
      expect((await check(withCertificates(tokenOf(bound(cnf)), sent))).reason).toBe(reason);
    });
  }

  test('asks for the certificate in every request, also where the token is cached', async () => {
    const token = tokenOf(bound(thumbprint));
    const reasons: unknown[] = [];
    for (const sent of [[field], [], [other.field], [field]])
      reasons.push((await check(withCertificates(token, sent))).reason);
    expect(reasons).toEqual([undefined, 'certificate_missing', 'certificate_mismatch', undefined]);
  });

  test('changes nothing for a token that is not bound', async () => {
    expect((await check(withCertificates(tokenOf(), [other.field]))).reason).toBeUndefined();
  });
});

describe('the option tokenType', () => {
  const types: readonly (readonly [typ: unknown, isAccessToken: boolean])[] = [
    ['at+jwt', true],
    ['AT+JWT', true],
    ['application/at+jwt', true],
    [undefined, false],
    ['JWT', false],
    ['application/jwt', false],
    ['dpop+jwt', false],
    ['id+jwt', false],
    ['at+jwt ', false],
    [['at+jwt'], false],
    [null, false],
    ['', false],
  ];
  const check = createChecker({ tokenType: 'at+jwt' });
  for (const [typ, isAccessToken] of types) {
    test(`at+jwt ${isAccessToken ? 'accepts' : 'rejects'} the type ${JSON.stringify(typ)}`, async () => {
      const { reason } = await check({ header: { typ } });
      expect(reason === undefined).toBe(isAccessToken);
    });
  }
});

/** FAPI 2.0 Security Profile §5.3.4 and §5.4.1: how the conformance suite varies proofs. */
describe('the options dpop and dpopAlgorithms of FAPI 2.0', () => {
  const url = 'https://api.example.test/reports';
  const publicUrl = 'https://api.example.test';
  const algorithms = ['ES256', 'PS256', 'EdDSA'] as const;
  const check = createChecker({ dpop: 'required', publicUrl, dpopAlgorithms: algorithms });

  type Overrides = Parameters<typeof makeProof>[1];
  const rows: readonly (readonly [
    name: string,
    algorithm: string,
    overrides: Overrides,
    reason: string | undefined,
  ])[] = [
    ...algorithms.map((algorithm) => [algorithm, algorithm, {}, undefined] as const),
    ['RS256', 'RS256', {}, 'proof_algorithm'],
    ['ES384', 'ES384', {}, 'proof_algorithm'],
    ['HS256', 'ES256', { header: { alg: 'HS256' } }, 'proof_algorithm'],
    ['none', 'ES256', { header: { alg: 'none' } }, 'proof_algorithm'],
    ['PS256 that says RS256', 'PS256', { header: { alg: 'RS256' } }, 'proof_algorithm'],
    ['another type', 'ES256', { header: { typ: 'jwt' } }, 'proof_type'],
    ['no ath', 'ES256', { claims: { ath: undefined } }, 'proof_token_hash'],
    ['another method', 'ES256', { claims: { htm: 'POST' } }, 'proof_method'],
    ['another address', 'ES256', { claims: { htu: `${url}/other` } }, 'proof_url'],
    ['no jti', 'ES256', { claims: { jti: undefined } }, 'proof_id'],
    ['an old iat', 'ES256', { claims: { iat: 1 } }, 'proof_time'],
    ['an iat ahead', 'ES256', { claims: { iat: 2 ** 33 } }, 'proof_time'],
    ['no iat', 'ES256', { claims: { iat: undefined } }, 'proof_time'],
  ];
  for (const [name, algorithm, overrides, reason] of rows) {
    test(`${reason ? 'reject' : 'accept'} a proof with ${name}`, async () => {
      const token = tokenOf({ claims: { cnf: { jkt: thumbprintOf(proofKey(algorithm)) } } });
      const dpop = makeProof({ url, token, nowSeconds: nowSeconds() }, { algorithm, ...overrides });
      const send = () => check(new Headers({ authorization: `DPoP ${token}`, dpop }));
      const { reason: actual, challenge } = await send();
      expect(actual).toBe(reason);
      if (reason) expect(challenge).toContain(`algs="${algorithms.join(' ')}"`);
      else expect((await send()).reason).toBe('proof_replayed');
    });
  }

  test('reject a plain Bearer token', async () => {
    const { reason, challenge } = await check({});
    expect(reason).toBe('dpop_required');
    expect(challenge).toStartWith(`DPoP algs="${algorithms.join(' ')}", resource_metadata=`);
  });
});

describe('the options of responses', () => {
  const cases: readonly (readonly [name: string, options: Partial<GuardOptions>, challenge: string])[] = [
    ['no publicUrl', {}, 'Bearer'],
    [
      'a publicUrl',
      { publicUrl: 'https://api.example.test' },
      'Bearer resource_metadata="https://api.example.test/.well-known/oauth-protected-resource"',
    ],
    [
      'a resource',
      { publicUrl: 'https://api.example.test', resource: 'https://api.example.test/mcp' },
      'Bearer resource_metadata="https://api.example.test/.well-known/oauth-protected-resource/mcp"',
    ],
  ];
  for (const [name, options, want] of cases) {
    test(`challenge with the address of the metadata: ${name}`, async () => {
      expect((await createChecker(options)(new Headers())).challenge).toBe(want);
    });
  }

  const bodies: readonly (readonly [name: string, body: object, text: string, contentType: string])[] = [
    ['an object', { error: 1 }, '{"error":1}', 'application/json'],
    [
      'a body and its type',
      { body: { a: 1 }, contentType: 'application/problem+json' },
      '{"a":1}',
      'application/problem+json',
    ],
    ['text and its type', { body: '<p>', contentType: 'text/html' }, '<p>', 'text/html'],
    ['an object with a member body', { body: 'x' }, '{"body":"x"}', 'application/json'],
  ];
  for (const [name, given, text, contentType] of bodies) {
    test(`send ${name} of errorBody`, async () => {
      const { result, challenge } = await createChecker({ errorBody: () => given })(new Headers());
      if (!(result instanceof Response)) throw new TypeError('accepted');
      expect([result.status, challenge]).toEqual([401, 'Bearer']);
      expect(result.headers.get('content-type')).toBe(contentType);
      expect(await result.text()).toBe(text);
    });
  }

  test('fetch keys by the option fetch, and only by it', async () => {
    const asked: string[] = [];
    const { keys, ...options } = offline();
    const fetch = async (url: string) => {
      asked.push(url);
      return Response.json(keys);
    };
    const guard = createGuard({ ...options, fetch });
    const result = await guard.check(new Request('http://localhost/', { headers: bearer(tokenOf()) }));
    expect(result).not.toBeInstanceOf(Response);
    expect(asked).toEqual(['https://issuer.example.test/.well-known/jwks.json']);
  });

  test('judge a Request once for every call of check, and the requirements anew', async () => {
    let accepted = 0;
    const guard = createGuard({ ...offline(), onAccepted: () => void accepted++ });
    const request = new Request('http://localhost/', { headers: bearer(tokenOf()) });
    const results = [
      await guard.check(request),
      await guard.check(request, { scope: 'other' }),
      await guard.check(request),
    ];
    expect(results.map((result) => result instanceof Response)).toEqual([false, true, false]);
    expect(accepted).toBe(1);
  });

  test('wait for the verdict in an application that replaces Promise', async () => {
    const { Promise: native } = globalThis;
    const guard = createGuard(offline());
    const request = new Request('http://localhost/', { headers: bearer(tokenOf({ claims: { exp: 1 } })) });
    globalThis.Promise = class<Value> extends native<Value> {} as PromiseConstructor;
    const result = guard.check(request).finally(() => {
      globalThis.Promise = native;
    });
    expect(await result).toBeInstanceOf(Response);
  });
});
