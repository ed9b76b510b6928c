import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { ServerResponse } from 'node:http';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  type INestApplication,
  Module,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { createMocks } from 'node-mocks-http';
import { createGuard } from 'protected-api';
import { Auth, type Authentication, Public, RequireToken, tokenGuard } from 'protected-api/nestjs';
import { createTestIssuer } from 'protected-api/testing';
import { bearer } from '../../support/mint.ts';
import { dpopNonceSecret, nonceOf } from '../../support/nonce.ts';

const issuer = await createTestIssuer();
const guard = createGuard({ ...issuer.options, dpop: 'on', publicUrl: 'https://api.example.test' });
const tokenWith = (scope = '') => issuer.token({ sub: 'ada', scope });

/** Starts an application with these controllers before the tests, and returns a function that sends a GET. */
function started(
  controllers: NonNullable<Parameters<typeof Module>[0]['controllers']>,
  ...global: Type<CanActivate>[]
) {
  let app: INestApplication | undefined;
  let url = '';
  beforeAll(async () => {
    @Module({ controllers, providers: global.map((useClass) => ({ provide: APP_GUARD, useClass })) })
    class Application {}
    const cors = { origin: ['https://app.example.test'], exposedHeaders: ['WWW-Authenticate'] };
    app = await NestFactory.create(Application, { cors, logger: false });
    app.use((_: unknown, response: ServerResponse, next: () => void) => {
      response.setHeader('cache-control', 'public').setHeader('expires', 'Thu, 01 Jan 2037 00:00:00 GMT');
      next();
    });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });
  afterAll(() => app?.close());
  return (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers });
}

type Send = ReturnType<typeof started>;
/** A path, the scope of the token or nothing without one, the status, and what the challenge names. */
type Row = readonly [path: string, scope: string | undefined, status: number, named?: string];

function rowsOf(send: Send, rows: readonly Row[]) {
  for (const [path, scope, status, named] of rows)
    test(`${path} with ${scope === undefined ? 'no token' : `the scope "${scope}"`}: ${status}`, async () => {
      const response = await send(path, scope === undefined ? {} : bearer(await tokenWith(scope)));
      const said = status === 200 ? /^(ada|open)$/ : /error|statusCode/;
      expect([response.status, await response.text()]).toEqual([status, expect.stringMatching(said)]);
      const challenge = response.headers.get('www-authenticate');
      expect(/\bscope="([^"]*)"/.exec(challenge ?? '')?.[1], challenge ?? '').toBe(named);
    });
}

describe('tokenGuard() as APP_GUARD', () => {
  @Controller('messages')
  @RequireToken({ scope: 'read:messages' })
  class Messages {
    @Get()
    list(@Auth() { claims }: Authentication) {
      return claims.sub;
    }

    @Get('health')
    @Public()
    health(@Auth({ optional: true }) auth?: Authentication) {
      return auth ? 'error' : 'open';
    }

    @Get('all')
    @RequireToken({ scope: 'admin' })
    all() {
      return 'ada';
    }

    @Get('any')
    @RequireToken()
    any() {
      return 'ada';
    }

    @Get('news')
    @RequireToken({ optional: true })
    news(@Auth() auth: Authentication) {
      return auth.claims?.sub ?? 'open';
    }
  }

  @Controller('me')
  class Me {
    @Get()
    read() {
      return 'ada';
    }
  }

  @Controller('open')
  @Public()
  class Open {
    @Get()
    read() {
      return 'open';
    }

    @Get('closed')
    @RequireToken({ scope: 'admin' })
    closed() {
      return 'ada';
    }

    @Get('fault')
    fault(@Auth() _: Authentication) {
      return 'open';
    }
  }

  rowsOf(started([Messages, Me, Open], tokenGuard(guard)), [
    ['/messages', 'read:messages', 200],
    ['/messages', '', 403, 'read:messages'],
    ['/messages', undefined, 401, 'read:messages'],
    ['/messages/health', undefined, 200],
    ['/messages/all', 'admin', 200],
    ['/messages/all', 'read:messages', 403, 'admin'],
    ['/messages/any', '', 200],
    ['/messages/any', undefined, 401],
    ['/messages/news', undefined, 200],
    ['/messages/news', '', 200],
    ['/me', '', 200],
    ['/me', undefined, 401],
    ['/open', undefined, 200],
    ['/open/closed', undefined, 401, 'admin'],
    ['/open/closed', 'admin', 200],
    // @Auth() on a route that no guard has checked.
    ['/open/fault', 'admin', 500],
  ]);
});

