import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type Server } from 'node:http';
import { Elysia } from 'elysia';
import express from 'express';
import fastify, { type FastifyInstance } from 'fastify';
import { Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { type CheckRequirements, createGuard } from 'protected-api';
import { resourceServer } from 'protected-api/elysia';
import * as forFastify from 'protected-api/fastify';
import * as forHono from 'protected-api/hono';
import * as forNode from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { bearer } from '../../support/mint.ts';
import { listen } from '../../support/raw-http.ts';

/* In these frameworks, nothing opens a guard, so the strictest that is bound to a route wins: NestJS has marks too. */

const issuer = await createTestIssuer();
const stranger = await createTestIssuer({ issuer: 'https://stranger.invalid/' });
const guard = createGuard(issuer.options);
const tokens = {
  'no token': {},
  garbage: bearer('garbage'),
  'another issuer': bearer(await stranger.token({ scope: 'admin' })),
  'no scope': bearer(await issuer.token({ scope: 'other' })),
  'the scope': bearer(await issuer.token({ scope: 'admin' })),
};
type Token = keyof typeof tokens;

/** What is bound at a place, from nothing to the strictest. */
const bound = ['nothing', 'optional', 'any token', 'a scope'] as const;
type Bound = (typeof bound)[number];
const requirements: Readonly<Record<Exclude<Bound, 'nothing'>, CheckRequirements>> = {
  optional: { optional: true },
  'any token': {},
  'a scope': { scope: 'admin' },
};
const pairs = bound.flatMap((application) => bound.map((route) => [application, route] as const));
const pathOf = (application: Bound, route: Bound) => `/${application}/${route}`.replaceAll(' ', '-');

/** Written out, so that it does not depend on how guards are combined. */
function expected(application: Bound, route: Bound, token: Token): number {
  const both = [application, route];
  if (both.every((each) => each === 'nothing')) return 200;
  if (token === 'garbage' || token === 'another issuer') return 401;
  if (token === 'no token') return both.some((each) => each === 'any token' || each === 'a scope') ? 401 : 200;
  return token === 'no scope' && both.includes('a scope') ? 403 : 200;
}

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});
async function onNode(server: Server): Promise<Send> {
  servers.push(server);
  const origin = `http://127.0.0.1:${await listen(server)}`;
  return (path, headers) => fetch(origin + path, { headers });
}
type Send = (path: string, headers: Record<string, string>) => Promise<Response> | Response;

const frameworks: Readonly<Record<string, () => Promise<Send>>> = {
  async Express() {
    const app = express();
    const middleware = (each: Bound) => (each === 'nothing' ? [] : [forNode.requireToken(guard, requirements[each])]);
    for (const [application, route] of pairs) {
      const own = express.Router();
      own.use(...middleware(application), (_request, _response, next) => next());
      own.get(`/${route.replaceAll(' ', '-')}`, ...middleware(route), (_, response) => void response.send('handled'));
      app.use(`/${application.replaceAll(' ', '-')}`, own);
    }
    return onNode(createServer(app));
  },
  async Fastify() {
    const app: FastifyInstance = fastify();
    for (const [application, route] of pairs)
      app.register(async (own) => {
        if (application !== 'nothing')
          own.addHook('onRequest', forFastify.requireToken(guard, requirements[application]));
        const onRequest = route === 'nothing' ? [] : [forFastify.requireToken(guard, requirements[route])];
        own.get(pathOf(application, route), { onRequest }, async () => 'handled');
      });
    return async (url, headers) => {
      const { statusCode, body } = await app.inject({ url, headers });
      return new Response(body, { status: statusCode });
    };
  },
  async Hono() {
    const app = new Hono();
    for (const [application, route] of pairs) {
      const path = pathOf(application, route);
      if (application !== 'nothing') app.use(path, forHono.requireToken(guard, requirements[application]));
      const own = route === 'nothing' ? [] : [forHono.requireToken(guard, requirements[route])];
      app.on('GET', [path], ...own, (c) => c.text('handled'));
    }
    return (path, headers) => app.request(path, { headers });
  },
  async Elysia() {
    const pluginOf = (each: Bound) => {
      if (each === 'nothing') return new Elysia();
      return resourceServer(guard, each === 'optional' ? { optional: true } : {});
    };
    const scopeOf = (each: Bound): object => (each === 'a scope' ? { scope: 'admin' } : {});
    const app = new Elysia();
    for (const [application, route] of pairs) {
      // Without a guard, Elysia has no option `scope`.
      const own = new Elysia().use(pluginOf(route)).get(pathOf(application, route), () => 'handled', scopeOf(route));
      app.use(
        new Elysia().use(pluginOf(application)).guard(scopeOf(application), (outer) => outer.use(own) as typeof outer),
      );
    }
    return (path, headers) => app.handle(new Request(`http://localhost${path}`, { headers }));
  },
};

describe.each(Object.keys(frameworks))('%s, with guards of an application and of a route', (name) => {
  let send: Send;
  beforeAll(async () => {
    send = (await frameworks[name]?.()) as Send;
  });

  test.each(pairs)('%s and %s: the strictest wins', async (application, route) => {
    for (const [token, headers] of Object.entries(tokens) as [Token, Record<string, string>][]) {
      const response = await send(pathOf(application, route), headers);
      const status = expected(application, route, token);
      expect([token, response.status, (await response.text()) === 'handled']).toEqual([token, status, status === 200]);
    }
  });
});

const publicUrl = 'https://api.example.test';
const proving = createGuard({ ...issuer.options, dpop: 'on', publicUrl });
const boundToken = await issuer.token({ sub: 'ada' }, { boundTo: 'dpop' });
const replace = (change: Record<string, string>): MiddlewareHandler => {
  return (c, next) => {
    c.req.raw = new Request(c.req.raw, { headers: { ...c.req.header(), ...change } });
    return next();
  };
};

// The limit replaces a request whose body has no length by a copy.
test.each<[string, MiddlewareHandler, number]>([
  ['a limit of the body', bodyLimit({ maxSize: 1024 }), 200],
  ['a copy of the request', replace({}), 200],
  ['a request with another token', replace(bearer('garbage')), 401],
])('between two guards of Hono, %s', async (_, between, status) => {
  const guarding = forHono.requireToken(proving);
  const app = new Hono().use(guarding, between).post('/', guarding, async (c) => c.text(await c.req.text()));
  const dpop = await issuer.proof({ method: 'POST', url: `${publicUrl}/` }, boundToken);
  const headers = { authorization: `DPoP ${boundToken}`, dpop };
  const send = () => app.request('/', { method: 'POST', body: 'tea', headers });
  const response = await send();
  expect([response.status, (await response.text()) === 'tea']).toEqual([status, status === 200]);
  expect((await send()).status).toBe(401);
});
