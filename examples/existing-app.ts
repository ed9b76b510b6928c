import { cors } from '@elysiajs/cors';
import { Elysia, t } from 'elysia';
import { optionsFromEnvironment } from 'protected-api';
import { resourceServer } from 'protected-api/elysia';

// An application with public routes, CORS and its own error format (RFC 9457) adds the guard. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com bun run existing-app.ts
const guard = resourceServer({
  ...optionsFromEnvironment(process.env),
  formatRejection: ({ status, description }) => ({ body: problem(status, description) }),
  // Without the query, where some clients put their token.
  onRejected: ({ method, url }, reason) => console.warn(`Rejected ${method} ${new URL(url).pathname}: ${reason}`),
});

// The guard protects routes that are added after it to the same instance. The protected routes have a separate
// instance, so the public routes below stay public.
const orders = new Elysia({ prefix: '/orders' })
  .use(guard)
  .get('', ({ claims }) => ({ customer: claims.sub, orders: [] }))
  .post('', ({ body, status }) => status(201, body), { body: t.Object({ item: t.String() }), scope: 'write:orders' });

new Elysia()
  .use(cors())
  .onError(({ code, error }) => problem('status' in error ? error.status : 500, `Cannot handle the request: ${code}`))
  .get('/health', () => 'ok')
  .use(orders)
  .listen({ hostname: '127.0.0.1', port: process.env.PORT ?? 3010 }, ({ url }) =>
    console.log(`Listening on ${url.origin}`),
  );

function problem(status: number, title: string) {
  return { type: 'about:blank', status, title };
}
