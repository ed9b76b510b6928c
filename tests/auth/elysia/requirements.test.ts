import { describe, expect, test } from 'bun:test';
import { type AnyElysia, Elysia, NotFoundError, status, t } from 'elysia';
import type { RequirementContext } from '../../../src/auth/elysia.ts';
import { isNight } from '../../support/node-versions.ts';
import { guard, statuses, token } from './guarded.ts';

function toNote(scope: string) {
  const headers = { ...token({ scope }), 'content-type': 'application/json', 'mcp-name': 'read-notes' };
  return new Request('http://localhost/notes/7?tool=read', { method: 'POST', body: '{"text":"a"}', headers });
}

/** Sends a request to a route with these options, with and without ahead-of-time compilation. */
async function responsesOf(route: object, create = () => toNote('a')) {
  const hooks: string[] = [];
  const applications = [true, false].map((aot) =>
    new Elysia({ aot })
      .use(guard())
      .onBeforeHandle(() => void hooks.push('beforeHandle'))
      .post('/notes/:id', () => 'ok', { ...route } as { scope: string }),
  );
  return { responses: await Promise.all(applications.map((app) => app.handle(create()))), hooks };
}

const throws = (thrown: () => unknown) => () => {
  throw thrown();
};
const fails = throws(() => new Error('secret'));
const later = <Value>(value: Value) => new Promise<Value>((done) => setImmediate(done, value));

const noScopes = [
  ...[undefined, null, '', 'a b', 1, true, {}, { anyOf: [] }, { anyOf: 'a' }, { anyOf: ['a'], allOf: [] }],
  ...[['a', 1], ['']],
];
type Row = readonly [name: string, route: object, granted: string, status: number, wanted?: string];
const rows: readonly Row[] = [
  ['the scope', { scope: 'a' }, 'b a', 200],
  ['a scope that is missing', { scope: 'a' }, 'ab', 403, 'a'],
  ['a list of scopes', { scope: ['a', 'b'] }, 'b a', 200],
  ['a list of scopes of which one is missing', { scope: ['a', 'b'] }, 'a', 403, 'a b'],
  ['a function of a scope', { scope: () => 'a' }, 'a', 200],
  ['a function of a scope that is missing', { scope: () => 'a' }, 'b', 403, 'a'],
  ['a function of a list', { scope: () => ['a', 'b'] }, 'b a', 200],
  ['a function of a list of which one is missing', { scope: () => ['a', 'b'] }, 'a', 403, 'a b'],
  ['a function of any of a list', { scope: () => ({ anyOf: ['a', 'b'] }) }, 'b', 200],
  ['a function of none of a list', { scope: () => ({ anyOf: ['a', 'b'] }) }, 'c', 403, 'a'],
  ['a function of no scope', { scope: () => [] }, '', 200],
  ['a promise of a scope', { scope: () => later('a') }, 'a', 200],
  ['a promise of a scope that is missing', { scope: () => later('a') }, 'b', 403, 'a'],
  ['a promise of no scope', { scope: async () => [] }, '', 200],
  ['an exception as the scope', { scope: fails }, 'a', 500],
  ['a promise of a scope that rejects', { scope: async () => fails() }, 'a', 500],
  ...noScopes.map((value): Row => [`${Bun.inspect(value)} as the scope`, { scope: () => value }, 'a', 500]),
  ['true', { authorize: () => true }, 'a', 200],
  ['a promise of true', { authorize: () => later(true) }, 'a', 200],
  ['a promise of false', { authorize: () => later(false) }, 'a', 403],
  ['a promise of nothing', { authorize: async () => {} }, 'a', 403],
  ['an exception', { authorize: fails }, 'a', 500],
  ['a response of 4xx that it throws', { authorize: throws(() => status(404, 'hidden')) }, 'a', 404],
  ['a Response of 4xx that it throws', { authorize: throws(() => new Response('hidden', { status: 404 })) }, 'a', 404],
  ['a NotFoundError', { authorize: throws(() => new NotFoundError()) }, 'a', 404],
  ['a 404 that its promise rejects with', { authorize: async () => throws(() => status(404))() }, 'a', 404],
  ['text that it throws', { authorize: throws(() => 'secret') }, 'a', 500],
  ['a response of 5xx that it throws', { authorize: throws(() => status(503, 'secret')) }, 'a', 500],
  ['a successful response that it throws', { authorize: throws(() => new Response('secret')) }, 'a', 500],
  ['a redirection that it throws', { authorize: throws(() => status(302, 'secret')) }, 'a', 500],
  [
    'an error with a status',
    { authorize: throws(() => Object.assign(new Error('secret'), { status: 404 })) },
    'a',
    500,
  ],
  ['a promise that rejects', { authorize: async () => fails() }, 'a', 500],
  ...[false, undefined, null, 1, 'true', {}, []].map((it): Row => [Bun.inspect(it), { authorize: () => it }, 'a', 403]),
];

