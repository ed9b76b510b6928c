import { Elysia, t } from 'elysia';
import { Hono } from 'hono';
import { describeRejections, optionsFromEnvironment, securitySchemes } from 'protected-api';
import {
  type Claims,
  createGuard,
  guardResponses,
  type RequirementContext,
  resourceMetadata,
  resourceServer,
  scopeResponses,
} from 'protected-api/elysia';
import { requireToken as requireTokenInFastify } from 'protected-api/fastify';
import { requireToken as requireTokenInHono } from 'protected-api/hono';
import { requireToken, serveMetadata } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { z } from 'zod';

/** What packages of a monorepo export, with a declaration of each. The compiler must be able to name every type. */
const options = { issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' };
export const environment = optionsFromEnvironment({});
export const guard = createGuard({ ...options, claims: z.object({ tenant: z.string() }) });
export const logged = { ...guard, isLogged: true };
export const formatted = createGuard({ ...options, formatRejection: ({ status }) => ({ status, body: { status } }) });
export const issuer = await createTestIssuer();
export const result = await guard.check(new Request(options.audience), { optional: true });
export const described = { rejections: describeRejections(options), schemes: securitySchemes(options) };
export const responses = { 200: t.String(), ...guardResponses, ...scopeResponses };
export const plugins = { auth: resourceServer(guard), optional: resourceServer(guard, { optional: true }) };
export const create = () => new Elysia().use(resourceServer(guard, { responses: false })).get('/', () => 'ok');

type Order = RequirementContext<Claims & { tenant: string }> & { body: { tenant: string } };
export const app = new Elysia()
  .use(plugins.auth)
  .use(resourceMetadata({ ...options, publicUrl: options.audience }))
  .get('/me', ({ claims }) => claims.tenant)
  .get('/messages', () => 'ok', { scope: 'read:messages', acr: 'high', maxAge: 60, response: responses })
  .post('/orders', ({ body }) => body.tenant.length, {
    body: t.Object({ tenant: t.String() }),
    authorize: ({ claims, body }: Order) => claims.tenant === body.tenant,
  });
export const grouped = new Elysia()
  .use(plugins.optional)
  .group('/api', (api) => api.get('/me', ({ claims }) => claims));
export const problems = new Elysia().use(resourceServer(formatted)).get('/', () => 'ok', { scope: 'a' });
export const configured = new Elysia().use(resourceServer(environment)).get('/', ({ claims }) => claims.iss);
export const hono = new Hono().get('/', requireTokenInHono(guard), (c) => c.text('ok'));
export const handlers = [requireTokenInFastify(guard), requireToken(guard), serveMetadata(guard)];
