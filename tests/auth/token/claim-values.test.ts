import { describe, expect, test } from 'bun:test';
import type { GuardOptions } from '../../../src/auth/index.ts';
import type { Members } from '../../../src/auth/values/json.ts';
import { createChecker, ISSUER, tokenOf } from '../../support/checked.ts';
import { AUDIENCE, baseOf, nowSeconds } from '../../support/mint.ts';

type Options = Partial<GuardOptions>;
type Row = readonly [name: string, claims: Members, want?: string | undefined, options?: Options];

/** Both ways in which claims come: in a JWT, and in an introspection response. */
const ways = {
  'a JWT': (claims: Members, options: Options) => createChecker(options)(tokenOf({ claims })),
  'an introspection response': (claims: Members, options: Options) => {
    const response = { active: true, aud: AUDIENCE, exp: nowSeconds() + 300, ...claims };
    return createChecker({ introspect: () => response, ...options })('opaque');
  },
};

/** Rows for the claim `c`. */
const required = (requiredClaims: object, ...values: readonly (readonly [c: unknown, isMet: boolean])[]) =>
  values.map(([c, isMet]): Row => {
    const name = `${JSON.stringify(c)}, where ${JSON.stringify(requiredClaims)} is required`;
    return [name, { c }, isMet ? undefined : 'required_claim_mismatch', { requiredClaims } as Options];
  });

const rows: readonly Row[] = [
  ...['sub', 'client_id', 'nbf', 'iat', 'jti', 'cnf', 'scope', 'typ', 'auth_time', 'acr'].map(
    (name): Row => [`null for ${name}`, { [name]: null }],
  ),
  ['null for exp', { exp: null }, 'claims_malformed'],
  ['null for aud', { aud: null }, 'audience_mismatch'],
  ['null for aud beside another claim for it', { aud: null, azp: AUDIENCE }, undefined, { audienceClaim: 'azp' }],
  ['null for a required claim', { c: null }, 'required_claim_mismatch', { requiredClaims: { c: 'null' } }],
  ['a key that is null in cnf', { cnf: { jkt: null } }, 'token_bound'],
  ...[1, true, ['a'], {}].map((jti): Row => [`the jti ${JSON.stringify(jti)}`, { jti }, 'claims_malformed']),
  ['claims of step-up of other types, which nobody asks for', { auth_time: '1', acr: 1, amr: 'pwd' }],
  ...required({ c: 't' }, ['t', true], [['s', 't'], true], [{ t: 1 }, false], [['tt'], false], [[['t']], false]),
  ...required({ c: 'true' }, [true, true], ['true', true], [[true], true], [false, false], [1, false], [{}, false]),
  ...required({ c: false }, [false, true], ['false', true], [0, false], ['', false], [null, false], [undefined, false]),
  ...required({ c: true }, [true, true], ['true', true], ['TRUE', false]),
  ...required({ c: ['1', 2.5] }, [1, true], ['1', true], [2.5, true], [[7, 2.5], true], ['01', false], [[], false]),
  ...required({ '/c/d~1e/0': 'f' }, [{ 'd/e': ['f'] }, true], [{ 'd/e': { 0: ['f'] } }, true], [{ 'd/e': 'f' }, false]),
  ...required({ c: null }, [undefined, true], [null, true], ['null', false], ['', false], [[], false], [[null], false]),
  ...required({ c: ['a', null] }, [undefined, true], ['a', true], [['b', 'a'], true], ['b', false], [{}, false]),
  ...required({ '/c/d': null }, [undefined, true], [{}, true], [{ d: null }, true], ['d', true], [{ d: 1 }, false]),
  ...required({ aud: null }, [undefined, false]),
  ...required({ c: 'undefined', d: 'undefined' }, ['undefined', false]),
  ...required({ '/constructor/name': 'Object' }, ['x', false]),
];

describe.each(Object.entries(ways))('in %s', (_, check) => {
  for (const [name, claims, want, options = {}] of rows)
    test(`${name}: ${want ?? 'accepted'}`, async () => {
      const { reason, result } = await check(claims, options);
      expect(reason).toBe(want);
      if (want === undefined) expect(Object.values(Object(result).claims)).not.toContain(null);
    });
});

/** A schema whose output is a copy. */
const copying = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value: Object.assign({}, value) }) },
} as const;

test('members that would change a prototype never reach an application, at any depth', async () => {
  const harmful = '"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}';
  const claims = JSON.stringify(baseOf(ISSUER).claims());
  const payloadText = `${claims.slice(0, -1)},${harmful},"org":[{${harmful},"constructor_":1}]}`;
  const seen: Members[] = [];
  const isRevoked = (revocable: object) => seen.push(revocable as Members) < 0;
  for (const schema of [undefined, copying]) {
    const { result } = await createChecker({ isRevoked, claims: schema })({ payloadText });
    seen.push(Object(result).claims);
  }
  for (const each of seen.flatMap((found) => [found, (found.org as readonly Members[])[0]])) {
    expect(each).not.toHaveProperty('isAdmin');
    expect(Object.assign({}, each)).not.toHaveProperty('isAdmin');
    expect(Object.keys(Object(each)).filter((name) => /^(?:__proto__|constructor)$/.test(name))).toEqual([]);
  }
  expect(seen).toBeArrayOfSize(4);
  expect(seen[0]).toMatchObject({ org: [{ constructor_: 1 }] });
});