describe('a requirement', () => {
  for (const [name, route, granted, status, wanted] of rows)
    test(`${Object.keys(route)}: ${name} gets a ${status} if "${granted}" is granted`, async () => {
      const { responses, hooks } = await responsesOf(route, () => toNote(granted));
      for (const response of responses) {
        expect(response.status).toBe(status);
        const challenge = wanted === undefined ? null : expect.stringContaining(`scope="${wanted}"`);
        expect(response.headers.get('www-authenticate')).toEqual(challenge);
        const text = await response.text();
        expect(text).not.toContain('secret');
        if (status === 500) expect(text).toBe('Internal error');
        if (status === 403 && wanted === undefined) expect(JSON.parse(text)).toMatchObject({ error: 'access_denied' });
      }
      // No code of the application runs before the requirements are met.
      expect(hooks).toHaveLength(status === 200 ? 2 : 0);
    });

  test('is called in order: the scope, then authorize, and neither without a token', async () => {
    const askedFor = async (scope: string, create?: () => Request) => {
      const asked: string[] = [];
      const authorize = () => asked.push('authorize') > 0;
      await responsesOf({ scope: () => asked.push('scope') && scope, authorize }, create);
      return asked.toSorted();
    };
    expect(await askedFor('a', () => new Request('http://localhost/notes/7', { method: 'POST' }))).toEqual([]);
    expect(await askedFor('other')).toEqual(['scope', 'scope']);
    expect(await askedFor('a')).toEqual(['authorize', 'authorize', 'scope', 'scope']);
  });

  test('gets claims, request, params, query, headers and body', async () => {
    const seen: unknown[] = [];
    const authorize = ({ claims, request, params, query, headers, body }: RequirementContext) =>
      seen.push([claims.sub, request.method, params, query, headers['mcp-name'], body]) > 0;
    await responsesOf({ authorize });
    const want = ['client-1', 'POST', { id: '7' }, { tool: 'read' }, 'read-notes', { text: 'a' }];
    expect(seen).toEqual([want, want]);
  });

  test('is called after the validation of the body', async () => {
    let asked = 0;
    const authorize = () => asked++ >= 0;
    const app = new Elysia()
      .use(guard())
      .post('/notes/:id', () => 'ok', { body: t.Object({ text: t.Number() }), authorize });
    expect([(await app.handle(toNote('a'))).status, asked]).toEqual([422, 0]);
  });

  test('that is a function decides on the claims that each guard accepted: each asks isRevoked once, before the body', async () => {
    const asked: string[] = [];
    const isRevoked = (name: string) => () => {
      asked.push(name);
      return later(false);
    };
    const nested = new Elysia()
      .use(guard({ scopePrefix: 'x/', isRevoked: isRevoked('inner') }))
      .onParse(() => void asked.push('body'))
      .post('/notes/:id', ({ body }) => body, { scope: () => later('a'), authorize: () => true });
    const app = new Elysia().use(guard({ isRevoked: isRevoked('outer') })).use(nested);
    const wanted = { a: [403, 'x/a'], 'x/a': [403, 'a'], 'a x/a': [200, null] } as const;
    for (const [granted, [status, scope]] of Object.entries(wanted)) {
      const response = await app.handle(toNote(granted));
      const challenge = scope === null ? null : expect.stringContaining(`scope="${scope}"`);
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([status, challenge]);
      expect(asked.splice(0)).toEqual(['outer', 'inner', 'body']);
    }
  });

  for (const route of [
    ...[true, 'yes', {}, null, undefined].map((authorize) => ({ authorize })),
    ...['scope', 'acr', 'maxAge'].map((name) => ({ [name]: undefined })),
    ...[[], '', 'with space', 'with"quote', ['good', 'b\\d']].map((scope) => ({ scope })),
  ])
    test(`cannot be ${Bun.inspect(route)}, and the error names the route`, async () => {
      const message =
        /^Cannot read requirements of POST \/notes\/:id: ((scope|acr|maxAge) is undefined|authorize must be a function, got (true|"yes"|a value|null|nothing)|scope (is an empty list|"with space" is not a single scope\. Write \['with', 'space'\]|".*" is not valid))/;
      const error = { name: 'TypeError', message: expect.stringMatching(message) };
      await expect(responsesOf(route)).rejects.toThrow(expect.objectContaining(error));
    });
});

