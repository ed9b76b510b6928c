import { expect, test } from 'bun:test';
import { createGrantReader, createScopeReader, type ScopeRules } from '../../../src/auth/guard/scopes.ts';
import type { FixedScope } from '../../../src/auth/types.ts';

type Row = readonly [name: string, scopeClaim: readonly string[], claims: object, scopePrefix?: string];

const granting: readonly Row[] = [
  ['text with the scope', ['scope'], { scope: 'a' }],
  ['text with scopes between white space', ['scope'], { scope: ' b\t a \n c a ' }],
  ['a list', ['scp'], { scp: ['b', 'a'] }],
  ['the second claim, when the first is missing', ['scope', 'scp'], { scp: 'a' }],
  ...['', [], null].map(
    (scope): Row => [`the claim behind ${JSON.stringify(scope)}`, ['scope', 'scp'], { scope, scp: 'a' }],
  ),
  ['a name that every object inherits, and a claim', ['constructor', 'scope'], { scope: 'a' }],
  ['a name that ends as a path begins', ['https://a.test/'], { 'https://a.test/': 'a' }],
  ['a path', ['/realm/roles'], { realm: { roles: ['a'] } }],
  ['a path through a list', ['/0/x'], { 0: { x: 'a' } }],
  ['a path by the index of a list', ['/list/10'], { list: [...Array(10).fill('b'), 'a'] }],
  ['a path with ~0 and ~1', ['/a~0b/c~1d'], { 'a~b': { 'c/d': 'a' } }],
  ['a path with ~01, which is ~1', ['/a~01'], { 'a~1': 'a' }],
  ['a path that ends early, and a claim', ['/realm/roles', 'scope'], { realm: {}, scope: 'a' }],
  ['a prefix', ['scope'], { scope: 'b api/a' }, 'api/'],
];
/** Beside those of the probe. */
const others: readonly Row[] = [
  ['no claim', ['scope'], {}],
  ['white space that is not of ASCII', ['scope'], { scope: 'b\u00a0a a\u2003b' }],
  ...[' ', 'ba', 'a:*', '*'].map((scope): Row => [`the text "${scope}"`, ['scope'], { scope }]),
  ['a number', ['scope'], { scope: 1 }],
  ['true', ['scope'], { scope: true }],
  ['other claims', ['scope'], { Scope: 'a', scopes: 'a', scp: 'a', roles: ['a'], ['__proto__']: { scope: 'a' } }],
  ['the second claim, when the first is there', ['scope', 'scp'], { scope: 'b', scp: 'a' }],
  ['the second claim, when the first is an object', ['scope', 'scp'], { scope: {}, scp: 'a' }],
  ['a path through null', ['/realm/roles'], { realm: null }],
  ['a path through text', ['/realm/0'], { realm: 'a' }],
  ['a path through a list by a name', ['/list/x'], { list: Object.assign([], { x: 'a' }) }],
  ['a path with a leading zero', ['/list/00'], { list: Object.assign(['b'], { '00': 'a' }) }],
  ['a path to the length of a list', ['/list/length'], { list: ['a'] }],
  ['no prefix', ['scope'], { scope: 'a' }, 'api/'],
  ['another prefix', ['scope'], { scope: 'other/a' }, 'api/'],
];

const none = { scopePrefix: undefined, scopeRequestPrefix: undefined, scopeImplies: {} };
function isGranted(given: Partial<ScopeRules>, claims: object, scope: FixedScope) {
  const rules = { issuer: [], scopeClaim: ['scope'], ...none, ...given };
  return createScopeReader(rules, createGrantReader(rules))(scope).check.accepts({ iss: '', exp: 0, ...claims });
}

for (const rows of [granting, others])
  for (const [name, scopeClaim, claims, scopePrefix] of rows)
    test(`createScopeReader() ${rows === granting ? 'finds' : 'does not find'} the scope: ${name}`, () =>
      expect(isGranted({ scopeClaim, scopePrefix }, claims, 'a')).toBe(rows === granting));

test('createScopeReader() takes the prefix of requests for no part of a token', () =>
  expect(isGranted({ scopeRequestPrefix: 'r:' }, { scope: 'r:a' }, 'a')).toBe(false));

const requirements: readonly (readonly [scope: FixedScope, granted: string, isMet: boolean])[] = [
  [['b', 'a'], 'a b', true],
  [['a', 'b'], 'a', false],
  [{ anyOf: ['a', 'b'] }, 'b', true],
  [{ anyOf: ['a', 'b'] }, 'c', false],
  ['narrow', 'broad', true],
  ['narrow', 'broadest', true],
  ['broad', 'narrow', false],
  [['narrow', 'other'], 'broadest', false],
  [{ anyOf: ['narrow', 'other'] }, 'broadest', true],
  ['cycle1', 'cycle2', true],
  ['toString', 'valueOf', false],
];
for (const [scope, granted, isMet] of requirements)
  for (const scopePrefix of [undefined, 'api/'])
    test(`createScopeReader() with the prefix ${scopePrefix}: ${JSON.stringify(scope)} is ${isMet ? '' : 'not '}granted by ${granted}`, () => {
      const scopeImplies = { broadest: ['broad'], broad: ['narrow'], cycle1: ['cycle2'], cycle2: ['cycle1'] };
      const spelled = granted.replace(/\S+/g, (name) => (scopePrefix ?? '') + name);
      const rules = { scopePrefix, scopeRequestPrefix: 'r:', scopeImplies };
      expect(isGranted(rules, { scope: spelled }, scope)).toBe(isMet);
    });
