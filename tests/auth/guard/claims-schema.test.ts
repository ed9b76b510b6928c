import { describe, expect, test } from 'bun:test';
import { type } from 'arktype';
import { Elysia, t } from 'elysia';
import * as v from 'valibot';
import { z } from 'zod';
import { type ClaimsSchema, createGuard } from '../../../src/auth/guard.ts';
import { resourceServer } from '../../../src/auth/index.ts';
import { createChecker, offline, tokenOf } from '../../support/checked.ts';
import { bearer } from '../../support/fixture.ts';

const requestWith = (claims: object) =>
  new Request('https://api.example.test/', { headers: bearer(tokenOf({ claims: { ...claims } })) });

/** The same rules in each library: a tenant in capital letters, and a level that is optional. */
const schemas = {
  zod: z.object({
    tenant: z
      .string()
      .regex(/^[a-z]+$/)
      .transform((name) => name.toUpperCase()),
    level: z.number().default(1),
  }),
  valibot: v.object({
    tenant: v.pipe(
      v.string(),
      v.regex(/^[a-z]+$/),
      v.transform((name) => name.toUpperCase()),
    ),
    level: v.optional(v.number(), 1),
  }),
  arktype: type({ tenant: type('/^[a-z]+$/').pipe((name) => name.toUpperCase()), level: 'number = 1' }),
} satisfies Record<string, ClaimsSchema>;

const elysiaSchema = t.Object({
  tenant: t
    .Transform(t.String({ pattern: '^[a-z]+$' }))
    .Decode((name) => name.toUpperCase())
    .Encode((name) => name),
  level: t.Optional(t.Number()),
});

const rows: readonly (readonly [name: string, claims: object, accepted: object | undefined])[] = [
  ['all claims', { tenant: 'acme', level: 2 }, { tenant: 'ACME', level: 2 }],
  ['no claim', {}, undefined],
  ['text that does not match', { tenant: 'ACME' }, undefined],
  ['a list', { tenant: ['acme'] }, undefined],
  ['a number', { tenant: 1 }, undefined],
  ['null', { tenant: null }, undefined],
  ['text in place of a number', { tenant: 'acme', level: '2' }, undefined],
];

