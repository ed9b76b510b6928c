import { describe, expect, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import type { Instance } from '../../../src/auth/elysia/instance.ts';
import type { Plan } from '../../../src/auth/elysia/plan.ts';
import { accept, acceptanceOf, sealHandler, sealMounted } from '../../../src/auth/elysia/seal.ts';
import { resourceServer } from '../../../src/auth/index.ts';
import { offline, tokenOf } from '../../support/checked.ts';
import { loadCopy } from './matrix/load-copy.ts';
import { routeKinds, SECRET } from './matrix/routes.ts';
import { ask, serve } from './matrix/serve.ts';

/** Safety without the gate: nothing here lets the guard decide before a handler is reached. */
const planOf = (hasFunctions = false) => ({ hasFunctions }) as Plan;
const create = () => new Request('http://localhost/a');

type Accept = (request: Request, plan: Plan, context: object) => void;
const acceptances: Readonly<Record<string, readonly [accept: Accept, served: number]>> = {
  'was not accepted': [() => {}, 0],
  'was accepted for it': [(request, plan, context) => accept(request, context, plan, {}), 1],
  'was accepted in another context': [(request, plan) => accept(request, {}, plan, {}), 1],
  'was accepted twice': [(request, plan, context) => [context, {}].map((one) => accept(request, one, plan, {})), 2],
  'was accepted for another route': [(request, _, context) => accept(request, context, planOf(), {}), 0],
  'equals one that was accepted': [(_, plan, context) => accept(create(), context, plan, {}), 0],
};

describe('a sealed handler', () => {
  for (const [name, [prepare, served]] of Object.entries(acceptances))
    for (const isMounted of [false, true])
      test(`serves a request that ${name} ${served} times${isMounted ? ', mounted' : ''}`, async () => {
        const [plan, request] = [planOf(), create()];
        const seal = { handler: () => new Response(SECRET), required: [], plan };
        const context = { request };
        const [sealed, mounted] = [sealHandler(seal), sealMounted(() => new Response(SECRET), seal)];
        prepare(request, plan, context);
        const responses = [1, 2, 3].map(() => (isMounted ? mounted(request) : sealed(context)) as Response);
        expect(responses.map(({ status }) => status)).toEqual([1, 2, 3].map((at) => (at <= served ? 200 : 500)));
        expect(await responses[2]?.json()).toEqual({ code: 'internal_error', description: 'Internal error' });
      });

  test('serves no request before the functions of the context have accepted it', () => {
    const [plan, context] = [planOf(true), { request: create() }];
    const sealed = sealHandler({ handler: () => SECRET, required: [], plan });
    accept(context.request, context, plan, {});
    expect(sealed(context)).toBeInstanceOf(Response);
    Object.assign(acceptanceOf(context) ?? {}, { isComplete: true });
    expect(sealed(context)).toBe(SECRET);
  });

  test('serves no request before its route has a plan, and none without a context', () => {
    const sealed = sealHandler({ handler: () => SECRET, required: [], plan: undefined });
    for (const context of [{ request: create() }, {}, undefined])
      expect(sealed(context as never)).toBeInstanceOf(Response);
  });

  test('returns a copy of a Response, promised or not, because each can be sent once', async () => {
    for (const handler of [new Response(SECRET), Promise.resolve(new Response(SECRET))])
      for (const request of [create(), create()]) {
        const plan = planOf();
        accept(request, {}, plan, {});
        const response = (await sealHandler({ handler, required: [], plan })({ request })) as Response;
        expect(await response.text()).toBe(SECRET);
      }
  });
});

describe('an instance without the gate that has the sealed handlers of another', () => {
  for (const aot of [true, false])
    for (const [name, kind] of Object.entries(routeKinds))
      test(`does not serve a valid token: ${name}, with aot ${aot}`, async () => {
        const guarded = new Elysia({ aot }).use(resourceServer(offline())) as AnyElysia;
        let runs = 0;
        kind.add(guarded, {}, () => void runs++);
        // This copy has none of our overrides.
        const app = new (loadCopy())({ aot }) as unknown as Instance;
        for (const { method, path, handler, hooks } of (guarded as unknown as Instance).router.history)
          app.add(method, path, handler, { config: hooks.config });
        const service = serve(app as unknown as AnyElysia, 'fetch');
        const { body } = await ask(service, kind.path ?? '/secret', kind, tokenOf());
        expect([runs, body.includes(SECRET)]).toEqual([0, false]);
      });
});
