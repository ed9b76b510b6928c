import 'reflect-metadata';
import { describe, expect, test } from 'bun:test';
import type { ExecutionContext } from '@nestjs/common';
import { Elysia } from 'elysia';
import { Hono } from 'hono';
import { createMocks } from 'node-mocks-http';
import { type CheckRequirements, createGuard, type GuardOptions, optionsFromEnvironment } from 'protected-api';
import { resourceServer } from 'protected-api/elysia';
import * as forFastify from 'protected-api/fastify';
import * as forHono from 'protected-api/hono';
import { type McpOptions, protectMcp, requireMcp } from 'protected-api/mcp';
import { tokenGuard } from 'protected-api/nestjs';
import { checkIncoming, type Middleware, requireToken } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { isAccepted } from '../../../src/auth/guard/decision.ts';
import { isConstant } from '../../../src/auth/guard/requirements.ts';
import { preparedGuard } from '../../../src/auth/guard/route-check.ts';
import { optionRules } from '../../../src/auth/options/rules.ts';
import { bearer } from '../../support/mint.ts';
import { isNight } from '../../support/node-versions.ts';

/** What is accepted is recognized by a mark: at no door by a name that data can have, or by what it is not. */

const publicUrl = 'https://api.example.test';
const issuer = await createTestIssuer({ issuer: 'https://issuer.example.test/', audience: publicUrl });
const options: GuardOptions = { ...issuer.options, publicUrl, resource: `${publicUrl}/mcp` };
const scoped = { scope: 'read:messages' };
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read', arguments: {} } });

/** Made before anything is changed, because platforms read the members of their own arguments by name. */
const requestFor = (headers: Record<string, string>) => {
  const init = { method: 'POST', headers: { host: 'api.example.test', ...headers } };
  const { req, res } = createMocks({ ...init, url: '/mcp', body: JSON.parse(body) } as never);
  return {
    web: new Request(`${publicUrl}/mcp`, { ...init, body }),
    req: Object.assign(req, { readableEnded: true }),
    res,
  };
};
type Sent = ReturnType<typeof requestFor>;
/** Sets a door up, and returns a function that says whether a request gets through it. */
type Door = (required: CheckRequirements) => (sent: Sent) => unknown;

const middleware =
  (setUp: (required: CheckRequirements) => Middleware): Door =>
  (required) => {
    const use = setUp(required);
    return ({ req, res }) =>
      new Promise((resolve) => {
        res.end = (() => resolve(false)) as never;
        use(req as never, res as never, (error) => resolve(error === undefined));
      });
  };

const mcp = ({ scope }: CheckRequirements): McpOptions => (scope === undefined ? {} : { tools: { read: scope } });
const doors: Readonly<Record<string, Door>> = {
  'check()': (required) => {
    const guard = createGuard(options);
    return async ({ web }) => !((await guard.check(web, required)) instanceof Response);
  },
  'requireToken()': (required) => {
    const guard = createGuard(options);
    return async ({ web }) => Boolean(await guard.requireToken(web, required));
  },
  Express: middleware((required) => requireToken(createGuard(options), required)),
  'Express, thrown': middleware((required) => requireToken(createGuard(options), required, { rejection: 'throw' })),
  'checkIncoming()': (required) => {
    const guard = createGuard(options);
    return async ({ req, res }) => (await checkIncoming(guard, req as never, res as never, required)) !== undefined;
  },
  Fastify: (required) => {
    const onRequest = forFastify.requireToken(createGuard(options), required);
    return async ({ req }) => {
      let isSent = false;
      const send = () => {
        isSent = true;
      };
      const reply = { code() {}, getHeaders: () => ({}), removeHeader() {}, header() {}, send };
      await onRequest({ raw: req as never }, reply);
      return !isSent;
    };
  },
  Hono: (required) => {
    let isOpen = false;
    const app = new Hono().post('/mcp', forHono.requireToken(createGuard(options), required), (c) => {
      isOpen = true;
      return c.text('open');
    });
    app.onError((error) => {
      throw error;
    });
    return async ({ web }) => {
      await app.fetch(web);
      return isOpen;
    };
  },
  Elysia: (required) => {
    let isOpen = false;
    const app = new Elysia().use(resourceServer(options as never)).post(
      '/mcp',
      () => {
        isOpen = true;
        return 'open';
      },
      required as object,
    );
    return async ({ web }) => {
      await app.handle(web);
      return isOpen;
    };
  },
  NestJS: (required) => {
    const made = tokenGuard(createGuard(options), required) as unknown;
    const guard = (typeof made === 'function' ? new (made as new () => object)() : made) as ReturnType<
      typeof tokenGuard
    >;
    return ({ req, res }) =>
      (guard as unknown as { canActivate(context: unknown): unknown }).canActivate({
        getType: () => 'http',
        getClass: () => class {},
        getHandler: () => () => {},
        switchToHttp: () => ({ getRequest: () => req, getResponse: () => res }),
      } satisfies Partial<Record<keyof ExecutionContext, unknown>>);
  },
  'protectMcp()': (required) => {
    let isOpen = false;
    const fetch = protectMcp(createGuard(options), mcp(required), () => {
      isOpen = true;
      return new Response('open');
    });
    return async ({ web }) => {
      await fetch(web);
      return isOpen;
    };
  },
  'requireMcp()': middleware((required) => requireMcp(createGuard(options), mcp(required))),
};

