import { afterAll, describe, expect, test } from 'bun:test';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createRequire } from 'node:module';
import fastifyAuth from '@fastify/auth';
import { initTRPC } from '@trpc/server';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';
import connect from 'connect';
import express, { type ErrorRequestHandler } from 'express';
import fastify, { type FastifyRequest } from 'fastify';
import { H3 } from 'h3';
import { type Context, Hono } from 'hono';
import { some } from 'hono/combine';
import Koa from 'koa';
import { createGuard, RejectionError } from 'protected-api';
import * as forFastify from 'protected-api/fastify';
import * as forHono from 'protected-api/hono';
import { checkIncoming, type Middleware, requireToken } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { bearer } from '../../support/mint.ts';
import { dpopNonceSecret, nonceOf } from '../../support/nonce.ts';
import { listen } from '../../support/raw-http.ts';

const issuer = await createTestIssuer();
const reasons: string[] = [];
const scope = 'read:messages';
const guard = createGuard({ ...issuer.options, onRejected: (_, reason) => reasons.push(reason) });
const thrown = { rejection: 'throw' } as const;
const token = await issuer.token({ sub: 'ada', scope });
const plain = await issuer.token();

describe('createGuard().requireToken()', () => {
  const request = (headers = {}) => new Request('http://localhost/messages', { headers });
  const rejected = (given = guard, headers = {}) =>
    given.requireToken(request(headers), { scope }).then(
      () => undefined,
      (error: unknown) => error,
    );

  test('resolves to what check() returns', async () => {
    const accepted = await guard.requireToken(request(bearer(token)), { scope });
    expect(accepted).toEqual((await guard.check(request(bearer(token)), { scope })) as typeof accepted);
    expect(accepted.claims.sub).toBe('ada');
    expect((await guard.requireToken(request(), { optional: true })).claims).toBeUndefined();
  });

  test('rejects with a RejectionError, which has the whole rejection', async () => {
    reasons.length = 0;
    const error = (await rejected(guard, bearer(plain))) as RejectionError;
    const rejection = (await guard.check(request(bearer(plain)), { scope })) as Response;
    expect(error).toBeInstanceOf(Error);
    expect(error).toBeInstanceOf(RejectionError);
    const message = 'Token does not have the scope that this resource requires';
    expect(error).toMatchObject({
      name: 'RejectionError',
      message,
      reason: 'scope_insufficient',
      error: 'insufficient_scope',
      description: message,
      status: 403,
      statusCode: 403,
      expose: true,
      extensions: { code: 'FORBIDDEN' },
      headers: Object.fromEntries(rejection.headers),
      body: { error: 'insufficient_scope', error_description: message },
    });
    expect(reasons).toEqual(['scope_insufficient', 'scope_insufficient']);
    const text = await rejection.text();
    for (const response of [error.response, error.getResponse(), error.getResponse()]) {
      expect(response.status).toBe(403);
      expect(Object.fromEntries(response.headers)).toEqual(Object.fromEntries(rejection.headers));
      expect(await response.text()).toBe(text);
    }
    expect(JSON.stringify(error) + error.stack).not.toContain(plain);
  });

  test.each([
    ['an object', { body: { code: 1 }, status: 422, contentType: 'application/problem+json' }, { code: 1 }],
    ['text', { status: 401, body: '<p>No</p>', contentType: 'text/html' }, '<p>No</p>'],
    ['text that is said to be JSON', { status: 401, body: 'no', contentType: 'application/json' }, 'no'],
  ])('has the body of formatRejection: %s', async (_, format, body) => {
    const formatted = createGuard({ ...issuer.options, formatRejection: () => format });
    const error = (await rejected(formatted)) as RejectionError;
    expect(error).toMatchObject({ body, status: format.status, reason: 'credentials_missing' });
    expect([error.error, error.description]).toEqual(['missing_token', 'Authorization header is expected']);
    expect(error.headers['content-type']).toBe(format.contentType);
  });

  test('rejects with the error of a callback as it is', async () => {
    const fault = new Error('A fault of the application');
    const faulty = createGuard({
      ...issuer.options,
      onAccepted() {
        throw fault;
      },
    });
    expect(await rejected(faulty, bearer(token))).toBe(fault);
  });
});

const context: Context = await new Promise((resolve) => {
  const app = new Hono().get('/', (c) => {
    resolve(c);
    return c.text('');
  });
  void app.request('/');
});

