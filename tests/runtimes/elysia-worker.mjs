// An application with Elysia on Cloudflare Workers, as its page on Workers has it. It runs in workerd, without nodejs_compat.
import { env } from 'cloudflare:workers';
import { Elysia } from 'elysia';
import { CloudflareAdapter } from 'elysia/adapter/cloudflare-worker';
import { resourceServer } from 'protected-api/elysia';
import { formatRejection } from './errors.mjs';

const { ISSUER: issuer, AUDIENCE: audience, PUBLIC_URL: publicUrl, DPOP: dpop, OPTIONS: options = '{}' } = env;
const reply = (message) =>
  new Response(JSON.stringify({ message }), { headers: { 'content-type': 'application/json' } });

// Here, Workers allow neither a timer nor a random number nor a fetch, and in a request no code that is made of text.
const guarded = new Elysia({ name: 'guarded' })
  .use(resourceServer({ issuer, audience, publicUrl, dpop, formatRejection, ...JSON.parse(options) }))
  .get('/api/private', ({ claims }) => reply(`Hello from ${claims.iss}`))
  .get('/api/private-scoped', () => reply('Hello to those with the scope'), { scope: 'read:messages' })
  .get('/api/owners/:id', ({ params }) => reply(params.id), { authorize: ({ params }) => params.id === '7' });

// biome-ignore lint/style/noDefaultExport: this is how a Worker is written.
export default new Elysia({ adapter: CloudflareAdapter })
  .headers({
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'WWW-Authenticate, Retry-After',
    'cache-control': 'no-store',
  })
  .use(guarded)
  .get('/api/public', () => reply('Hello'))
  .get('/livez', () => reply('live'))
  .compile();
