import { describe, expect, mock, test } from 'bun:test';
import { createCredentialsReader } from '../../../src/auth/guard/authenticate.ts';
import { createGuard } from '../../../src/auth/guard.ts';
import { certificate } from '../../support/certificates.ts';
import { createChecker, offline, tokenOf } from '../../support/checked.ts';
import { bearer } from '../../support/mint.ts';

describe('the option isRevoked', () => {
  const returned: readonly (readonly [name: string, isRevoked: () => unknown])[] = [
    ...[true, undefined, null, 0, 1, '', 'false', {}].map((value) => [Bun.inspect(value), () => value] as const),
    ['a promise of false', async () => false],
    ['a promise that rejects', () => Promise.reject(new Error('no'))],
  ];
  for (const [name, isRevoked] of returned)
    test(`rejects a token for which it returns ${name}`, async () => {
      const { reason, challenge } = await createChecker({ isRevoked: isRevoked as () => boolean })({});
      expect(reason).toBe('token_revoked');
      expect(challenge).toStartWith('Bearer error="invalid_token", ');
    });

  test('is called for every request, even if the token is cached, with the original claims of the token', async () => {
    const isRevoked = mock((_: object) => isRevoked.mock.calls.length === 2);
    const check = createChecker({ isRevoked });
    const headers = new Headers(bearer(tokenOf({ claims: { sid: ['a', null] } })));
    const reasons = [await check(headers), await check(headers), await check(headers)].map(({ reason }) => reason);
    expect(reasons).toEqual([undefined, 'token_revoked', undefined]);
    expect(isRevoked).toHaveBeenLastCalledWith(expect.objectContaining({ sid: ['a', null] }));
  });

  test('is called before onAccepted, step-up and scope, and fails the request when it throws', async () => {
    let accepted = 0;
    const check = createChecker({ isRevoked: () => true, onAccepted: () => void accepted++ });
    expect((await check({}, { scope: 'other', acr: 'high' })).reason).toBe('token_revoked');
    expect(accepted).toBe(0);
    const isRevoked = () => {
      throw new Error('list unavailable');
    };
    await expect(createChecker({ isRevoked })({})).rejects.toThrow('list unavailable');
  });
});

test('the option clientCertificate is called for every request, even if the token is cached', async () => {
  const { thumbprint, der } = certificate('a');
  let presented: Uint8Array | undefined;
  const check = createChecker({ clientCertificate: () => presented });
  const headers = new Headers(bearer(tokenOf({ claims: { cnf: { 'x5t#S256': thumbprint } } })));
  const reasons: unknown[] = [];
  for (presented of [der, undefined, certificate('b').der, der]) reasons.push((await check(headers)).reason);
  expect(reasons).toEqual([undefined, 'certificate_missing', 'certificate_mismatch', undefined]);
});

test('createCredentialsReader() rejects another scheme, and the scheme with a space that Headers would trim', () => {
  const read = createCredentialsReader('off');
  expect(read('Basic t').token).toMatchObject({ reason: 'scheme_unsupported' });
  expect(read('Bearer ').token).toMatchObject({ reason: 'credentials_malformed' });
});

describe('createGuard().check()', () => {
  const [problem, html] = ['application/problem+json', 'text/html'];
  for (const [name, given, text, contentType] of [
    ['an object', { error: 1 }, '{"error":1}', 'application/json'],
    ['a body and its type', { body: { a: 1 }, contentType: problem }, '{"a":1}', problem],
    ['text and its type', { body: '<p>', contentType: html }, '<p>', html],
    ['an object with a member body', { body: 'x' }, '{"body":"x"}', 'application/json'],
  ] as const)
    test(`sends ${name} of errorBody`, async () => {
      const { result, challenge } = await createChecker({ errorBody: () => given })(new Headers());
      if (!(result instanceof Response)) throw new TypeError('accepted');
      expect([result.status, challenge]).toEqual([401, 'Bearer']);
      expect(result.headers.get('content-type')).toBe(contentType);
      expect(await result.text()).toBe(text);
    });

  test('sends errorHeaders, which do not replace its own headers', async () => {
    const errorHeaders = { 'Cache-Control': 'no-store', 'Content-Type': 'text/plain', 'WWW-Authenticate': 'Basic' };
    const result = await createGuard({ ...offline(), errorHeaders }).check(new Request('http://localhost/'));
    const sent = result instanceof Response && Object.fromEntries(result.headers);
    const own = { 'content-type': 'application/json', 'www-authenticate': 'Bearer' };
    expect(sent).toEqual({ 'cache-control': 'no-store', ...own });
  });

  test('rejects with a TypeError if errorBody is asynchronous, and catches its rejection', async () => {
    const errorBody = (() => Promise.reject(new Error('no'))) as unknown as () => object;
    const checked = createChecker({ errorBody })(new Headers());
    const message = 'Cannot reject a request: errorBody must be synchronous, but it returned a promise';
    await expect(checked).rejects.toThrow(new TypeError(message));
  });

  test('returns no scopes for an anonymous request', async () => {
    const result = await createGuard(offline()).check(new Request('http://localhost/'), { optional: true });
    expect(result).toEqual({ claims: undefined, token: undefined, scopes: [] });
  });

  const scopeOptions = { scopePrefix: 'api/', scopeImplies: { admin: ['write', 'read'], write: ['read'] } };
  for (const [scope, options, scopes] of [
    ['read:messages  other read:messages ', {}, ['read:messages', 'other']],
    ['openid api/admin api/x read', scopeOptions, ['admin', 'write', 'read', 'x']],
    ['', {}, []],
    [undefined, {}, []],
  ] as const)
    test(`returns the scopes ${scopes} of ${scope} with ${JSON.stringify(options)}`, async () =>
      expect((await createChecker(options)({ claims: { scope } })).result).toMatchObject({ scopes }));

  test('waits for the verification in an application that replaces Promise', async () => {
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
