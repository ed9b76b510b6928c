import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { createGuard, optionsFromEnvironment } from 'protected-api';
import { authOf, requireToken } from 'protected-api/hono';

// Hono on Node.js. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node hono-node.ts
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

const app = new Hono()
  // Before the guard, so that cross-origin pages can read why a request was rejected.
  .use(cors({ origin: '*', exposeHeaders: ['WWW-Authenticate', 'Retry-After'] }))
  // If PUBLIC_URL is set, serves the metadata that challenges link to.
  .use(async ({ req }, next) => guard.metadata(req.raw) ?? next())
  .get('/health', (context) => context.text('ok'))
  .get('/messages', requireToken(guard, { scope: 'read:messages' }), (context) =>
    context.json({ hello: String(authOf(context).claims.sub) }),
  );

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3010) }, ({ port }) =>
  console.log(`Listening on http://127.0.0.1:${port}`),
);