describe('the option claims', () => {
  const doors = Object.entries(schemas).map(([name, claims]) => {
    const guard = createGuard<ClaimsSchema<object>>({ ...offline(), claims });
    const judge = async (request: Request) => {
      const result = await guard.check(request);
      return result instanceof Response ? result : Response.json(result.claims);
    };
    return [name, judge] as const;
  });
  const app = new Elysia().use(resourceServer({ ...offline(), claims: elysiaSchema })).get('/', ({ claims }) => claims);
  for (const [library, judge] of [
    ...doors,
    ['t of Elysia', async (request: Request) => app.handle(request)] as const,
  ]) {
    for (const [name, claims, accepted] of rows) {
      test(`${accepted ? 'accepts' : 'rejects'} ${name} by ${library}`, async () => {
        const response = await judge(requestWith(claims));
        const body = Object(await response.json());
        if (accepted) expect(body).toMatchObject({ ...accepted, sub: 'client-1', scope: 'read:messages' });
        else expect({ status: response.status, ...body }).toMatchObject({ status: 401, code: 'invalid_claims' });
      });
    }
  }

  test('applies defaults of a schema', async () => {
    for (const [, judge] of doors)
      expect(await (await judge(requestWith({ tenant: 'acme' }))).json()).toMatchObject({ level: 1 });
  });

  /** A schema by hand that counts how often it runs. */
  const countingSchema = (validate: (claims: unknown) => unknown) => {
    const counter = { runs: 0, schema: {} as ClaimsSchema };
    counter.schema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate(claims) {
          counter.runs += 1;
          return validate(claims) as { value: unknown };
        },
      },
    };
    return counter;
  };

  const caches: readonly (readonly [tokenCacheSize: number, output: object, runs: number])[] = [
    [10, { value: {} }, 1],
    [10, { issues: [] }, 1],
    [0, { value: {} }, 3],
  ];
  for (const [tokenCacheSize, output, runs] of caches) {
    test(`runs ${runs} times for three requests with a cache of ${tokenCacheSize}, and answers ${JSON.stringify(output)}`, async () => {
      const counter = countingSchema(() => output);
      const check = createChecker({ tokenCacheSize, claims: counter.schema });
      const headers = new Headers(bearer(tokenOf()));
      const reasons = [await check(headers), await check(headers), await check(headers)].map(({ reason }) => reason);
      expect(counter.runs).toBe(runs);
      expect(new Set(reasons)).toEqual(new Set(['issues' in output ? 'claims_unexpected' : undefined]));
    });
  }

  const refused: readonly (readonly [
    name: string,
    token: Parameters<ReturnType<typeof createChecker>>[0],
    reason: string,
  ])[] = [
    ['an expired token', { claims: { exp: 1 } }, 'token_expired'],
    ['a token that is bound', { claims: { cnf: { jkt: 'x' } } }, 'token_bound'],
    ['no token', new Headers(), 'credentials_missing'],
  ];
  for (const [name, token, reason] of refused) {
    test(`does not run for ${name}`, async () => {
      const counter = countingSchema(() => ({ value: {} }));
      expect((await createChecker({ claims: counter.schema })(token)).reason).toBe(reason);
      expect(counter.runs).toBe(0);
    });
  }

  test('decides before a token is asked to be revoked, and hands its output on frozen', async () => {
    const seen: unknown[] = [];
    const isRevoked = (claims: object) => {
      seen.push(claims);
      return false;
    };
    const onAccepted = (_: Request, claims: object) => void seen.push(claims);
    const value = { tenant: { id: 1 }, iss: 'another' };
    const check = createChecker({ claims: countingSchema(() => ({ value })).schema, isRevoked, onAccepted });
    const { result } = await check({});
    if (result instanceof Response) throw new TypeError(await result.text());
    expect(seen).toEqual([result.claims, result.claims]);
    expect(result.claims).toMatchObject(value);
    expect(Object.isFrozen(result.claims) && Object.isFrozen(result.claims.tenant)).toBe(true);
    seen.length = 0;
    await createChecker({ claims: countingSchema(() => ({ issues: [] })).schema, isRevoked, onAccepted })({});
    expect(seen).toEqual([]);
  });

  test('does not grant a scope, an acr or a time that only the output of the schema has', async () => {
    const value = { scope: 'admin', acr: 'high', auth_time: Math.floor(Date.now() / 1000) };
    const check = createChecker({ claims: countingSchema(() => ({ value })).schema });
    expect((await check({}, { scope: 'admin' })).reason).toBe('scope_insufficient');
    expect((await check({}, { acr: 'high' })).reason).toBe('authentication_insufficient');
    expect((await check({}, { maxAge: 600 })).reason).toBe('authentication_insufficient');
  });

  const mistakes: Readonly<Record<string, () => unknown>> = {
    'a promise': async () => ({ value: {} }),
    'a promise that rejects': async () => {
      throw new Error('secret');
    },
    'a text': () => ({ value: 'text' }),
    'no value': () => ({ value: undefined }),
    null: () => ({ value: null }),
  };
  for (const [name, validate] of Object.entries(mistakes)) {
    test(`is a mistake if the schema answers with ${name}: TypeError, or 500 without its text`, async () => {
      const { schema } = countingSchema(validate);
      await expect(createChecker({ claims: schema })({})).rejects.toBeInstanceOf(TypeError);
      const failing = new Elysia().use(resourceServer({ ...offline(), claims: schema })).get('/', () => 'open');
      const response = await failing.handle(requestWith({}));
      expect(response.status).toBe(500);
      expect(await response.text()).not.toMatch(/open|secret|schema/);
    });
  }
});