describe('@RequireToken() adds to the requirements of tokenGuard()', () => {
  @Controller()
  class Messages {
    @Get('any')
    any() {
      return 'ada';
    }

    @Get('messages')
    @RequireToken({ scope: 'read:messages' })
    list() {
      return 'ada';
    }
  }

  rowsOf(started([Messages], tokenGuard(guard, { scope: 'api' })), [
    ['/any', 'api', 200],
    ['/any', 'read:messages', 403, 'api'],
    ['/messages', 'api read:messages', 200],
    ['/messages', 'read:messages', 403, 'api'],
    ['/messages', 'api', 403, 'read:messages'],
    ['/messages', undefined, 401, 'read:messages'],
  ]);
});

describe('tokenGuard() with an optional token', () => {
  @Controller()
  class News {
    @Get('news')
    news(@Auth() auth: Authentication) {
      return auth.claims?.sub ?? 'open';
    }

    @Get('any')
    @RequireToken()
    any() {
      return 'ada';
    }
  }

  rowsOf(started([News], tokenGuard(guard, { optional: true })), [
    ['/news', undefined, 200],
    ['/news', '', 200],
    ['/any', undefined, 401],
    ['/any', '', 200],
  ]);
});

describe('tokenGuard() in @UseGuards()', () => {
  @Controller()
  class Messages {
    @Get('open')
    open() {
      return 'open';
    }

    @Get('messages')
    @UseGuards(tokenGuard(guard, { scope: 'read:messages' }))
    list(@Auth() { claims }: Authentication) {
      return claims.sub;
    }
  }

  rowsOf(started([Messages]), [
    ['/open', undefined, 200],
    ['/messages', 'read:messages', 200],
    ['/messages', '', 403, 'read:messages'],
    ['/messages', undefined, 401, 'read:messages'],
  ]);
});

describe('decorators of classes that other classes extend', () => {
  class Base {
    @Get('inherited')
    @RequireToken({ scope: 'admin' })
    inherited() {
      return 'ada';
    }

    @RequireToken({ scope: 'admin' })
    overridden() {
      return 'ada';
    }

    @Get('health')
    @Public()
    health() {
      return 'open';
    }

    @Public()
    overriddenHealth() {
      return 'open';
    }

    @Get('plain')
    plain() {
      return 'ada';
    }
  }

  class Child extends Base {
    @Get('overridden')
    override overridden() {
      return 'ada';
    }

    @Get('overridden-health')
    override overriddenHealth() {
      return 'ada';
    }
  }

  @Controller('open')
  @Public()
  class Open {
    @Get('plain')
    plain() {
      return 'open';
    }
  }

  @Controller('child-of-open')
  class ChildOfOpen extends Open {}

  @RequireToken({ scope: 'read:messages' })
  class Guarded {
    @Get('plain')
    plain() {
      return 'ada';
    }
  }

  @Controller('child-of-guarded')
  class ChildOfGuarded extends Guarded {}

  Controller('child')(Child);
  rowsOf(started([Child, Open, ChildOfOpen, ChildOfGuarded], tokenGuard(guard)), [
    ['/child/inherited', '', 403, 'admin'],
    ['/child/overridden', '', 403, 'admin'],
    ['/child/overridden', 'admin', 200],
    ['/child/health', undefined, 200],
    ['/child/overridden-health', undefined, 401],
    ['/child/plain', '', 200],
    ['/open/plain', undefined, 200],
    ['/child-of-open/plain', undefined, 401],
    ['/child-of-guarded/plain', '', 403, 'read:messages'],
  ]);
});

