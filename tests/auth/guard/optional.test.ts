import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { isGuarded, resourceServer } from '../../../src/auth/elysia.ts';
import { createGuard } from '../../../src/auth/index.ts';
import { offline, tokenOf } from '../../support/checked.ts';
import { crowdedKeySet, rsaKey } from '../../support/keys.ts';
import { bearer } from '../../support/mint.ts';

const greet = ({ claims }: { readonly claims: object | undefined }) => (claims ? 'known' : 'anonymous');
const { issuer, audience } = offline();
const guard = createGuard({ issuer, audience, fetch: async () => Response.json({ keys: crowdedKeySet() }) });
const optional = () => resourceServer(guard, { optional: true });
const guarded = () => new Elysia().use(optional());
const requestOf = (path: string, headers = {}) => new Request(`http://localhost${path}`, { headers });

/** Each serves /open to anybody, and /scope to a token with the scope of the test tokens. */
const doors: Readonly<Record<string, (request: Request) => Promise<Response>>> = {
  async 'guard.check()'(request) {
    const required = request.url.endsWith('/scope') ? { scope: 'read:messages' } : {};
    const result = await guard.check(request, { optional: true, ...required });
    return result instanceof Response ? result : new Response(greet(result));
  },
  async 'resourceServer()'(request) {
    return guarded().get('/open', greet).get('/scope', greet, { scope: 'read:messages' }).handle(request);
  },
};

type Row = readonly [name: string, header: () => string | undefined, open: string | number, scope: string | number];

const rows: readonly Row[] = [
  ['no header', () => undefined, 'anonymous', 401],
  ...['', ' \t '].map((header): Row => [JSON.stringify(header), () => header, 'anonymous', 401]),
  ['a token', () => `Bearer ${tokenOf()}`, 'known', 'known'],
  ['a token without the scope', () => `Bearer ${tokenOf({ claims: { scope: '' } })}`, 'known', 403],
  ['an expired token', () => `Bearer ${tokenOf({ claims: { exp: 1 } })}`, 401, 401],
  ['two tokens', () => `Bearer ${tokenOf()}, Bearer ${tokenOf()}`, 400, 400],
  ...['Bearer', 'Bearer ', 'bearer'].map((header): Row => [header, () => header, 400, 400]),
  ...['Basic dTpw', 'undefined', 'null', ',', 'Bearer undefined'].map(
    (header): Row => [header, () => header, 401, 401],
  ),
  ['a token by another key', () => `Bearer ${tokenOf({ key: rsaKey('stranger') })}`, 401, 401],
];

for (const [door, send] of Object.entries(doors))
  describe(`${door} where a token is optional`, () => {
    for (const [name, header, open, scope] of rows)
      test(`returns ${open} to ${name}, and ${scope} where a scope is required`, async () => {
        const authorization = header();
        for (const [path, want] of Object.entries({ '/open': open, '/scope': scope })) {
          const response = await send(requestOf(path, authorization === undefined ? {} : { authorization }));
          expect(response.ok ? await response.text() : response.status).toBe(want);
          // Otherwise a cache would send one client's rejection to another.
          if (!response.ok) expect(response.headers.get('vary')).toBe('Authorization');
        }
      });
  });

describe('resourceServer() where a token is optional', () => {
  for (const [name, route, isOpen] of [
    ['no requirement', {}, true],
    ['a scope', { scope: 'a' }, false],
    ['a function that returns a scope', { scope: () => 'a' }, false],
    ['a function that returns no scope', { scope: () => [] }, false],
    ['acr', { acr: 'high' }, false],
    ['maxAge', { maxAge: 60 }, false],
    ['authorize', { authorize: () => true }, false],
  ] as const)
    test(`${isOpen ? 'requires no' : 'requires a'} token on a route with ${name}, and says so`, async () => {
      const app = guarded().get('/', greet, route);
      expect(app.routes.map(isGuarded)).toEqual([!isOpen]);
      expect((await app.handle(requestOf('/'))).ok).toBe(isOpen);
    });

  test('yields to a guard without it, in either order', async () => {
    const strict = () => new Elysia().use(resourceServer(guard));
    for (const app of [guarded().use(strict().get('/', greet)), strict().use(guarded().get('/', greet))])
      expect((await app.handle(requestOf('/'))).status).toBe(401);
  });

  for (const aot of [true, false])
    test(`adds Vary to what its routes return, ${aot ? 'compiled' : 'not compiled'} ahead of time`, async () => {
      const app = new Elysia({ aot })
        .onRequest(({ set }) => {
          set.headers.vary = 'Origin';
        })
        .use(optional())
        .get('/', () => 'ok')
        .get('/fetched', () => fetch('data:,ok'))
        .get('/scope', () => 'ok', { scope: 'a' })
        .get('/fails', () => {
          throw new Error('fails');
        });
      for (const headers of [{}, bearer(tokenOf())])
        for (const path of ['/', '/fetched', '/scope', '/fails']) {
          const vary = (await app.handle(requestOf(path, headers))).headers.get('vary');
          expect(vary).toContain('Authorization');
          if (aot) expect(vary).toContain('Origin');
        }
    });

  test('extends the Vary header of a handler', async () => {
    const app = guarded().get('/', () => new Response('ok', { headers: { vary: 'Origin' } }));
    expect((await app.handle(requestOf('/'))).headers.get('vary')).toBe('Origin, Authorization');
  });
});
