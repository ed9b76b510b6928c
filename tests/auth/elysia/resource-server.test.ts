import { describe, expect, test } from 'bun:test';
import { type AnyElysia, Elysia, t } from 'elysia';
import { createGuard, isGuarded, resourceServer } from '../../../src/auth/elysia.ts';
import { createGuardCore } from '../../../src/auth/guard/core.ts';
import { guardOf } from '../../../src/auth/guard/guard.ts';
import { offline } from '../../support/checked.ts';
import { until } from '../../support/child-process.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { guard, send, statuses, token } from './guarded.ts';

const granted = (scope: string) => token({ scope });

type Use = (app: AnyElysia) => AnyElysia;

describe('resourceServer()', () => {
  test('guards no route of another instance', async () => {
    const app = new Elysia().use(new Elysia().use(guard()).get('/guarded', () => 'ok')).get('/open', () => 'ok');
    expect([await statuses(app, '/open', [{}]), await statuses(app, '/guarded', [{}])]).toEqual([[200], [401]]);
    expect(app.routes.filter(isGuarded).map(({ path }) => path)).toEqual(['/guarded']);
  });

  for (const [name, before, after] of [
    ['catches every error', (app) => app.onError(() => new Response('caught')), (app) => app],
    ['catches every error later', (app) => app, (app) => app.onError(() => new Response('caught'))],
    ['wraps every response', (app) => app.onAfterHandle(({ responseValue: data }) => ({ data })), (app) => app],
    ['maps every response', (app) => app.mapResponse(() => new Response('mapped')), (app) => app],
  ] as const satisfies readonly (readonly [string, Use, Use])[])
    test(`sends its own responses in an application that ${name}`, async () => {
      const app = after(before(new Elysia()).use(guard())).get('/', () => 'ok');
      const response = await send(app, '/');
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      expect(await response.json()).toMatchObject({ error: 'missing_token' });
    });

  test.each<[string, () => unknown, string]>([
    ['an option that is not a boolean', () => guard({}, { optional: 'false' }), 'optional must be true or false'],
    ['responses that is not a boolean', () => guard({}, { responses: null }), 'responses must be true or false'],
    ['a wrong option of a guard', () => resourceServer({ ...offline(), tokenCacheSize: -1 }), 'tokenCacheSize must'],
    ['claims of null', () => resourceServer({ ...offline(), claims: null as never }), 'claims must be'],
    [
      'a copy of a guard',
      () => resourceServer({ ...createGuard(offline()) }),
      'it must be one that createGuard() returned, not a copy',
    ],
    ['a misspelt option', () => guard({}, { optionl: true }), 'optionl is not an option. Did you mean optional?'],
    ['an inherited misspelt option', () => guard({}, Object.create({ optionl: 1 })), 'optionl is not an option'],
  ])('is a TypeError with %s', (_, create, message) => {
    expect(create).toThrow(expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }));
  });

  for (const [name, claims] of Object.entries({ 'no schema': undefined, 'a schema': t.Object({ iss: t.String() }) }))
    test(`reads options and settings that are getters or inherited, with ${name}`, async () => {
      const isRevoked = () => true;
      const options = {
        ...offline(),
        claims,
        get isRevoked() {
          return isRevoked;
        },
      };
      const plugin = resourceServer(Object.create(options), Object.create({ optional: true }));
      const app = new Elysia().use(plugin).get('/', () => 'ok');
      expect(await statuses(app, '/', [{}, token()])).toEqual([200, 401]);
    });

  test('does not throw for preflights that were added before it', () => {
    expect(() => new Elysia().options('/*', () => 'preflight').use(guard())).not.toThrow();
  });

  for (const path of ['/guarded', '/scoped'])
    test(`reads no body of an accepted request to ${path}, whose handler does not read it`, async () => {
      const app = new Elysia()
        .use(guard())
        .post('/guarded', () => 'ok')
        .post('/scoped', () => 'ok', { scope: 'a' });
      let pulls = 0;
      const body = new ReadableStream({ pull: () => void pulls++ }, { highWaterMark: 0 });
      const headers = { ...granted('a'), 'content-type': 'text/plain' };
      expect([(await send(app, path, { method: 'POST', headers, body })).status, pulls]).toEqual([200, 0]);
    });

  test('keeps its keys fresh while any application that shares it listens', async () => {
    const { keys, ...options } = offline();
    const clock = createFrozenClock();
    const core = createGuardCore({ ...options, fetch: async () => Response.json(keys) }, { clock });
    const plugin = resourceServer(guardOf(core));
    const [first, second] = [1, 2].map(() => new Elysia().use(plugin).get('/', () => 'ok'));
    const listen = (app?: AnyElysia) => app?.listen({ port: 0, hostname: '127.0.0.1' });
    listen(first);
    await until(() => core.state().issuers[0]?.keys === 1, 'the keys');
    listen(second);
    await first?.stop(true);
    expect(clock.waiting).toBe(1);
    const response = await fetch(`http://127.0.0.1:${second?.server?.port}/`, { headers: granted('a') });
    expect(await response.text()).toBe('ok');
    await second?.stop(true);
    expect(clock.waiting).toBe(0);
    listen(first);
    expect(clock.waiting).toBe(1);
    await first?.stop(true);
  });

  for (const [name, headersOf] of Object.entries({ onAccepted: () => granted('a'), onRejected: () => ({}) }))
    test(`returns 500 for an exception of ${name}`, async () => {
      const fail = () => {
        throw new Error('callback');
      };
      const app = new Elysia().use(guard({ [name]: fail })).get('/', () => 'SECRET');
      const response = await send(app, '/', { headers: headersOf() });
      expect([response.status, await response.text()]).toEqual([500, expect.not.stringMatching(/callback|SECRET/)]);
    });
});
