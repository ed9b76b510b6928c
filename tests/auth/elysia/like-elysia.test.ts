import { expect, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import { isGuarded } from '../../../src/auth/elysia.ts';
import { seeded } from '../../support/seeded.ts';
import { guard, token } from './guarded.ts';
import { serve } from './matrix/serve.ts';

/** Generated applications, whose guarded routes must not change which route Elysia finds, and with which parameters. */
const seed = Number(process.env.MATRIX_SEED ?? 20);
const requests = Number(process.env.COMPARED_REQUESTS ?? 1_000);

const random = seeded(seed);
const pick = <Value>(values: readonly [Value, ...Value[]]): Value => values[random(values.length)] ?? values[0];

const segments = ['a', 'b', 'c', 'é', ':x', ':x', ':x?', '*'] as const;
const methods = ['GET', 'GET', 'GET', 'POST', 'ALL', 'HEAD'] as const;

/** Returns a pattern in which nothing follows a wildcard, or an optional parameter. */
function pattern(): string {
  let path = '';
  for (let left = 1 + random(3); left > 0; left -= 1) {
    const segment = pick(segments);
    // Elysia allows one name for the parameter of each place.
    path += `/${segment.replace('x', `x${path.split('/').length}`)}`;
    if (segment.endsWith('*') || segment.endsWith('?')) break;
  }
  return path;
}

interface Described {
  readonly method: string;
  readonly path: string;
}

/** Routes of one length differ in their guard, unless they have one path. */
const isMeant = ({ method, path }: Described) => (path.length + method.length) % 2 === 0;

/** Returns routes of which no open one may be served in place of a guarded one. */
function describe(): readonly Described[] {
  for (;;) {
    const routes = Array.from({ length: 2 + random(8) }, () => ({ method: pick(methods), path: pattern() }));
    try {
      build(routes, {}, true);
      return routes;
    } catch (error) {
      expect(String(error)).toContain('Elysia may serve it in place of');
    }
  }
}

/** Adds guarded routes to instances of their own. Each route responds with its number and its parameters. */
function build(routes: readonly Described[], config: object, withGuard: boolean): AnyElysia {
  const app = new Elysia(config) as AnyElysia;
  for (const [index, route] of routes.entries()) {
    const respond = ({ params }: { readonly params?: object }) => JSON.stringify([index, params ?? {}]);
    const inner = new Elysia(config) as AnyElysia;
    const guarded: AnyElysia = withGuard && isMeant(route) ? inner.use(guard()) : inner;
    app.use(guarded.route(route.method as 'GET', route.path, respond as () => string));
  }
  return app;
}

const headers = token();
const paths = ['a', 'b', 'c', 'é', '%C3%A9', 'zz', ''];
const path = () => `/${Array.from({ length: random(4) }, () => paths[random(paths.length)]).join('/')}`;

for (const [name, config, form, count] of [
  ['default', {}, 'handle', requests],
  ['aot: false', { aot: false }, 'handle', requests],
  ['strict', { strictPath: true }, 'handle', requests],
  ['a listener', {}, 'listen', requests / 15],
] as const)
  test(`a guarded application finds the route that Elysia finds, and isGuarded is true of those with a guard, ${name}`, async () => {
    let found = 0;
    for (let sent = 0; sent < count; ) {
      const routes = describe();
      const apps = [false, true].map((withGuard) => build(routes, config, withGuard));
      for (const route of apps[1]?.routes ?? []) expect([route, isGuarded(route)]).toEqual([route, isMeant(route)]);
      const services = apps.map((app) => serve(app, form));
      for (let left = 25; left > 0; left -= 1, sent += 1) {
        const init = { method: pick(['GET', 'GET', 'POST', 'HEAD', 'PUT']), headers };
        const at = path();
        const [expected, actual] = await Promise.all(
          services.map(async ({ send }) => {
            const response = await send(at, init);
            response.headers.delete('date');
            return [response.status, await response.text(), [...response.headers].toSorted()];
          }),
        );
        expect({ seed, routes, at, init, response: actual }).toEqual({ seed, routes, at, init, response: expected });
        found += Number(expected?.[0] === 200);
      }
      for (const { close } of services) await close();
    }
    expect(found).toBeGreaterThan(count / 4);
  }, 600_000);

test('a listener rejects the requests that `handle` rejects, also if an open route matches them', async () => {
  let rejected = 0;
  for (let sent = 0; sent < requests / 15; ) {
    const routes = describe();
    for (const strictPath of [false, true]) {
      const services = ['handle', 'listen'].map((form) => serve(build(routes, { strictPath }, true), form));
      for (let left = 10; left > 0; left -= 1, sent += 1) {
        // Bun's router ignores empty segments, and for HEAD takes less specific routes than for GET.
        const method = pick(['GET', 'GET', 'POST', 'PUT']);
        const at = path().replaceAll(/\/+/g, '/');
        const [expected, actual] = await Promise.all(
          services.map(async ({ send }) => (await send(at, { method })).status),
        );
        const request = { seed, routes, strictPath, method, at };
        if (expected === 401) expect({ ...request, status: actual }).toEqual({ ...request, status: 401 });
        rejected += Number(expected === 401);
      }
      for (const { close } of services) await close();
    }
  }
  expect(rejected).toBeGreaterThan(requests / 15 / 20);
}, 600_000);
