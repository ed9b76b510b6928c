import { describe, expect, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import type { Instance, Methods } from '../../../src/auth/elysia/instance.ts';

/** The undocumented behaviour of Elysia that the adapter relies on. A failure means that a new version must be examined. */
const partsOf = (app: AnyElysia) => app as unknown as Instance;

describe('Elysia', () => {
  for (const aot of [true, false])
    test(`has the parts of an instance that the adapter uses, with aot ${aot}`, () => {
      const { config, event, extender, decorator, router, handleError } = partsOf(
        new Elysia({ aot }).onRequest(() => {}).get('/a/:id', () => 'a'),
      );
      expect([config.aot ?? true, typeof extender.macro, typeof decorator]).toEqual([aot, 'object', 'object']);
      expect(event.request).toEqual([expect.objectContaining({ fn: expect.any(Function) })]);
      expect(router.history).toEqual([expect.objectContaining({ method: 'GET', path: '/a/:id' })]);
      expect((aot ? router.http : router.dynamic).find('GET', '/a/1')?.store).toBeObject();
      expect(router.response).toBeObject();
      const { add, use, _use, applyMacro, guard, group, on } = Elysia.prototype as unknown as Methods;
      for (const method of [handleError, add, use, _use, applyMacro, guard, group, on]) expect(method).toBeFunction();
    });

  test('assigns getParent to a plugin that it uses, through which the plugin meets another copy of Elysia', () => {
    const plugin = new Elysia();
    const app = new Elysia().use(plugin);
    expect((plugin as unknown as { getParent(): unknown }).getParent()).toBe(app);
  });

  test.each([
    ['a route', (app: AnyElysia) => app.get('/a', () => 'a')],
    ['a group', (app: AnyElysia) => app.group('/a', (group) => group.get('', () => 'a'))],
    ['a guard', (app: AnyElysia) => app.guard({}, (inner) => inner.get('/a', () => 'a'))],
    ['a plugin', (app: AnyElysia) => app.use(new Elysia().get('/a', () => 'a'))],
    ['a mounted handler', (app: AnyElysia) => app.mount('/a', () => new Response('a'))],
    ['a WebSocket', (app: AnyElysia) => app.ws('/a', {})],
  ])('adds %s by the method add of the instance', (_, extend) => {
    const app = new Elysia();
    const added: string[] = [];
    const { add } = partsOf(app);
    partsOf(app).add = function (method, path, ...others) {
      added.push(path);
      return add.call(this, method, path, ...others);
    };
    extend(app);
    expect(added).toContainEqual(expect.stringMatching(/^\/a/));
  });

  test('serves a route with the function that `composed` returns', async () => {
    const app = new Elysia().get('/a', () => 'a').get('/b/:id', () => 'b');
    for (const route of partsOf(app).router.history) {
      const replaced = () => new Response('replaced');
      Object.defineProperty(route, 'composed', { get: () => replaced, set() {} });
      route.compile = () => replaced;
      const store = partsOf(app).router.http.find(route.method, route.path)?.store;
      if (store) Object.assign(store, { handler: replaced, compile: () => replaced });
    }
    for (const path of ['/a', '/b/1'])
      expect(await (await app.handle(new Request(`http://localhost${path}`))).text()).toBe('replaced');
  });
});