/** What a route requires, and the headers of a request. */
type Try = readonly [required: CheckRequirements, headers: Record<string, string>];
const accepted: Try = [scoped, bearer(await issuer.token(scoped))];
const rejected: readonly Try[] = [
  [scoped, {}],
  [scoped, bearer(await issuer.token())],
  [{}, {}],
];

/** Whether a request gets through. An error, of a framework too, does not let it through. */
async function isOpen(door: Door, [required, headers]: Try, change: () => () => void): Promise<unknown> {
  const sent = requestFor(headers);
  const restore = change();
  try {
    return await door(required)(sent);
  } catch {
    return false;
  } finally {
    restore();
  }
}

const nothing = () => () => {};

/** Gives every object a member, as a fault of another library does, and returns what takes it away. */
function pollute(name: string, value: unknown): () => void {
  Object.defineProperty(Object.prototype, name, { value, configurable: true, enumerable: true, writable: true });
  return () => void Reflect.deleteProperty(Object.prototype, name);
}

describe.each(Object.entries(doors).map((entry, place) => [...entry, place] as const))('%s', (name, door, place) => {
  test('lets only the right token through', async () => {
    expect(await isOpen(door, accepted, nothing)).toBe(true);
    for (const each of rejected) expect(await isOpen(door, each, nothing)).toBe(false);
  });

  /** What options, requirements, settings and results have, and what some of them once had. */
  const names = new Set([
    ...Object.keys(optionRules),
    ...['scope', 'acr', 'maxAge', 'optional', 'anyOf', 'responses', 'rejection', 'given', 'isOptional', 'isEmpty'],
    ...['tools', 'publicTools', 'origins', 'hosts', 'sessions', 'maxBodyBytes', 'scopes', 'resourceName'],
    ...['claims', 'token', 'clientId', 'dpopNonce', 'ownClaims', 'auth', 'authInfo', 'message', 'messages', 'settle'],
    ...['reason', 'isJson', 'contentType', 'description', 'active', 'challenge', 'accepted', 'isAccepted', 'check'],
    ...['iss', 'aud', 'exp', 'sub', 'kid', 'alg', 'cnf', 'fallback', 'read', 'introspected', 'policy', 'error'],
  ]);

  // By day, each name at every fourth door.
  const tried = [...names].filter((_, index) => isNight || (index + place) % 4 === 0);
  test.each(tried)('lets nobody through if every object has a member %s', async (member) => {
    for (const value of isNight
      ? [true, ['read:messages'], () => ({}), 'read:messages', {}, 0]
      : [true, ['read:messages']]) {
      for (const each of rejected)
        expect(await isOpen(door, each, () => pollute(member, value)), `${member} is ${String(value)}`).not.toBe(true);
    }
  });

  // For `check`, applications are told to use `requireToken` where something wraps the global.
  const { Response: Real } = globalThis;
  const wrapped: Readonly<Record<string, unknown>> = {
    'a function': (...given: ConstructorParameters<typeof Response>) => new Real(...given),
    'a class that extends it': class extends Real {},
    'a class of its own': class {
      constructor(...given: ConstructorParameters<typeof Response>) {
        // biome-ignore lint/correctness/noConstructorReturn: what instrumentation does.
        return new Real(...given);
      }
    },
    'a Proxy': new Proxy(Real, { getPrototypeOf: () => null }),
    'a bound function': Real.bind(undefined),
    'a class whose instances are nothing': class extends Real {
      static override [Symbol.hasInstance]() {
        return false;
      }
    },
    'a class of which everything is an instance': class extends Real {
      static override [Symbol.hasInstance]() {
        return true;
      }
    },
  };
  test.if(name !== 'check()').each(Object.entries(wrapped))('decides alike if Response is %s', async (_, Wrapped) => {
    const replace = () => {
      Object.assign(globalThis, { Response: Wrapped });
      return () => void Object.assign(globalThis, { Response: Real });
    };
    for (const each of rejected) expect(await isOpen(door, each, replace)).toBe(false);
    if (['requireToken()', 'Express', 'checkIncoming()', 'Fastify', 'NestJS'].includes(name))
      expect(await isOpen(door, accepted, replace)).toBe(true);
  });
});

