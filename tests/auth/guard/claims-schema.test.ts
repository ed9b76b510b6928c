import { describe, expect, mock, spyOn, test } from 'bun:test';
import { type } from 'arktype';
import { Elysia, t } from 'elysia';
import * as v from 'valibot';
import { z } from 'zod';
import { resourceServer } from '../../../src/auth/elysia.ts';
import type { ClaimsSchema } from '../../../src/auth/index.ts';
import { createClaimsReader } from '../../../src/auth/token/claims-schema.ts';
import { createChecker, offline, tokenOf } from '../../support/checked.ts';
import { bearer } from '../../support/mint.ts';

const appWith = (claims: ClaimsSchema | typeof elysia) =>
  new Elysia().use(resourceServer({ ...offline(), claims })).get('/', ({ claims: accepted }) => accepted);
const requestWith = (claims: Readonly<Record<string, unknown>>) =>
  new Request('https://api.example.test/', { headers: bearer(tokenOf({ claims })) });

const upper = (name: string) => name.toUpperCase();
const lowerCase = /^[a-z]+$/;
const optional = v.optional(v.number());
const elysia = t.Object({
  tenant: t
    .Transform(t.String({ pattern: lowerCase.source }))
    .Decode(upper)
    .Encode((name) => name),
  level: t.Optional(t.Number()),
});
/** The same rules in each library: a tenant, which is put in capital letters, and a level that is optional. */
const schemas = {
  zod: z.object({ tenant: z.string().regex(lowerCase).transform(upper), level: z.number().optional() }),
  valibot: v.object({ tenant: v.pipe(v.string(), v.regex(lowerCase), v.transform(upper)), level: optional }),
  arktype: type({ tenant: type('/^[a-z]+$/').pipe(upper), 'level?': 'number' }),
  't of Elysia': elysia,
};

const rows: readonly (readonly [name: string, claims: Readonly<Record<string, unknown>>, accepted?: object])[] = [
  ['all claims', { tenant: 'acme', level: 2 }, { tenant: 'ACME', level: 2 }],
  ['no optional claim', { tenant: 'acme' }, { tenant: 'ACME' }],
  ['no claim', {}],
  ['text that does not match', { tenant: 'ACME' }],
  ['text in place of a number', { tenant: 'acme', level: '2' }],
];

const schemaOf = (validate: () => unknown): ClaimsSchema => ({
  '~standard': { version: 1, vendor: 'test', validate: validate as () => { value: unknown } },
});

describe('the option claims', () => {
  for (const [library, schema] of Object.entries(schemas)) {
    const app = appWith(schema);
    for (const [name, claims, accepted] of rows)
      test(`${accepted ? 'accepts' : 'rejects'} ${name} by ${library}`, async () => {
        const response = await app.handle(requestWith(claims));
        const want = accepted ? { ...accepted, sub: 'client-1', scope: 'read:messages' } : { error: 'invalid_token' };
        expect(response.status).toBe(accepted ? 200 : 401);
        expect(await response.json()).toMatchObject(want);
      });
  }

  const good = new Headers(bearer(tokenOf()));
  for (const [runs, name, credentials, output, reason, tokenCacheSize] of [
    [1, 'valid claims with a cache', good, { value: {} }, undefined, 10],
    [1, 'other claims with a cache', good, { issues: [] }, 'claims_unexpected', 10],
    [3, 'valid claims without a cache', good, { value: {} }, undefined, 0],
    [0, 'an expired token', { claims: { exp: 1 } }, { value: {} }, 'token_expired', 10],
    [0, 'a bound token', { claims: { cnf: { jkt: 'x' } } }, { value: {} }, 'token_bound', 10],
    [0, 'no token', new Headers(), { value: {} }, 'credentials_missing', 10],
  ] as const)
    test(`runs ${runs} times for three requests that have ${name}`, async () => {
      const validate = mock(() => output);
      const check = createChecker({ tokenCacheSize, claims: schemaOf(validate) });
      for (let times = 0; times < 3; times++) expect((await check(credentials)).reason).toBe(reason);
      expect(validate).toHaveBeenCalledTimes(runs);
    });

  test('decides before isRevoked is called, and passes on its output frozen', async () => {
    const isRevoked = mock((_: object) => false);
    const onAccepted = mock((_request: object, _claims: object) => {});
    const checkWith = (output: object) => createChecker({ claims: schemaOf(() => output), isRevoked, onAccepted })({});
    await checkWith({ issues: [] });
    const value = { tenant: { id: 1 }, iss: 'another', bytes: Uint8Array.of(1), scope: 'admin' };
    const { result } = await checkWith({ value });
    if (result instanceof Response) throw new TypeError(await result.text());
    expect(isRevoked.mock.calls.map(([claims]) => claims)).toEqual([result.claims]);
    expect(onAccepted.mock.calls).toEqual([[expect.any(Request), result.claims]]);
    expect(result.claims).toMatchObject(value);
    expect(result.scopes).toEqual(['read:messages']);
    expect(Object.isFrozen(result.claims) && Object.isFrozen(result.claims.tenant)).toBe(true);
  });

  test('rejects claims that are nested too deeply to copy', () => {
    const details: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    const readClaims = createClaimsReader(schemaOf(() => ({ value: {} })));
    expect(readClaims({ claims: { iss: 'a', exp: 1, details } })).toMatchObject({ reason: 'claims_unexpected' });
  });

  for (const [requirement, reason] of [
    [{ scope: 'admin' }, 'scope_insufficient'],
    [{ acr: 'high' }, 'authentication_insufficient'],
    [{ maxAge: 600 }, 'authentication_insufficient'],
  ] as const)
    test(`does not grant ${JSON.stringify(requirement)} that only the output of the schema has`, async () => {
      const value = { scope: 'admin', acr: 'high', auth_time: Math.floor(Date.now() / 1000) };
      const check = createChecker({ claims: schemaOf(() => ({ value })) });
      expect((await check({}, requirement)).reason).toBe(reason);
    });

  for (const [name, validate] of Object.entries({
    'a promise': async () => ({ value: {} }),
    'a promise that rejects': () => Promise.reject(new Error('secret')),
    'a text': () => ({ value: 'text' }),
    'a list': () => ({ value: [] }),
    'no value': () => ({ value: undefined }),
    null: () => ({ value: null }),
    'an exception': () => {
      throw new Error('secret');
    },
  }))
    test(`rejects the token with one warning if the schema returns ${name}`, async () => {
      const warn = spyOn(console, 'warn').mockImplementation(() => {});
      const check = createChecker({ claims: schemaOf(validate as () => unknown), tokenCacheSize: 0 });
      for (const _ of [1, 2]) expect((await check({})).reason).toBe('claims_unexpected');
      expect(warn.mock.calls).toEqual([[expect.stringMatching(/^Cannot check claims: the schema (?!.*secret)/)]]);
      warn.mockRestore();
    });
});