describe('check() and requireToken() say what to pass instead of', () => {
  const request = new Request('http://localhost/');
  const incoming = { headers: {}, rawHeaders: [], method: 'GET', url: '/' };

  test.each([
    ['an event of SvelteKit', { request, url: new URL(request.url) }, 'event.request'],
    ['a context of Astro or Elysia', { request, url: new URL(request.url), headers: {} }, 'context.request'],
    ['an event of h3 2', { req: request, url: new URL(request.url), headers: request.headers }, 'event.req'],
    ['an event of h3 1', { node: { req: incoming, res: {} }, method: 'GET', path: '/' }, 'getRequestURL(event).href'],
    ['a context of Hono', context, 'c.req.raw'],
    ['the request of a context of Hono', context.req, 'c.req.raw'],
    ['a request of Node.js', incoming, 'protected-api/node'],
    ['nothing', undefined, 'protected-api/node'],
  ])('%s', async (_, given, said) => {
    const text = new RegExp(`^Cannot check a request: .*${said.replaceAll(/[.()]/g, '\\$&')}`);
    for (const decide of [guard.check, guard.requireToken])
      await expect(decide(given as unknown as Request)).rejects.toThrow(text);
  });
});

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});
async function started(listener: RequestListener | Server) {
  const server = typeof listener === 'function' ? createServer(listener) : listener;
  servers.push(server);
  return `http://127.0.0.1:${await listen(server)}`;
}

/** What an application makes of an error: one format for all of them. */
const formatted = (error: unknown) => {
  const { status, body } = error as RejectionError;
  return { status, failure: Object(body).error };
};

interface Served {
  use(middleware: Middleware): Served;
  use(handler: ErrorRequestHandler): Served;
}
const express4: typeof express = createRequire(import.meta.url)('express-4');

function withMiddleware(app: Served): RequestListener {
  const onError: ErrorRequestHandler = (error, _request, response, _next) => {
    const { headers, status } = error as RejectionError;
    response.writeHead(status, headers).end(JSON.stringify(formatted(error)));
  };
  app
    .use(requireToken(guard, { scope }, thrown))
    .use((_, response) => void response.end('handled'))
    .use(onError);
  return app as unknown as RequestListener;
}

async function withFastify(): Promise<Server> {
  const app = fastify()
    .setErrorHandler((error, _, reply) => {
      const { headers, status } = error as RejectionError;
      return reply.code(status).headers(headers).send(formatted(error));
    })
    .get('/', { onRequest: forFastify.requireToken(guard, { scope }, thrown) }, async () => 'handled');
  await app.ready();
  return app.server;
}

const honoFormat = new Hono()
  .use(forHono.requireToken(guard, { scope }, thrown))
  .get('/', (c) => c.text('handled'))
  .onError((error, c) => {
    const { headers, status } = error as RejectionError;
    return c.json(formatted(error), { status, headers } as ResponseInit as { status: 401 });
  });

const koaFormat = new Koa()
  .use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const { headers, status } = error as RejectionError;
      ctx.status = status;
      ctx.set({ ...headers });
      ctx.body = formatted(error);
    }
    // Fails once a response was sent past Koa.
    ctx.cookies.set('seen', 'yes');
  })
  .use(async (ctx, next) => {
    await checkIncoming(guard, ctx.req, undefined, { scope });
    await next();
  })
  .use((ctx) => {
    ctx.body = 'handled';
  });

type Send = (headers: Record<string, string>) => Response | Promise<Response>;
const overHttp = (create: () => RequestListener | Server | Promise<Server>): Promise<Send> =>
  Promise.resolve(create())
    .then(started)
    .then((url) => (headers) => fetch(url, { headers }));

const formats: readonly (readonly [name: string, send: Send])[] = [
  ['Express 5', await overHttp(() => withMiddleware(express() as unknown as Served))],
  ['Express 4', await overHttp(() => withMiddleware(express4() as unknown as Served))],
  ['Connect', await overHttp(() => withMiddleware(connect() as unknown as Served))],
  ['Fastify', await overHttp(withFastify)],
  ['Hono', (headers) => honoFormat.request('/', { headers })],
  ['Koa', await overHttp(() => koaFormat.callback())],
];

describe.each(formats)('in %s, one error handler', (_, send) => {
  test.each([
    ['no token', {}, 401, 'missing_token', `Bearer scope="${scope}"`],
    ['no scope', bearer(plain), 403, 'insufficient_scope', 'error="insufficient_scope"'],
  ])('formats the rejection of %s', async (_, headers, status, failure, challenge) => {
    const response = await send(headers);
    expect(response.status).toBe(status);
    expect(response.headers.get('www-authenticate')).toContain(challenge);
    expect(await response.json()).toEqual({ status, failure });
  });

  test('is not called for a request that is accepted', async () =>
    expect(await (await send(bearer(token))).text()).toBe('handled'));
});

/** Without an error handler of the application. */
const defaults: readonly (readonly [name: string, send: Send])[] = [
  [
    'Express',
    await overHttp(() =>
      express()
        .disable('x-powered-by')
        .set('env', 'test')
        .use(requireToken(guard, {}, thrown)),
    ),
  ],
  [
    'Fastify',
    await overHttp(async () => {
      const app = fastify().get('/', { onRequest: forFastify.requireToken(guard, {}, thrown) }, async () => 'handled');
      await app.ready();
      return app.server;
    }),
  ],
  ['Hono', (headers) => new Hono().use(forHono.requireToken(guard, {}, thrown)).request('/', { headers })],
  ['Koa', await overHttp(() => new Koa().use(async ({ req }) => void (await checkIncoming(guard, req))).callback())],
];

test.each(defaults)(
  '%s responds to a thrown rejection with its status and its challenge by itself',
  async (_, send) => {
    const response = await send(bearer('x'));
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
  },
);

