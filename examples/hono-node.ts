import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import { type Claims, createGuard, type Requirements } from 'protected-api/guard';

// Hono on Node.js. To start it, compile it, then:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node hono-node.js
const { ISSUER = '', AUDIENCE = '', PORT = '3010' } = process.env;
const guard = createGuard({ issuer: ISSUER, audience: AUDIENCE });
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

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) =>
  console.log(`Listening on http://127.0.0.1:${port}`),
);
