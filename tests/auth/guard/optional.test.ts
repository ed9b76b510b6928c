import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { createGuard } from '../../../src/auth/guard.ts';
import { isGuarded, resourceServer } from '../../../src/auth/index.ts';
import { authorizationHeaderRows } from '../../http/table/authorization-header.ts';
import { crowdedKeySet } from '../../http/table/key-set.ts';
import { scopeRows } from '../../http/table/scope.ts';
import { PRIVATE, SCOPED, tokenRows } from '../../http/table/tokens.ts';
import { offline, tokenOf } from '../../support/checked.ts';
import { bearer, fixtureFor } from '../../support/fixture.ts';
import { type Form, fetchFrom } from '../../support/forms.ts';
import { SCOPE } from '../../support/mint.ts';

type Handler = (request: Request) => Response | Promise<Response>;
type Options = Parameters<typeof createGuard>[0];

const json = (body: object, init: ResponseInit = {}) =>
  new Response(JSON.stringify(body), { ...init, headers: { 'content-type': 'application/json', ...init.headers } });
const message = () => json({ message: 'Hello' });

/** What the table expects of a request without a token. That the handler answers it is shown by the other header. */
const anonymous = () =>
  json(
    { code: 'authorization_header_missing', description: 'Answered by the handler' },
    { status: 401, headers: { 'www-authenticate': 'Bearer', 'x-anonymous': 'yes' } },
  );
const handle = ({ claims }: { readonly claims: object | undefined }) => (claims ? message() : anonymous());

const doors: Readonly<Record<string, (options: Options) => Handler>> = {
  'guard.check()': (options) => {
    const guard = createGuard(options);
    return async (request) => {
      const { pathname } = new URL(request.url);
      if (![PRIVATE, SCOPED].includes(pathname)) return message();
      const scope = pathname === SCOPED ? SCOPE : undefined;
      const result = await guard.check(request, { optional: true, scope });
      return result instanceof Response ? result : handle(result);
    };
  },
  'resourceServer()': (options) => {
    const guarded = new Elysia()
      .use(resourceServer<undefined>({ ...options, claims: undefined }, { optional: true }))
      .get(PRIVATE, handle)
      .get(SCOPED, handle, { scope: SCOPE });
    return new Elysia().use(guarded).get('/api/public', message).fetch;
  },
};

/** What the table expects of every response, and a guard cannot know. */
const ownHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'WWW-Authenticate, Retry-After',
  'cache-control': 'no-store',
};

const formOf = (name: string, create: (options: Options) => Handler): Form => ({
  name,
  startTimeoutMs: 30_000,
  async start({ ISSUER: issuer = '', AUDIENCE: audience = '' }) {
    const answer = create({ issuer, audience });
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        const response = await answer(request);
        for (const [header, value] of Object.entries(ownHeaders)) response.headers.set(header, value);
        return response;
      },
    });
    return {
      origin: server.url.origin,
      fetch: fetchFrom(server.url.origin),
      output: () => '',
      close: async () => {
        await server.stop(true);
        return 0;
      },
    };
  },
});

