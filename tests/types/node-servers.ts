import express from 'express';
import Fastify from 'fastify';
import { type Context, type Handler, Hono, type TypedResponse } from 'hono';
import { type ApplyGlobalResponse, hc } from 'hono/client';
import Koa from 'koa';
import polka from 'polka';
import { type Claims, createGuard } from 'protected-api';
import { authOf as authOfFastify, requireToken as requireTokenInFastify } from 'protected-api/fastify';
import { authOf as authOfHono, requireToken as requireTokenInHono } from 'protected-api/hono';
import { authOf, checkIncoming, requireToken, serveMetadata } from 'protected-api/node';
import { z } from 'zod';

/** Nothing here is run. The compiler checks the types of what servers use. */
const options = { issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' };
const guard = createGuard({ ...options, claims: z.object({ tenant: z.string() }) });
const app = express().use(requireToken(guard, { optional: true }));
app.use(/^\/(?!health)/, requireToken(guard)).use(['/a', /^\/b/], [requireToken(guard)]);

app.get('/messages', requireToken(guard, { scope: 'read:messages' }), async (request, response) => {
  authOf(request).claims.exp satisfies number;
  // @ts-expect-error: without a token there are no claims
  authOf<Claims | undefined>(request).claims.exp;
  const result = await checkIncoming(guard, request, response);
  // @ts-expect-error: a request may have been rejected
  result.claims;
  result?.claims.tenant satisfies string | undefined;
});

createGuard({
  ...options,
  onRejected({ method, url, headers, ...more }) {
    [method, url, headers.get('host')] satisfies unknown[];
    // @ts-expect-error: on Node.js, a callback gets nothing else of a Request
    more.signal;
  },
  // @ts-expect-error: on Node.js, a callback does not get a whole Request
  onAccepted: (request: Request) => request.signal,
});

const hono = new Hono()
  .get('/messages', requireTokenInHono(guard, { scope: 'read:messages' }), (c) => {
    authOfHono(c).claims.tenant satisfies string;
    return c.json(authOfHono<Claims>(c).claims.exp);
  })
  .get('/news', requireTokenInHono(guard, { optional: true }), (c) => {
    // @ts-expect-error: without a token there are no claims
    authOfHono(c).claims.tenant;
    return c.text(authOfHono(c).claims?.tenant ?? 'everyone');
  });
hono.use(requireTokenInHono(guard));
hono.get('/any', (c: Context) => c.json(authOfHono(c).claims.exp satisfies number));
hono.get('/later', (c) => {
  // The types of the application do not show its middleware.
  authOfHono(c).claims.exp satisfies number;
  authOfHono<Claims & { tenant: string }>(c).claims.tenant satisfies string;
  // @ts-expect-error: without a token there are no claims
  authOfHono<Claims | undefined>(c).claims.exp;
  return c.body(null);
});
new Hono<{ Bindings: { KV: string }; Variables: { user: string } }>().get('/messages', requireTokenInHono(guard), (c) =>
  c.text(authOfHono(c).claims.tenant + c.env.KV + c.get('user')),
);

new Hono<{ Variables: { user: string } }>().use('/tenants/*', requireTokenInHono(guard)).get('/tenants', (c) => {
  c.var.user satisfies string;
  // @ts-expect-error: the guard adds no variable
  c.var.claims;
  return c.text(authOfHono(c).claims.tenant);
});

// Handlers that are typed apart, as with @hono/zod-openapi.
interface AppEnv {
  Variables: { logger: string };
}
declare const apart: Handler<AppEnv, '/tasks', object, Response & TypedResponse<{ id: 1 }, 200, 'json'>>;
const tasks = new Hono<AppEnv>()
  .use(requireTokenInHono(guard))
  .get('/tasks', requireTokenInHono(guard, { scope: 'read:tasks' }), apart)
  .get('/logged', requireTokenInHono(guard), (c) => {
    // @ts-expect-error: perhaps no guard has accepted it
    authOfHono(c, { optional: true }).claims;
    return c.json(
      { by: authOfHono(c).claims.tenant, sub: authOfHono(c, { optional: true })?.claims?.sub, logger: c.var.logger },
      200,
    );
  });
// The type of its RPC client can name the rejections.
type Tasks = ApplyGlobalResponse<typeof tasks, { 401: { json: { error: string; error_description: string } } }>;
const answer = await hc<Tasks>('http://localhost').tasks.$get();
if (answer.status === 401) (await answer.json()).error satisfies string;
if (answer.status === 200) (await answer.json()).id satisfies number;

const fastify = Fastify();
fastify.addHook('onRequest', requireTokenInFastify(guard));
fastify.get('/messages', { onRequest: requireTokenInFastify(guard, { scope: 'read:messages' }) }, async (request) => {
  authOfFastify(request).claims.exp satisfies number;
  // @ts-expect-error: without a token there are no claims
  authOfFastify<Claims | undefined>(request).claims.exp;
});
fastify.get('/all', { onRequest: [requireTokenInFastify(guard), requireTokenInFastify(guard)] }, async () => {});
Fastify({ http2: true }).addHook('onRequest', requireTokenInFastify(guard));

polka().use(requireToken(guard), serveMetadata(guard));
new Koa().use(({ req, res }) => checkIncoming(guard, req, res));

declare const flag: boolean;
requireToken(guard, { optional: flag });
requireTokenInHono(guard, { optional: flag });
const converting = createGuard({ ...options, claims: z.object({ sub: z.coerce.number() }) });
new Hono().get('/', requireTokenInHono(converting), (c) => c.json(authOfHono(c).claims.sub satisfies number));
app.use(requireToken(converting), serveMetadata(converting));
fastify.addHook('onRequest', requireTokenInFastify(converting));

for (const guarding of [requireToken, requireTokenInHono, requireTokenInFastify]) {
  // @ts-expect-error: a misspelt requirement would require nothing
  guarding(guard, { scopes: 'read:messages' });
  // @ts-expect-error: the options of a guard are not a guard
  guarding(options);
  // @ts-expect-error: nothing is not a guard
  guarding();
}
// @ts-expect-error: it returns middleware, and is none itself
app.use(requireToken);
// @ts-expect-error: it returns middleware, and is none itself
app.use(serveMetadata);
// @ts-expect-error: it returns middleware, and is none itself
hono.use(requireTokenInHono);
// @ts-expect-error: it returns a hook, and is none itself
fastify.addHook('onRequest', requireTokenInFastify);