describe('a misspelt route option', () => {
  const spellings = {
    scope: ['scopes', 'Scope', 'scop', 'scpoe', 'requiredScope', 'requiredScopes', 'oauth_scopes'],
    acr: ['Acr', 'acrs', 'acrValues', 'acr_values'],
    maxAge: ['maxage', 'max_age', 'MaxAge', 'max-age', 'maxAgeSeconds'],
    authorize: ['authorise', 'authorized', 'Authorize', 'authorization', 'autorize'],
  };
  const ok = () => 'ok';
  const schema = { body: t.Any(), response: t.String() };
  const besides = {
    alone: {},
    'beside a schema': schema,
    'beside a requirement': { scope: 'a', maxAge: 60 },
    'beside both': { ...schema, acr: 'a' },
  };
  const added: Readonly<Record<string, (app: AnyElysia, option: object) => AnyElysia>> = {
    'a route': (app, option) => app.use(guard()).post('/a', ok, option),
    'a route of an instance that a guarded one uses': (app, option) =>
      app.use(guard()).use(new Elysia().get('/a', ok, option)),
    'a WebSocket': (app, option) => app.use(guard()).ws('/a', { message() {}, ...option }),
    'a mounted handler': (app, option) => app.use(guard()).mount('/a', () => new Response('ok'), option),
    'guard()': (app, option) => app.use(guard()).guard(option).get('/a', ok),
    'guard() with a callback': (app, option) => app.use(guard()).guard(option, (inner) => inner.get('/a', ok)),
    'group()': (app, option) => app.use(guard()).group('/a', option, (inner) => inner.get('/', ok)),
    'what a macro returns': (app, option) =>
      app
        .use(guard())
        .macro({ strict: () => option })
        .get('/a', ok, { strict: true }),
  };
  for (const [place, add] of Object.entries(added))
    test.each(Object.entries(besides))(`of ${place}, %s, is rejected, and nothing is served`, async (_, beside) => {
      // By day, a route gets every spelling, and each other place one of each option.
      for (const [meant, names] of Object.entries(spellings))
        for (const name of isNight || (place === 'a route' && beside === besides.alone) ? names : names.slice(0, 1)) {
          const app: AnyElysia = new Elysia();
          const says = `${name} is not a route option. Did you mean ${meant}?`;
          const error = { name: 'TypeError', message: expect.stringContaining(says) };
          expect(() => add(app, { ...beside, [name]: 'a' })).toThrow(expect.objectContaining(error));
          expect(await statuses(app, '/a', [token(), {}])).toEqual([500, 500]);
        }
    });

  test.each([
    ['scopes', 'is not a route option. Did you mean scope?'],
    ['scope', 'has no effect before the guard'],
  ])('of guard() around a guard is rejected: %s %s', (name, says) => {
    const around = { [name]: 'a' } as object;
    const add = () => new Elysia().guard(around, (inner) => inner.use(guard()).get('/a', ok));
    expect(add).toThrow(`${name} ${says}`);
  });

  test('is not what another plugin reads, what Elysia reads, or a macro of the application', async () => {
    const others = ['rateLimit', 'cache', 'roles', 'permissions', 'auth', 'role', 'tags', 'stop', 'age', 'api', 'acl'];
    const options: object = Object.fromEntries(others.map((name) => [name, ['a']]));
    const plugin: AnyElysia = new Elysia().macro({ scopes: () => ({ beforeHandle: () => 'macro' }) });
    const app: AnyElysia = new Elysia().use(guard()).use(plugin);
    app.guard({ cache: 1 } as never);
    app.get('/a', ok, options).get('/b', ok, { scopes: 'a' });
    expect(await statuses(app, '/a', [token(), {}])).toEqual([200, 401]);
    expect(await (await app.handle(new Request('http://localhost/b', { headers: token() }))).text()).toBe('macro');
    const open: AnyElysia = new Elysia().use(new Elysia().use(guard()).get('/a', ok));
    expect(await statuses(open.get('/b', ok, { scopes: 'a' }), '/b', [{}])).toEqual([200]);
  });
});
