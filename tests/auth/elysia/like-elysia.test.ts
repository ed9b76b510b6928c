import { expect, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import { isGuarded } from '../../../src/auth/index.ts';
import { guard, request, token } from './guarded.ts';
import { ask, serve } from './matrix/serve.ts';

/** Generated applications, whose guarded routes must not change which route Elysia finds, and with which parameters. */
const seed = Number(process.env.MATRIX_SEED ?? 20);
const requests = Number(process.env.COMPARED_REQUESTS ?? 3_000);

let state = seed;
const random = (below: number) => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
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
  readonly isGuarded: boolean;
}

/** The first of the routes with one method and pattern decides whether it is guarded: the other way round is an error. */
function describe(): readonly Described[] {
  const routes = Array.from({ length: 2 + random(8) }, () => ({ method: pick(methods), path: pattern() }));
  return routes.map(({ method, path }) => ({
    method,
    path,
    isGuarded: (path.length + method.length) % 2 === 0,
  }));
}

/** Adds guarded routes to instances of their own. Each route responds with its number and its parameters. */
function build(routes: readonly Described[], config: object, withGuard: boolean): AnyElysia {
  const app = new Elysia(config) as AnyElysia;
  for (const [index, { method, path, isGuarded: isMeant }] of routes.entries()) {
    const respond = ({ params }: { readonly params?: object }) => JSON.stringify([index, params ?? {}]);
    const inner = new Elysia(config) as AnyElysia;
    const guarded: AnyElysia = isMeant && withGuard ? inner.use(guard()) : inner;
    app.use(guarded.route(method as 'GET', path, respond as () => string));
  }
  return app;
}

const headers = token();
const paths = ['a', 'b', 'c', 'é', '%C3%A9', 'zz', ''];
const path = () => `/${Array.from({ length: random(4) }, () => paths[random(paths.length)]).join('/')}`;

for (const [name, config] of Object.entries({
  default: {},
  'aot: false': { aot: false },
  strict: { strictPath: true },
}))
  test(`a guarded application finds the route that Elysia finds, ${name}`, async () => {
    let found = 0;
    for (let sent = 0; sent < requests; ) {
      const routes = describe();
      const [alone, guarded] = [false, true].map((withGuard) => build(routes, config, withGuard)) as [
        AnyElysia,
        AnyElysia,
      ];
      for (let left = 25; left > 0; left -= 1, sent += 1) {
        const init = { method: pick(['GET', 'GET', 'POST', 'HEAD', 'PUT']), headers };
        const at = path();
        const [expected, actual] = await Promise.all(
          [alone, guarded].map(async (app) => {
            const response = await app.handle(request(at, init));
            return [response.status, await response.text(), [...response.headers].toSorted()];
          }),
        );
        expect({ seed, routes, at, init, response: actual }).toEqual({ seed, routes, at, init, response: expected });
        found += Number(expected?.[0] === 200);
      }
    }
    expect(found).toBeGreaterThan(requests / 4);
  }, 600_000);

test('and so does its listener, where isGuarded is true of exactly the routes that reject a request without a token', async () => {
  for (let round = 0; round < 20; round += 1) {
    const routes = describe();
    const apps = [false, true].map((withGuard) => build(routes, {}, withGuard)) as [AnyElysia, AnyElysia];
    const [alone, guarded] = apps.map((app) => serve(app, 'listen'));
    expect(apps[1].routes.map(isGuarded)).toEqual(
      apps[1].routes.map(({ path: of, method }) => (of.length + method.length) % 2 === 0),
    );
    for (let left = 10; left > 0; left -= 1) {
      const at = path();
      const [expected, actual] = await Promise.all(
        [alone, guarded].map(
          (service) => service && ask(service, at, {}, headers.authorization.slice('Bearer '.length)),
        ),
      );
      expect({ seed, routes, at, response: actual }).toEqual({ seed, routes, at, response: expected });
    }
    await Promise.all([alone?.close(), guarded?.close()]);
  }
});
