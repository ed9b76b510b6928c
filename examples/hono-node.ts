import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import { type Claims, createGuard, optionsFromEnvironment, type Requirements } from 'protected-api/guard';

// Hono on Node.js. To start it in Node.js 22.18 or later:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node hono-node.ts
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

const guarded = (requirements: Requirements = {}) =>
  createMiddleware<{ Variables: { claims: Claims } }>(async (context, next) => {
    const result = await guard.check(context.req.raw, requirements);
    if (result instanceof Response) return result;
    context.set('claims', result.claims);
    return next();
  });

const app = new Hono()
  .get('/health', (context) => context.text('ok'))
  .get('/reports', guarded({ scope: 'read:reports' }), (context) => {
    const { sub } = context.get('claims');
    return context.json({ hello: String(sub) });
  });

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3010) }, ({ port }) =>
  console.log(`Listening on http://127.0.0.1:${port}`),
);
