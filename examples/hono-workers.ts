import { env, waitUntil } from 'cloudflare:workers';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { createGuard, optionsFromEnvironment } from 'protected-api';
import { authOf, requireToken } from 'protected-api/hono';

// Hono on Cloudflare Workers, with the variables ISSUER and AUDIENCE in wrangler.toml. Start it with:
// npx wrangler dev hono-workers.ts
// Workers stop background work when a request ends, but not what they are told to wait for.
const guard = createGuard({ ...optionsFromEnvironment(env), waitUntil });

const app = new Hono()
  // Before the guard, so that cross-origin pages can read why a request was rejected.
  .use(cors({ origin: '*', exposeHeaders: ['WWW-Authenticate', 'Retry-After'] }))
  // If PUBLIC_URL is set, serves the metadata that challenges link to.
  .use(async ({ req }, next) => guard.metadata(req.raw) ?? next())
  .get('/health', (context) => context.text('ok'))
  .get('/messages', requireToken(guard, { scope: 'read:messages' }), (context) =>
    context.json({ hello: String(authOf(context).claims.sub) }),
  );

// biome-ignore lint/style/noDefaultExport: this is how a Worker is written.
export default app;
