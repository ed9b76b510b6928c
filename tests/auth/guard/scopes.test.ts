import { expect, test } from 'bun:test';
import { createScopeReader, type FixedScope, type ScopeRules } from '../../../src/auth/guard/scopes.ts';

const rows: readonly (readonly [
  name: string,
  rules: { scopeClaim: readonly string[]; scopePrefix?: string },
  claims: Readonly<Record<string, unknown>>,
  isGranted: boolean,
])[] = [
  ['text with the scope', { scopeClaim: ['scope'] }, { scope: 'a' }, true],
  ['text with scopes between white space', { scopeClaim: ['scope'] }, { scope: 'b\t a \n c' }, true],
  ['a list', { scopeClaim: ['scp'] }, { scp: ['b', 'a'] }, true],
  ['the second claim, when the first is missing', { scopeClaim: ['scope', 'scp'] }, { scp: 'a' }, true],
  ['a name that every object inherits, and a claim', { scopeClaim: ['constructor', 'scope'] }, { scope: 'a' }, true],
  ['a path', { scopeClaim: ['/realm/roles'] }, { realm: { roles: ['a'] } }, true],
  ['a path through a list', { scopeClaim: ['/0/x'] }, { 0: { x: 'a' } }, true],
  ['a path by the index of a list', { scopeClaim: ['/list/10'] }, { list: [...Array(10).fill('b'), 'a'] }, true],
  ['a path with ~0 and ~1', { scopeClaim: ['/a~0b/c~1d'] }, { 'a~b': { 'c/d': 'a' } }, true],
  ['a path with ~01, which is ~1', { scopeClaim: ['/a~01'] }, { 'a~1': 'a' }, true],
  ['a path that ends early, and a claim', { scopeClaim: ['/realm/roles', 'scope'] }, { realm: {}, scope: 'a' }, true],
  ['a prefix', { scopeClaim: ['scope'], scopePrefix: 'api/' }, { scope: 'b api/a' }, true],

  ['no claim', { scopeClaim: ['scope'] }, {}, false],
  ['empty text', { scopeClaim: ['scope'] }, { scope: '' }, false],
  ['a longer scope', { scopeClaim: ['scope'] }, { scope: 'ab' }, false],
  ['a number in the list', { scopeClaim: ['scope'] }, { scope: ['a', 1] }, false],
  ['text with the scope in a list', { scopeClaim: ['scope'] }, { scope: ['b a'] }, false],
  ['an object', { scopeClaim: ['scope'] }, { scope: { a: true } }, false],
  ['the second claim, when the first is there', { scopeClaim: ['scope', 'scp'] }, { scope: '', scp: 'a' }, false],
  ['the second claim, when the first is null', { scopeClaim: ['scope', 'scp'] }, { scope: null, scp: 'a' }, false],
  ['a path through null', { scopeClaim: ['/realm/roles'] }, { realm: null }, false],
  ['a path through text', { scopeClaim: ['/realm/0'] }, { realm: 'a' }, false],
  ['a path through a list by a name', { scopeClaim: ['/list/x'] }, { list: Object.assign([], { x: 'a' }) }, false],
  ['a path with a leading zero', { scopeClaim: ['/list/00'] }, { list: Object.assign(['b'], { '00': 'a' }) }, false],
  ['a path to the length of a list', { scopeClaim: ['/list/length'] }, { list: ['a'] }, false],
  ['no prefix', { scopeClaim: ['scope'], scopePrefix: 'api/' }, { scope: 'a' }, false],
  ['another prefix', { scopeClaim: ['scope'], scopePrefix: 'api/' }, { scope: 'other/a' }, false],
];

const judge = (rules: Partial<ScopeRules>, claims: object, scope: FixedScope) =>
  createScopeReader({ scopeClaim: ['scope'], scopePrefix: undefined, scopeImplies: {}, ...rules })(scope).judge({
    iss: '',
    exp: 0,
    ...claims,
  });

for (const [name, rules, claims, isGranted] of rows) {
  test(`createScopeReader() ${isGranted ? 'finds' : 'does not find'} the scope: ${name}`, () => {
    expect(judge(rules, claims, 'a')?.reason).toBe(isGranted ? undefined : 'scope_insufficient');
  });
}

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
for (const [scope, granted, isMet] of requirements) {
  for (const scopePrefix of [undefined, 'api/']) {
    test(`createScopeReader() with the prefix ${scopePrefix}: ${JSON.stringify(scope)} is ${isMet ? '' : 'not '}granted by ${granted}`, () => {
      const scopeImplies = { broadest: ['broad'], broad: ['narrow'], cycle1: ['cycle2'], cycle2: ['cycle1'] };
      const spelled = granted.replace(/\S+/g, (name) => (scopePrefix ?? '') + name);
      const refusal = judge({ scopePrefix, scopeImplies }, { scope: spelled }, scope);
      expect(refusal?.reason).toBe(isMet ? undefined : 'scope_insufficient');
    });
  }
}