describe('@RequireToken() holds for a method that another decorator replaces', () => {
  const traced: MethodDecorator = (_, name, descriptor) => {
    const { value } = descriptor;
    const call = (...given: unknown[]) => (value as (...given: unknown[]) => unknown)(...given);
    for (const key of Reflect.getMetadataKeys(Object(value)))
      Reflect.defineMetadata(key, Reflect.getMetadata(key, Object(value)), call);
    return { ...descriptor, value: name === 'bound' ? value : call } as typeof descriptor;
  };

  /** As functions that remember or count calls do. */
  const nameless = (call: () => string) => [() => call()][0] ?? call;

  @Controller()
  class Messages {
    constructor() {
      this.bound = this.bound.bind(this);
    }

    @Get('before')
    @traced
    @RequireToken({ scope: 'admin' })
    before() {
      return 'ada';
    }

    @Get('after')
    @RequireToken({ scope: 'admin' })
    @traced
    after() {
      return 'ada';
    }

    @Get('bound')
    @RequireToken({ scope: 'admin' })
    bound() {
      return 'ada';
    }
  }

  /** As @Implement() of oRPC and @TsRestHandler() do: makes two methods, with the metadata of one. */
  const multiplied: MethodDecorator = (target, name, { value }) => {
    for (const [route, call] of [
      ['copied', () => 'ada'],
      ['derived', Object.setPrototypeOf(() => 'ada', Object(value))],
    ]) {
      const made = { value: call, configurable: true, writable: true };
      if (route === 'copied')
        for (const key of Reflect.getMetadataKeys(Object(value)))
          Reflect.defineMetadata(key, Reflect.getMetadata(key, Object(value)), call);
      Object.defineProperty(target, `${String(name)}_${route}`, made);
      Get(route)(target, `${String(name)}_${route}`, made);
    }
  };

  @Controller()
  class Multiplied {
    @multiplied
    @RequireToken({ scope: 'admin' })
    every() {}
  }

  @Controller('open')
  @Public()
  class Open {
    constructor() {
      this.closed = nameless(this.closed);
    }

    @Get('closed')
    @RequireToken({ scope: 'admin' })
    closed() {
      return 'ada';
    }
  }

  rowsOf(started([Messages, Open, Multiplied], tokenGuard(guard)), [
    ['/copied', '', 403, 'admin'],
    ['/derived', '', 403, 'admin'],
    ['/derived', 'admin', 200],
    ['/open/closed', undefined, 500],
    ['/open/closed', 'admin', 500],
    ['/before', '', 403, 'admin'],
    ['/after', '', 403, 'admin'],
    ['/bound', '', 403, 'admin'],
    ['/bound', 'admin', 200],
  ]);
});

describe('a guard that another guard calls', () => {
  const inner = new (tokenGuard(guard))();
  /** As OrGuard of @nest-lab/or-guard does: accepts a token, or else a key. */
  class Either implements CanActivate {
    async canActivate(context: ExecutionContext) {
      const hasKey = context.switchToHttp().getRequest().headers['x-api-key'] === 'key';
      return Promise.resolve(inner.canActivate(context) as Promise<boolean>).catch(() => hasKey);
    }
  }

  @Controller()
  class Messages {
    @Get('either')
    @UseGuards(Either)
    either() {
      return 'open';
    }

    @Get('public')
    @Public()
    @UseGuards(Either)
    public() {
      return 'open';
    }
  }

  const send = started([Messages]);
  rowsOf(send, [
    ['/either', '', 200],
    ['/either', undefined, 403],
    // The page warns of this: it counts as global, so the mark opens it.
    ['/public', undefined, 200],
  ]);

  test('leaves the type of a response that it accepts', async () => {
    const { status, headers } = await send('/either', { 'x-api-key': 'key' });
    expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  });
});

@Controller('messages')
class Scoped {
  @Get()
  @RequireToken({ scope: 'read:messages' })
  list(@Auth() { claims }: Authentication) {
    return claims.sub;
  }
}
const description = 'Token does not have the scope that this resource requires';

