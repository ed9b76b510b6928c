import { describe, expect, spyOn, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import { isGuarded, resourceServer } from '../../src/auth/elysia.ts';
import { serve } from '../auth/elysia/matrix/serve.ts';
import { offline, tokenOf } from '../support/checked.ts';
import { bearer } from '../support/mint.ts';
import { applications, type Guard, SECRET, type Step } from './elysia/applications.ts';

/** Applications as people write them: every route is guarded, not served, or declared public, in any order of steps. */
const options = offline();
const guard: Guard = (settings) => resourceServer(options, settings);

/** The order of the author, and each with two neighbouring steps swapped. */
function ordersOf(steps: readonly Step[]): ReadonlyMap<string, readonly Step[]> {
  const swapped = steps.slice(1).map((step, at) => {
    const order = steps.with(at, step).with(at + 1, steps[at] ?? step);
    return [`steps ${at + 1} and ${at + 2} swapped`, order] as const;
  });
  return new Map([['in its own order', steps], ...swapped]);
}

async function build(config: object, steps: readonly Step[]): Promise<AnyElysia | undefined> {
  const logged = spyOn(console, 'error').mockImplementation(() => {});
  try {
    const app = steps.reduce<AnyElysia>((last, { add }) => add(last), new Elysia(config));
    await app.modules;
    return app;
  } catch (error) {
    expect(String(error)).toMatch(/Cannot (?:guard routes|read requirements): /);
    return undefined;
  } finally {
    logged.mockRestore();
  }
}

/** Whether a route that was meant to be private is public by what its author declared: it is there before the guard. */
const isDeclared = (steps: readonly Step[], step: Step) =>
  steps.slice(steps.indexOf(step)).some((later) => later.guard === 'publicBefore' || later.guard === 'optional');

for (const form of ['handle', 'listen'])
  describe.each(Object.entries(applications(guard)))(
    `%s, through ${form}`,
    (_, { config = {}, isRejected = false, steps }) => {
      for (const [order, swapped] of ordersOf(steps))
        test(order, async () => {
          const app = await build(config, swapped);
          // Only an order that is not the author's may be rejected.
          if (app === undefined) return expect([order, isRejected]).not.toEqual(['in its own order', false]);
          const service = serve(app, form);
          if (form === 'listen' && !app.server) return expect(order).toContain('swapped');
          const send = async (route: string, headers: Record<string, string>, as?: string) => {
            const [method = '', path = ''] = route.split(' ');
            const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
            const socket = method === 'WS' ? { ...upgrade, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' } : {};
            const init = { method: as ?? (method === 'WS' ? 'GET' : method), headers: { ...headers, ...socket } };
            const response = await service.send(path, init);
            return { status: response.status, body: response.status === 101 ? SECRET : await response.text() };
          };
          for (const step of swapped)
            for (const [route, meant] of step.routes ?? []) {
              const required = typeof meant === 'object' ? meant.scope : '';
              const strangers = [{}, { authorization: 'garbage' }, bearer(tokenOf({ claims: { exp: 1 } }))];
              const others = required ? [bearer(tokenOf({ claims: { scope: 'other' } }))] : [];
              const isOpen = meant === 'public' || meant === 'optional' || isDeclared(swapped, step);
              for (const headers of isOpen ? [] : [...strangers, ...others])
                for (const as of [undefined, 'HEAD', 'OPTIONS'])
                  expect([route, as, (await send(route, headers, as)).body]).not.toEqual([route, as, SECRET]);
              if (order !== 'in its own order') continue;
              const good = bearer(tokenOf({ claims: { scope: required } }));
              const statuses = [...strangers, ...others, good].map(async (each) => (await send(route, each)).status);
              const rejected = [401, 401, 401];
              const expected = {
                public: [200, 200, 200, 200],
                optional: [200, 401, 401, 200],
                private: [...rejected, ...others.map(() => 403), 200],
              }[typeof meant === 'object' ? 'private' : meant];
              // Only a listener opens a socket.
              if (!route.startsWith('WS'))
                expect([route, ...(await Promise.all(statuses))]).toEqual([route, ...expected]);
              else expect((await Promise.all(statuses)).slice(0, 3)).toEqual(rejected);
            }
          for (const { method, path, ...route } of app.routes)
            if (isGuarded({ method, path, ...route }) && !path.includes('*') && method !== 'ALL')
              expect([path, (await send(`${method} ${path}`, {})).status]).toEqual([path, 401]);
          await service.close();
        });
    },
  );
