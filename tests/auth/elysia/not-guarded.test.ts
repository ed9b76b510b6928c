import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { Elysia } from 'elysia';
import { isGuarded, resourceServer } from '../../../src/auth/index.ts';
import { createTestIssuer } from '../../../src/auth/testing.ts';

/** What SECURITY.md says that the guard does not cover. A failure means that the page can be shortened. */
const { options } = await createTestIssuer();

test('a route of Bun in the configuration of Elysia is not guarded', async () => {
  const app = new Elysia({ serve: { routes: { '/of-bun': new Response('open') } } })
    .use(resourceServer(options))
    .get('/guarded', () => 'guarded')
    .listen({ hostname: '127.0.0.1', port: 0 });
  const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${app.server?.port}${path}`)).status;
  expect([await statusOf('/of-bun'), await statusOf('/guarded')]).toEqual([200, 401]);
  expect(app.routes.map(({ path }) => path)).toEqual(['/guarded']);
  expect(app.routes.every(isGuarded)).toBe(true);
  await app.stop(true);
});

test('a promised guard in a guard callback ends the process', async () => {
  const script = `
    import { Elysia } from 'elysia';
    import { resourceServer } from './src/auth/index.ts';
    import { createTestIssuer } from './src/auth/testing.ts';
    const { options } = await createTestIssuer();
    const app = new Elysia().guard({}, (inner) =>
      inner.use(Promise.resolve(resourceServer(options))).get('/a', () => 'SECRET'));
    await app.modules;
    Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch });`;
  const child = Bun.spawn([process.execPath, '-e', script], {
    cwd: join(import.meta.dir, '../../..'),
    stderr: 'pipe',
  });
  expect(await child.stderr.text()).toContain('Cannot guard routes: GET /a was added before the guard');
  expect(await child.exited).toBe(1);
});