describe('a rejection by tokenGuard()', () => {
  const seen: unknown[] = [];
  class Recording extends tokenGuard(guard) {
    override canActivate(context: ExecutionContext) {
      return (super.canActivate(context) as Promise<boolean>).catch((error: unknown) => {
        seen.push(error);
        throw error;
      });
    }
  }
  const send = started([Scoped], Recording);

  test('is an HttpException with status, description and body, and keeps the headers of CORS', async () => {
    const response = await send('/messages', { ...bearer(await tokenWith()), origin: 'https://app.example.test' });
    const body = { error: 'insufficient_scope', error_description: description };
    expect(await response.json()).toEqual(body);
    const [exception] = seen.splice(0) as [HttpException];
    expect(exception).toBeInstanceOf(HttpException);
    expect([exception.getStatus(), exception.message, exception.getResponse()]).toEqual([403, description, body]);
    expect(exception).toHaveProperty('extensions.code', 'FORBIDDEN');
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example.test');
    expect(response.headers.get('vary')).toContain('Origin');
  });

  test('is kept by no cache, whatever the application had set', async () => {
    const { headers } = await send('/messages');
    expect([headers.get('cache-control'), headers.get('expires')]).toEqual(['no-store', null]);
  });

  test('uses a proof once for a request that several guards check', async () => {
    const bound = await issuer.token({ scope: 'read:messages' }, { boundTo: 'dpop' });
    const dpop = await issuer.proof({ method: 'GET', url: 'https://api.example.test/messages' }, bound);
    const headers = { authorization: `DPoP ${bound}`, dpop };
    expect([(await send('/messages', headers)).status, (await send('/messages', headers)).status]).toEqual([200, 401]);
  });
});

describe('nonces of DPoP in NestJS', () => {
  const withNonces = createGuard({
    ...issuer.options,
    dpop: 'on',
    publicUrl: 'https://api.example.test',
    dpopNonceSecret,
  });
  const send = started([Scoped], tokenGuard(withNonces));

  test('come with an accepted request', async () => {
    const bound = await issuer.token({ sub: 'ada', scope: 'read:messages' }, { boundTo: 'dpop' });
    const request = { method: 'GET', url: 'https://api.example.test/messages' };
    const dpop = await issuer.proof(request, bound, { nonce: nonceOf(31_000) });
    const response = await send('/messages', { authorization: `DPoP ${bound}`, dpop });
    expect([response.status, response.headers.has('dpop-nonce')]).toEqual([200, true]);
  });
});

describe('formatRejection in NestJS', () => {
  for (const [what, format, status, body] of [
    ['an object', { status: 404, body: { code: 7 }, contentType: 'application/problem+json' }, 404, { code: 7 }],
    // NestJS sends the text of an exception as JSON.
    ['text', { body: 'No', contentType: 'text/plain' }, 401, { statusCode: 401, message: 'No' }],
  ] as const)
    describe(what, () => {
      const send = started([Scoped], tokenGuard(createGuard({ ...issuer.options, formatRejection: () => format })));
      test('is what NestJS sends', async () => {
        const response = await send('/messages');
        expect([response.status, await response.json()]).toEqual([status, body]);
      });
    });
});

describe('a mistake is a TypeError where it is made:', () => {
  test.each([
    ['no guard', () => tokenGuard(issuer.options as never), 'expected a guard'],
    ['a requirement of tokenGuard()', () => tokenGuard(guard, { scope: '' }), 'scope'],
    ['a requirement of @RequireToken()', () => RequireToken({ scope: '' }), 'scope'],
    ['a Map for @RequireToken()', () => RequireToken(new Map([['scope', 'a']]) as never), 'they must be an object'],
    ['an unset variable', () => RequireToken({ scope: undefined } as never), 'scope is undefined'],
    ['an unknown requirement', () => RequireToken({ scopes: 'a' } as never), 'scopes is not a requirement'],
    ['two decorators', () => Public()(RequireToken()(Scoped) ?? Scoped), 'use one of'],
  ])('%s', (_, make, said) => expect(make as () => unknown).toThrow(said));
});

