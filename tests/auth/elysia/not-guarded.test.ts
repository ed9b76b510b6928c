import { expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { isGuarded } from '../../../src/auth/elysia.ts';
import { guard } from './guarded.ts';

/** What SECURITY.md says that the guard does not cover. A failure means that the page can be shortened. */
test('a route of Bun in the configuration of Elysia is not guarded', async () => {
  const app = new Elysia({ serve: { routes: { '/of-bun': new Response('open') } } })
    .use(guard())
    .get('/guarded', () => 'guarded')
    .listen({ hostname: '127.0.0.1', port: 0 });
  const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${app.server?.port}${path}`)).status;
  expect([await statusOf('/of-bun'), await statusOf('/guarded')]).toEqual([200, 401]);
  expect(app.routes.map(({ path }) => path)).toEqual(['/guarded']);
  expect(app.routes.every(isGuarded)).toBe(true);
  await app.stop(true);
});
