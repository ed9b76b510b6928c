import { describe, expect, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import { isGuarded } from '../../../src/auth/elysia.ts';
import { guard, statuses } from './guarded.ts';

const add = (app: AnyElysia, route: string) => {
  const [method = '', path = ''] = route.split(/ (.*)/);
  return method === 'WS' ? app.ws(path, {}) : app.route(method as 'GET', path, () => 'ok');
};

const rejected: readonly (readonly [guarded: string, open: string])[] = [
  ['GET /orders', 'GET /orders'],
  ['GET /orders', 'GET /orders/'],
  ['GET /orders/', 'GET /orders'],
  ['GET /orders/:id', 'GET /orders/:id'],
  ['GET /orders/:id', 'GET /orders/:id/'],
  ['GET /orders/:id', 'GET /orders/:id?'],
  ['GET /orders/:id?', 'GET /orders/:id'],
  ['GET /orders/:id?', 'GET /orders'],
  ['GET /', 'GET /:id?'],
  ['GET /:a?/:b?', 'GET /:a'],
  ['GET /orders/:id', 'GET /orders/:id?/items'],
  ['GET /orders', 'GET /orders/:id?/items'],
  ['GET /orders', 'GET /orders/:id/items/:item?'],
  ['GET /orders/:id/items', 'GET /orders/:id?/items/:item?/parts'],
  ['GET /orders/:id?/items', 'GET /orders/:id'],
  ['GET /orders/*', 'GET /orders/*'],
  ['GET /orders for you', 'GET /orders%20for%20you'],
  ['WS /orders', 'GET /orders'],
  ['GET /orders', 'WS /orders/'],
  ['ALL /orders', 'GET /orders'],
  ['POST /orders', 'ALL /orders'],
  ['ALL /orders', 'GET /:page'],
  ['ALL /orders/*', 'GET /*'],
  ['GET /orders/*', 'GET /:language/:page'],
  ['GET /orders-:id', 'GET /:page'],
  ['GET /bestellungen/für/:id', 'GET /bestellungen/:for/:id'],
];

const allowed: typeof rejected = [
  ['GET /orders', 'POST /orders'],
  ['GET /orders', 'HEAD /orders'],
  ['GET /orders', 'OPTIONS /orders'],
  ['ALL /*', 'OPTIONS /*'],
  ['GET /orders/:id', 'GET /orders/public'],
  ['GET /orders/:id', 'GET /orders/:id/public'],
  ['GET /orders/:id/items', 'GET /orders/:id/public/:page?'],
  ['GET /orders/public', 'GET /orders/:id'],
  ['GET /orders/:id', 'GET /*'],
  ['GET /orders/*', 'GET /*'],
  ['ALL /orders/*', 'GET /orders/public'],
  ['GET /orders', 'ALL /*'],
  ['WS /orders', 'GET /*'],
  ['GET /Orders', 'GET /orders'],
  ['GET /orders-:id', 'GET /bills-:id'],
];

const configs = [true, false].flatMap((aot) => [true, false].map((strictPath) => ({ aot, strictPath })));

describe('an open route', () => {
  for (const [rows, isRejected] of [
    [rejected, true],
    [allowed, false],
  ] as const)
    for (const [guarded, open] of rows)
      test(`${open} is ${isRejected ? 'rejected' : 'allowed'} beside the guarded ${guarded}, in either order`, () => {
        for (const config of configs)
          for (const isLast of [true, false]) {
            const parts = [() => add(new Elysia(config).use(guard()), guarded), () => add(new Elysia(config), open)];
            const build = () =>
              (isLast ? parts : parts.toReversed()).reduce(
                (app, part) => app.use(part()),
                new Elysia(config) as AnyElysia,
              );
            if (isRejected)
              expect(build).toThrow(
                `Cannot guard routes: ${open} is open, and Elysia may serve it in place of ${guarded}, which`,
              );
            else expect(build().routes.map(isGuarded).toSorted()).toEqual([false, true]);
          }
      });

  test('is what an optional guard without a requirement leaves, too', async () => {
    const app = new Elysia().use(add(new Elysia().use(guard()), 'GET /orders'));
    expect(() => app.use(add(new Elysia().use(guard({}, { optional: true })), 'GET /orders/'))).toThrow(
      'GET /orders/ is open',
    );
    expect(await statuses(app, '/orders', [{}])).toEqual([500]);
  });
});