/** A call of a resolver whose context has this request, by default that of a field. */
const callOf = (req: object, before: readonly object[] = [{}, {}]) =>
  ({
    getType: () => 'graphql',
    getClass: () => Scoped,
    getHandler: () => Scoped.prototype.list,
    getArgs: () => [...before, { req }, {}],
    switchToHttp: () => ({}),
  }) as unknown as ExecutionContext;

test.each([
  ['with the scope', 'read:messages', true],
  ['without the scope', '', 'FORBIDDEN'],
  ['without a token', undefined, 'UNAUTHENTICATED'],
])('a subscription of graphql-ws is checked by the request of its handshake: %s', async (_, scope, expected) => {
  const headers = scope === undefined ? {} : bearer(await tokenWith(scope));
  const { req: request } = createMocks({ headers, url: '/graphql' });
  // NestJS passes on the context of graphql-ws as `req`.
  const context = callOf({ connectionParams: {}, extra: { request } });
  const checked = Promise.resolve(new (tokenGuard(guard))().canActivate(context)).catch(
    ({ extensions }) => extensions.code,
  );
  expect(await checked).toBe(expected);
});

test.each([
  ['with the scope', 'read:messages', true],
  ['without it', '', 'FORBIDDEN'],
])('a reference of a federation, whose resolver gets no arguments, is checked by its request: %s', async (...row) => {
  const [, scope, expected] = row;
  const { req } = createMocks({ headers: bearer(await tokenWith(scope)), url: '/graphql' });
  const checked = Promise.resolve(new (tokenGuard(guard))().canActivate(callOf(req, [{}])));
  expect(await checked.catch(({ extensions }) => extensions?.code)).toBe(expected);
});

test('the fields of a query are one request', async () => {
  let accepted = 0;
  const counting = createGuard({ ...issuer.options, onAccepted: () => void accepted++ });
  const { req } = createMocks({ headers: bearer(await tokenWith('read:messages')), url: '/graphql' });
  const fields = Array.from({ length: 3 }, () => new (tokenGuard(counting))().canActivate(callOf(req)));
  expect([await Promise.all(fields), accepted]).toEqual([[true, true, true], 1]);
});

test.each([
  ['rpc', '@Public()'],
  ['necord', '@Public()'],
  ['ws', 'handleConnection'],
  ['graphql', 'context needs req'],
])('tokenGuard() rejects a call of the type %s that has no request, and says what to write', async (type, said) => {
  const context = {
    getType: () => type,
    getClass: () => class {},
    getHandler: () => () => {},
    getArgs: () => [{}, {}],
    switchToHttp: () => ({}),
    switchToWs: () => ({ getClient: () => ({}) }),
  } as unknown as ExecutionContext;
  await expect(new (tokenGuard(guard))().canActivate(context)).rejects.toThrow(said);
});

describe('what decorators say about a method holds for their class, although another class has the same function', () => {
  @Controller('own')
  class Own {
    @Get('open')
    @Public()
    open() {
      return 'open';
    }

    @Get('closed')
    @RequireToken({ scope: 'admin' })
    closed() {
      return 'ada';
    }
  }

  /** As a mixin does: copies the methods. */
  @Controller('borrowed')
  class Borrowed {}
  const methods = Object.getOwnPropertyDescriptors(Own.prototype);
  Object.defineProperties(Borrowed.prototype, { open: methods.open, closed: methods.closed });
  Public()(Borrowed.prototype, 'closed', methods.closed);

  rowsOf(started([Own, Borrowed], tokenGuard(guard)), [
    ['/own/open', undefined, 200],
    ['/own/closed', undefined, 401, 'admin'],
    ['/own/closed', 'admin', 200],
    ['/borrowed/open', undefined, 401],
    ['/borrowed/open', '', 200],
    ['/borrowed/closed', undefined, 200],
  ]);
});
