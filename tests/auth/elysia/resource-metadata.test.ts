import { describe, expect, test } from 'bun:test';
import { cors } from '@elysiajs/cors';
import { type AnyElysia, Elysia } from 'elysia';
import { createGuard, resourceMetadata, resourceServer } from '../../../src/auth/elysia.ts';
import { offline } from '../../support/checked.ts';

const PATH = '/.well-known/oauth-protected-resource';
const API = 'https://api.example.test';
const get = (app: AnyElysia, path: string): Promise<Response> => app.handle(new Request(`http://localhost${path}`));

describe('resourceMetadata()', () => {
  const publicUrl = `${API}/base`;
  const metadata = () => resourceMetadata({ ...offline(), publicUrl });
  const guard = () => resourceServer({ ...offline(), publicUrl });
  const reports = () => new Elysia().use(guard()).get('/messages', () => 'ok', { scope: ['read:a', 'read:b'] });

  for (const [place, create] of [
    ['without a guard of its own', () => new Elysia().use(metadata()).use(reports())],
    ['before the guard', () => new Elysia().use(metadata()).use(guard()).use(reports())],
    ['after the guard', () => new Elysia().use(guard()).use(metadata()).use(reports())],
    ['of a guard', () => new Elysia().use(resourceMetadata(createGuard({ ...offline(), publicUrl }))).use(reports())],
  ] as const)
    test(`serves the document that challenges name, with the scopes of the routes: ${place}`, async () => {
      const app = create();
      const challenge = `Bearer scope="read:a read:b", resource_metadata="${API}${PATH}/base"`;
      expect((await get(app, '/messages')).headers.get('www-authenticate')).toBe(challenge);
      expect(await (await get(app, `${PATH}/base`)).json()).toMatchObject({ scopes_supported: ['read:a', 'read:b'] });
    });

  for (const [name, use] of [
    ['by itself', (app) => app.use(metadata())],
    ['without ahead-of-time compilation', () => new Elysia({ aot: false }).use(metadata())],
    ['before CORS', (app) => app.use(metadata()).use(cors())],
    ['after CORS', (app) => app.use(cors({ origin: 'https://app.example.test' })).use(metadata())],
  ] as const satisfies readonly (readonly [string, (app: AnyElysia) => AnyElysia])[])
    test(`is readable for browsers of one origin or all, its preflight included: ${name}`, async () => {
      const app = use(new Elysia());
      for (const [method, status] of Object.entries({ GET: 200, HEAD: 200, OPTIONS: 204 })) {
        const init = { method, headers: { origin: 'https://app.example.test' } };
        const response: Response = await app.handle(new Request(`${API}${PATH}/base`, init));
        expect([method, response.status]).toEqual([method, status]);
        expect(response.headers.get('access-control-allow-origin')).toMatch(/^(\*|https:\/\/app\.example\.test)$/);
      }
      expect((await get(app, `${PATH}/base/`)).status).toBe(404);
      const { length } = await (await get(app, `${PATH}/base`)).text();
      const head = await app.handle(new Request(`${API}${PATH}/base`, { method: 'HEAD' }));
      expect([head.headers.get('content-length'), await head.text()]).toEqual([String(length), '']);
    });

  test('lists the scopes of its own resource, where an application has two guards', async () => {
    const of = (path: string) => {
      const own = createGuard({ ...offline(), publicUrl: API, resource: API + path });
      return new Elysia()
        .use(resourceMetadata(own))
        .use(resourceServer(own))
        .get(path, () => 'ok', { scope: path });
    };
    const app = new Elysia().use(of('/a')).use(of('/b'));
    for (const path of ['/a', '/b']) {
      const document = await (await get(app, PATH + path)).json();
      expect(document).toMatchObject({ resource: API + path, scopes_supported: [path] });
    }
  });

  test('throws without a publicUrl', () => {
    for (const given of [offline(), createGuard(offline())])
      expect(() => resourceMetadata(given)).toThrow('Cannot serve resource metadata: publicUrl is missing');
  });
});
