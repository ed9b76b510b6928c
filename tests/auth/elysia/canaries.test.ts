import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { requireSupported } from '../../../src/auth/elysia/internals.ts';
import manifest from '../../../src/auth/package.json';
import { partsOf } from './guarded.ts';

/**
 * The undocumented behaviour of Elysia that the adapter relies on. A failure means that a new version must be examined.
 */
describe('Elysia', () => {
  for (const aot of [true, false])
    test(`has the parts of an instance that the adapter uses, with aot ${aot}`, () => {
      const app = new Elysia({ aot }).onRequest(() => {}).get('/a/:id', () => 'a');
      const { config, event, extender, router, handleError, add, _use, applyMacro, promisedModules } = partsOf(app);
      expect([config.aot ?? true, typeof extender.macro]).toEqual([aot, 'object']);
      expect(event.request).toEqual([expect.objectContaining({ fn: expect.any(Function) })]);
      expect(router.history).toEqual([expect.objectContaining({ method: 'GET', path: '/a/:id' })]);
      const found = (aot ? router.http : router.dynamic).find('GET', '/a/1')?.store;
      expect(found).toEqual(
        expect.objectContaining(aot ? { compile: expect.any(Function) } : { hooks: router.history[0]?.hooks }),
      );
      for (const method of [handleError, add, _use, applyMacro, promisedModules.add]) expect(method).toBeFunction();
      expect(partsOf(app)['~adapter'].handler.mapResponse).toBeFunction();
    });

  test('assigns getParent to a plugin that it uses, through which the plugin meets another copy of Elysia', () => {
    const plugin = new Elysia();
    const app = new Elysia().use(plugin);
    expect<unknown>(partsOf(plugin).getParent()).toBe(app);
  });

  test.each(['1.4.30', '1.4.31-exp.0', manifest.peerDependencies.elysia.replace('>=', '')])(
    '%s is supported',
    (version) => expect(requireSupported(version)).toBe(version),
  );

  test.each(['1.3.22', '1.4.27', '1.5.0', '2.0.0-exp.63'])('%s is not supported', (version) =>
    expect(() => requireSupported(version)).toThrow(
      `Cannot use Elysia ${version}: the plugin needs Elysia 1.4.28 or a later 1.4. The guard of protected-api needs no Elysia`,
    ),
  );

  test('serves a route with the function in `composed`, or in what it registers in its router', async () => {
    const app = new Elysia().get('/a', () => 'a').get('/b/:id', () => 'b');
    const replaced = () => new Response('replaced');
    for (const route of partsOf(app).router.history) {
      Object.assign(route, { composed: replaced });
      const store = partsOf(app).router.http.find(route.method, route.path)?.store;
      if (store) Object.assign(store, { handler: replaced });
    }
    for (const path of ['/a', '/b/1'])
      expect(await (await app.handle(new Request(`http://localhost${path}`))).text()).toBe('replaced');
  });
});