for (const [name, create] of Object.entries(doors)) {
  describe(`${name} where a token is optional`, () => {
    describe('decides about every request with credentials as without the option:', () => {
      const fixture = fixtureFor(formOf(name, create), { keys: crowdedKeySet });
      authorizationHeaderRows(fixture);
      tokenRows(fixture);
      scopeRows(fixture);
    });

    const answer = create(offline());
    const send = (path: string, headers: Record<string, string>) =>
      answer(new Request(`http://localhost${path}`, { headers }));

    const headers: readonly (readonly [authorization: string | undefined, isAnonymous: boolean])[] = [
      [undefined, true],
      ['', true],
      [' \t ', true],
      ['Basic dTpw', false],
      ['Bearer', false],
      ['Bearer ', false],
      ['bearer', false],
      ['undefined', false],
      ['null', false],
      [',', false],
      ['Bearer undefined', false],
      [`Bearer ${tokenOf({ claims: { exp: 1 } })}`, false],
    ];
    for (const [authorization, isAnonymous] of headers) {
      const what = JSON.stringify(authorization?.slice(0, 20));
      test(`${isAnonymous ? 'accepts' : 'rejects'} the header ${what}, and rejects it where a scope is required`, async () => {
        const given = authorization === undefined ? {} : { authorization };
        for (const [path, isAccepted] of [
          [PRIVATE, isAnonymous],
          [SCOPED, false],
        ] as const) {
          const response = await send(path, given);
          expect(response.status).toBe(401);
          expect(response.headers.has('x-anonymous')).toBe(isAccepted);
        }
      });
    }

    test('says in a rejection that it depends on Authorization', async () => {
      for (const path of [PRIVATE, SCOPED]) {
        const response = await send(path, { authorization: 'Basic dTpw' });
        expect(response.headers.get('vary')).toBe('Authorization');
      }
    });
  });
}

describe('resourceServer() where a token is optional', () => {
  const plugin = (optional: boolean) =>
    optional ? resourceServer(offline(), { optional }) : resourceServer(offline(), { optional });

  test('says of an open route that it is not guarded, and of one with a requirement that it is', () => {
    const { routes } = new Elysia()
      .use(plugin(true))
      .get('/open', handle)
      .get('/scope', handle, { scope: 'a' })
      .get('/acr', handle, { acr: 'high' })
      .get('/age', handle, { maxAge: 60 })
      .get('/owner', handle, { authorize: () => true });
    expect(routes.map((route) => [route.path, isGuarded(route)])).toEqual([
      ['/open', false],
      ['/scope', true],
      ['/acr', true],
      ['/age', true],
      ['/owner', true],
    ]);
  });

  const requirements: Readonly<Record<string, object>> = {
    scope: { scope: 'a' },
    'a function that returns a scope': { scope: () => 'a' },
    'a function that returns no scope': { scope: () => [] },
    acr: { acr: 'high' },
    maxAge: { maxAge: 60 },
    authorize: { authorize: () => true },
  };
  for (const [name, requirement] of Object.entries(requirements)) {
    test(`requires a token on a route with ${name}`, async () => {
      const app = new Elysia().use(plugin(true)).get('/', () => 'open', requirement as { scope: string });
      expect((await app.handle(new Request('http://localhost/'))).status).toBe(401);
    });
  }

  test('yields to a guard without it, in either order', async () => {
    for (const [outer, inner] of [
      [true, false],
      [false, true],
    ] as const) {
      const app = new Elysia().use(plugin(outer)).use(new Elysia().use(plugin(inner)).get('/', () => 'open'));
      expect((await app.handle(new Request('http://localhost/'))).status).toBe(401);
    }
  });

  for (const aot of [true, false]) {
    test(`adds Vary to what its routes answer, ${aot ? 'compiled' : 'not compiled'} ahead of time`, async () => {
      const app = new Elysia({ aot })
        .onRequest(({ set }) => {
          set.headers.vary = 'Origin';
        })
        .use(plugin(true))
        .get('/', () => 'ok')
        .get('/fetched', () => fetch('data:,ok'))
        .get('/scope', () => 'ok', { scope: 'a' })
        .get('/fails', () => {
          throw new Error('fails');
        });
      for (const headers of [new Headers(), new Headers(bearer(tokenOf()))])
        for (const path of ['/', '/fetched', '/scope', '/fails']) {
          const response = await app.handle(new Request(`http://localhost${path}`, { headers }));
          expect(response.headers.get('vary')).toContain('Authorization');
          if (aot) expect(response.headers.get('vary')).toContain('Origin');
        }
    });
  }

  test('adds Vary to the one of a handler', async () => {
    const app = new Elysia().use(plugin(true)).get('/', () => new Response('ok', { headers: { vary: 'Origin' } }));
    const response = await app.handle(new Request('http://localhost/'));
    expect(response.headers.get('vary')).toBe('Origin, Authorization');
  });
});