test('in Express, an accepted request gets the next nonce of DPoP too', async () => {
  const publicUrl = 'https://api.example.test';
  const withNonces = createGuard({ ...issuer.options, dpop: 'on', publicUrl, dpopNonceSecret });
  const app = express().use(requireToken(withNonces, {}, thrown), (_, response) => void response.end('handled'));
  const bound = await issuer.token({}, { boundTo: 'dpop' });
  const dpop = await issuer.proof({ method: 'GET', url: `${publicUrl}/` }, bound, { nonce: nonceOf(31_000) });
  const response = await fetch(await started(app), { headers: { authorization: `DPoP ${bound}`, dpop } });
  expect([response.status, response.headers.has('dpop-nonce')]).toEqual([200, true]);
});

describe('@fastify/auth with "or"', () => {
  test.each([
    ['a good API key', { 'x-api-key': 'key' }, 200],
    ['a good token', bearer(token), 200],
    ['neither', {}, 401],
  ])('accepts what one of two ways accepts: %s', async (_, headers, status) => {
    const app = fastify();
    await app.register(fastifyAuth);
    const apiKey = async (request: FastifyRequest) => {
      if (request.headers['x-api-key'] !== 'key') throw Object.assign(new Error('No key'), { statusCode: 401 });
    };
    const token = forFastify.requireToken(guard, {}, thrown);
    app.get('/', { onRequest: app.auth([token, apiKey], { relation: 'or' }) }, async () => 'handled');
    expect((await app.inject({ url: '/', headers })).statusCode).toBe(status);
  });
});

describe('in h3, a thrown rejection', () => {
  const app = new H3({ silent: true }).get(
    '/',
    async (event) => (await guard.requireToken(event.req, { scope })).claims.sub,
  );

  test.each([
    ['no token', {}, 401],
    ['no scope', bearer(plain), 403],
    ['a token', bearer(token), 200],
  ])('is the response: %s', async (_, headers, status) => {
    const response = await app.request('/', { headers });
    expect(response.status).toBe(status);
    if (status !== 200) expect(response.headers.get('www-authenticate')).toContain(scope);
  });
});

test('in tRPC, a rejection in createContext is an error, and the procedure does not run', async () => {
  let runs = 0;
  const { procedure, router } = initTRPC.context<{ sub: unknown }>().create();
  const appRouter = router({
    add: procedure.mutation(({ ctx }) => {
      runs += 1;
      return ctx.sub;
    }),
  });
  const handler = createHTTPHandler({
    router: appRouter,
    createContext: async ({ req }) => ({ sub: (await checkIncoming(guard, req)).claims.sub }),
  });
  const url = `${await started(handler)}/add`;
  const call = (headers: Record<string, string>) =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' });
  expect([(await call({})).ok, runs]).toEqual([false, 0]);
  expect([(await call(bearer(token))).ok, runs]).toEqual([true, 1]);
});

test('in tRPC, a rejected subscription gets an event with the error, and does not run', async () => {
  let runs = 0;
  const { procedure, router } = initTRPC.context<{ req: IncomingMessage }>().create();
  const guarded = procedure.use(async ({ ctx, next }) => {
    await checkIncoming(guard, ctx.req, undefined, { scope });
    return next();
  });
  const ticks = guarded.subscription(async function* () {
    runs += 1;
    yield 'tick';
  });
  const handler = createHTTPHandler({ router: router({ ticks }), createContext: ({ req }) => ({ req }) });
  const url = `${await started(handler)}/ticks`;
  const subscribe = async (headers: Record<string, string>) =>
    (await fetch(url, { headers: { accept: 'text/event-stream', ...headers } })).text();
  expect([await subscribe({}), runs]).toEqual([expect.stringContaining('event: serialized-error'), 0]);
  expect([await subscribe(bearer(token)), runs]).toEqual([expect.stringContaining('data: "tick"'), 1]);
});

test('in Hono, some() tries the next way if a rejection is thrown', async () => {
  const apiKey = new Hono()
    .use(
      some(forHono.requireToken(guard, {}, thrown), async (c, next) => {
        if (c.req.header('x-api-key') !== 'key') throw new Error('No key');
        await next();
      }),
    )
    .get('/', (c) => c.text('handled'))
    .onError((error, c) => c.text(error.message, 401));
  const statuses = [{ 'x-api-key': 'key' }, bearer(token), bearer('x')].map((headers) =>
    apiKey.request('/', { headers }),
  );
  expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([200, 200, 401]);
});

describe.each([
  ['node', requireToken],
  ['fastify', forFastify.requireToken],
  ['hono', forHono.requireToken],
])('requireToken() of protected-api/%s', (_, guarding) => {
  test.each([
    ['another word', { rejection: 'thrown' }],
    ['another name', { rejections: 'throw' }],
    ['a word alone', 'throw'],
    ['null', null],
  ])('throws a TypeError for %s as its third argument', (_, given) =>
    expect(() => guarding(guard, {}, given as never)).toThrow("{ rejection: 'throw' }"),
  );
});