describe('requirements are read once', () => {
  const perCall = ['check()', 'requireToken()', 'checkIncoming()'];
  const setUp = Object.entries(doors).filter(([name]) => !perCall.includes(name));

  test.each(setUp)('where a route is set up: %s', async (name, door) => {
    let reads = 0;
    const scope = ['read:messages'];
    const required: { scope?: readonly string[]; optional?: boolean } = {
      get scope() {
        reads += 1;
        return scope;
      },
    };
    const send = door(required);
    const atSetUp = reads;
    for (const change of [
      () => scope.pop(),
      () => Object.assign(required, { optional: true }),
      () => delete required.scope,
    ]) {
      change();
      expect(await Promise.resolve(send(requestFor({}))).catch(() => false)).not.toBe(true);
      const withoutScope = requestFor(bearer(await issuer.token()));
      expect(await Promise.resolve(send(withoutScope)).catch(() => false)).not.toBe(true);
    }
    // Elysia reads the options of a route itself.
    if (name !== 'Elysia') expect([atSetUp, reads]).toEqual([1, 1]);
  });

  test.each<[string, boolean, () => CheckRequirements]>([
    ['frozen with its lists', true, () => Object.freeze({ scope: Object.freeze(['a']) })],
    ['frozen, with a word', true, () => Object.freeze({ scope: 'a' })],
    ['frozen with anyOf', true, () => Object.freeze({ scope: Object.freeze({ anyOf: Object.freeze(['a']) }) })],
    ['frozen, without its list', false, () => Object.freeze({ scope: ['a'] })],
    ['frozen, without the list of anyOf', false, () => Object.freeze({ scope: Object.freeze({ anyOf: ['a'] }) })],
    ['not frozen', false, () => ({ scope: 'a' })],
    ['frozen with a getter', false, () => Object.freeze(Object.defineProperty({}, 'scope', { get: () => 'a' }))],
    ['frozen, with an inherited member', false, () => Object.freeze(Object.create({ scope: 'a' }))],
  ])('and remembered by check, if none of it can change: %s', (_, isRemembered, create) => {
    const required = create();
    expect(isConstant(required)).toBe(isRemembered);
  });

  test('a frozen object costs check nothing after the first call, and any other is read at each call', async () => {
    const { prepare } = preparedGuard(createGuard(options));
    const { web } = requestFor(bearer(await issuer.token()));
    const frozen = Object.freeze({ scope: 'a' });
    const first = await prepare(frozen)(web);
    expect(await prepare(frozen)(web)).toBe(first);
    const changed: { scope?: string } = { scope: 'a' };
    expect(isAccepted(await prepare(changed)(web))).toBe(false);
    delete changed.scope;
    expect(isAccepted(await prepare(changed)(web))).toBe(true);
  });
});

describe('what every object has counts nowhere', () => {
  test.each(Object.keys(optionRules))('as the option %s, or as its setting', (name) => {
    const setting = name.replace(/[A-Z]/g, '_$&').toUpperCase();
    const environment = { ISSUER: 'https://issuer.example.test/', AUDIENCE: 'a' };
    const read = () => [createGuard(options).state(), optionsFromEnvironment(environment)];
    const expected = JSON.stringify(read());
    for (const member of [name, setting]) {
      const restore = pollute(member, 'https://other.example.test/');
      try {
        expect(JSON.stringify(read())).toBe(expected);
      } finally {
        restore();
      }
    }
  });
});
