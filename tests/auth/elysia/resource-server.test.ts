import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AnyElysia, Elysia, t } from 'elysia';
import { resourceMetadata } from '../../../src/auth/elysia/resource-metadata.ts';
import { resourceServer } from '../../../src/auth/elysia/resource-server.ts';
import { createGuardCore, type GuardEnvironment } from '../../../src/auth/guard/create-guard.ts';
import { guardOf } from '../../../src/auth/guard/guard.ts';
import { type GuardOptions, isGuarded } from '../../../src/auth/index.ts';
import { bearer } from '../../support/fixture.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { type Issuer, startIssuer } from '../../support/issuer.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../../support/mint.ts';

let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
});
afterAll(() => issuer.close());

/** A guard whose clock the test sets. */
function createGuard(options: GuardOptions, environment: GuardEnvironment = {}) {
  const core = createGuardCore(options, environment);
  return { ...core, plugin: resourceServer(guardOf(core)) };
}

/** How often a guard was asked. */
let verdicts = 0;
const countVerdict = () => void verdicts++;
const guard = (options: Partial<GuardOptions> = {}) =>
  resourceServer({ issuer: issuer.url, audience: AUDIENCE, onAccepted: countVerdict, ...options });
const withScopes = (scope: string) => bearer(mintToken(issuer.url, { claims: { scope } }));
const send = (app: AnyElysia, path: string, headers = {}, init: RequestInit = {}): Promise<Response> =>
  app.handle(new Request(`http://localhost${path}`, { ...init, headers }));

/** Applications of users, each with a route at /guarded. None of them handles rejections. */
const applications: Readonly<Record<string, () => AnyElysia>> = {
  'five lines': () => new Elysia().use(guard()).get('/guarded', ({ claims }) => claims.iss),
  'without ahead-of-time compilation': () => new Elysia({ aot: false }).use(guard()).get('/guarded', () => 'ok'),
  'whose onError catches everything': () =>
    new Elysia()
      .onError(({ status }) => status(500, 'caught'))
      .use(guard())
      .get('/guarded', () => 'ok'),
  'whose onError is added later': () =>
    new Elysia()
      .use(guard())
      .onError(() => new Response('caught', { status: 500 }))
      .get('/guarded', () => 'ok'),
  'with hooks on every response': () =>
    new Elysia()
      .onAfterHandle(({ responseValue }) => ({ data: responseValue }))
      .use(guard())
      .get('/guarded', () => 'ok'),
  'with the route in a group': () => new Elysia().use(guard()).group('/guarded', (group) => group.get('', () => 'ok')),
  'with the route in a plugin used later': () =>
    new Elysia().use(guard()).use(new Elysia().get('/guarded', () => 'ok')),
  'with a static response': () => new Elysia().use(guard()).get('/guarded', new Response('ok')),
  'with a static response and no hook before the body is parsed': () =>
    new Elysia().use(guard()).get('/guarded', new Response('ok'), { beforeHandle() {}, afterHandle() {} }),
  'with a static response and no hook before the handler': () =>
    new Elysia().use(guard()).get('/guarded', new Response('ok'), { parse() {}, afterHandle() {} }),
  'with a static response and no hook after the handler': () =>
    new Elysia().use(guard()).get('/guarded', new Response('ok'), { parse() {}, beforeHandle() {} }),
  'with a mounted handler': () => new Elysia().use(guard()).mount('/guarded', () => new Response('ok')),
  'with a route for every method': () => new Elysia().use(guard()).all('/guarded', () => 'ok'),
  'with a WebSocket': () => new Elysia().use(guard()).ws('/guarded', { message() {} }),
  'with a generator': () =>
    new Elysia().use(guard()).get('/guarded', function* () {
      yield 'ok';
    }),
  'with a schema for the query': () =>
    new Elysia().use(guard()).get('/guarded', () => 'ok', { query: t.Object({ page: t.Number() }) }),
};

describe('resourceServer()', () => {
  for (const [name, create] of Object.entries(applications)) {
    test(`refuses a request without a token in an application ${name}`, async () => {
      const app = create();
      expect(app.routes.every(isGuarded)).toBe(true);
      const response = await send(app, '/guarded', { upgrade: 'websocket' });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.json()).toEqual({
        code: 'authorization_header_missing',
        description: 'Authorization header is expected',
      });
    });
  }

  test('lets a script that verifies one token end by itself', async () => {
    const script = `
      const { Elysia } = await import('elysia');
      const { resourceServer } = await import('./src/auth/index.ts');
      const [issuer, audience, authorization] = process.argv.slice(-3);
      const app = new Elysia().use(resourceServer({ issuer, audience })).get('/', () => 'ok');
      const response = await app.handle(new Request('http://localhost/', { headers: { authorization } }));
      process.stdout.write(String(response.status));`;
    const { authorization } = bearer(mintToken(issuer.url));
    const command = [process.execPath, '-e', script, issuer.url, AUDIENCE, authorization];
    const child = Bun.spawn(command, { timeout: 20_000, stdout: 'pipe', stderr: 'inherit' });
    expect(await child.stdout.text()).toBe('200');
    expect(await child.exited).toBe(0);
  }, 30_000);

  test('accepts a token, and gives its claims to the handler', async () => {
    const app = new Elysia().use(guard()).get('/me', ({ claims }) => claims.iss);
    expect(await (await send(app, '/me', withScopes('a'))).text()).toBe(issuer.url);
  });

  const scopes: readonly { required: string | string[]; granted: string; status: number; challenge?: string }[] = [
    { required: 'read:a', granted: 'read:a write:a', status: 200 },
    { required: ['read:a', 'write:a'], granted: 'write:a read:a', status: 200 },
    { required: ['read:a', 'write:a'], granted: 'read:a', status: 403, challenge: 'read:a write:a' },
    { required: 'read:a', granted: 'read:ab', status: 403, challenge: 'read:a' },
    { required: 'read:a', granted: '', status: 403, challenge: 'read:a' },
  ];
  for (const { required, granted, status, challenge } of scopes) {
    test(`answers ${status} where ${required} is required and "${granted}" granted`, async () => {
      const app = new Elysia().use(guard()).get('/scoped', () => 'ok', { scope: required });
      const response = await send(app, '/scoped', withScopes(granted));
      expect(response.status).toBe(status);
      if (challenge) expect(response.headers.get('www-authenticate')).toContain(`scope="${challenge}"`);
    });
  }

  for (const scope of [[], '', 'with space', 'with"quote', ['good', 'b\\d']]) {
    test(`rejects a route that requires ${JSON.stringify(scope)}`, () => {
      expect(() => new Elysia().use(guard()).get('/scoped', () => 'ok', { scope })).toThrow(
        expect.objectContaining({
          name: 'TypeError',
          message: expect.stringContaining('scope must be a scope, a list of scopes, or anyOf'),
        }),
      );
    });
  }

  test('precedes the validation of query and body', async () => {
    const app = new Elysia().use(guard()).post('/notes', () => 'ok', { body: t.Object({ text: t.String() }) });
    const init = { method: 'POST', body: '{"text":1}' };
    expect((await send(app, '/notes', { 'content-type': 'application/json' }, init)).status).toBe(401);
  });

  test('verifies once where equal guards are nested, and twice where they differ, also in callbacks', async () => {
    const nested = (options: Partial<GuardOptions>) =>
      new Elysia().use(guard()).use(new Elysia().use(guard(options)).get('/nested', () => 'ok'));
    for (const [options, times] of [
      [{}, 1],
      [{ onRefused() {} }, 2],
      [{ clockToleranceSeconds: 1 }, 2],
    ] as const) {
      verdicts = 0;
      expect((await send(nested(options), '/nested', withScopes(''))).status).toBe(200);
      expect(verdicts).toBe(times);
    }
    const strict = nested({ audience: 'https://other.example.test' });
    expect((await send(strict, '/nested', withScopes(''))).status).toBe(401);
  });

  test('reads no body of an accepted request for a handler that does not read it', async () => {
    const app = new Elysia()
      .use(guard())
      .post('/guarded', () => 'ok')
      .post('/scoped', () => 'ok', { scope: 'a' });
    for (const path of ['/guarded', '/scoped']) {
      let pulls = 0;
      const pull = (controller: ReadableStreamDefaultController) => {
        pulls += 1;
        controller.close();
      };
      const body = new ReadableStream({ pull }, { highWaterMark: 0 });
      const headers = { ...withScopes('a'), 'content-type': 'text/plain' };
      const response = await send(app, path, headers, { method: 'POST', body });
      expect([response.status, pulls]).toEqual([200, 0]);
    }
  });

  test('guards no route of another instance', async () => {
    const app = new Elysia().use(new Elysia().use(guard()).get('/guarded', () => 'ok')).get('/open', () => 'ok');
    expect((await send(app, '/open')).status).toBe(200);
    expect((await send(app, '/guarded')).status).toBe(401);
    expect(app.routes.map((route) => [route.path, isGuarded(route)])).toEqual([
      ['/guarded', true],
      ['/open', false],
    ]);
  });

  test('throws when a route was added before it, and names the route', () => {
    expect(() => new Elysia().get('/early', () => 'open').use(guard())).toThrow(/GET \/early was added before/);
    expect(() => new Elysia().options('/*', () => 'preflight').use(guard())).not.toThrow();
    const guarded = new Elysia().use(guard()).get('/a', () => 'ok');
    expect(() => guarded.use(guard({ tokenCacheSize: 1 }))).not.toThrow();
  });

  /** Where Elysia 1.4 skips hooks. */
  const skipped: Readonly<Record<string, () => AnyElysia>> = {
    'a static response with hooks of four kinds': () =>
      new Elysia()
        .onParse(() => undefined)
        .onAfterHandle(() => undefined)
        .use(guard())
        .get('/skipped', 'open', { scope: 'a' }),
    'a mounted handler without ahead-of-time compilation': () =>
      new Elysia({ aot: false }).use(guard()).mount('/skipped', () => new Response('open'), { scope: 'a' } as object),
    'a scope after a macro that returns nothing': () =>
      new Elysia()
        .use(guard())
        .macro({ flag: (_: boolean) => undefined as unknown as object })
        .get('/skipped', () => 'open', { flag: true, scope: 'a' }),
    'a scope before an object macro that is off': () =>
      new Elysia()
        .use(guard())
        .macro({ flag: { beforeHandle() {} } })
        .get('/skipped', () => 'open', { scope: 'a', flag: false }),
  };
  for (const [name, create] of Object.entries(skipped)) {
    test(`guards ${name}, where Elysia skips hooks`, async () => {
      const statuses = [{}, withScopes('b'), withScopes('a')].map(async (headers) => {
        const response = await send(create(), '/skipped', headers);
        return response.status;
      });
      expect(await Promise.all(statuses)).toEqual([401, 403, 200]);
    });
  }

  test('answers with the body of errorBody, and keeps status and challenge', async () => {
    const app = new Elysia()
      .use(guard({ errorBody: ({ status, code, reason }) => ({ error: { status, code, reason } }) }))
      .get('/guarded', () => 'ok');
    const response = await send(app, '/guarded', bearer('opaque'));
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect(await response.json()).toEqual({ error: { status: 401, code: 'invalid_header', reason: 'token_opaque' } });
  });

  test('calls onRefused with the internal reason, and refuses also when that throws', async () => {
    const reasons: string[] = [];
    const app = new Elysia()
      .onError(() => new Response('caught', { status: 500 }))
      .use(
        guard({
          onRefused(_, reason) {
            reasons.push(reason);
            if (reason === 'token_opaque') throw new Error('observer');
          },
        }),
      )
      .get('/guarded', () => 'ok', { scope: 'a' });
    for (const headers of [{}, bearer('opaque'), withScopes('b')]) await send(app, '/guarded', headers);
    expect(reasons).toEqual(['credentials_missing', 'token_opaque', 'scope_insufficient']);
    expect(await (await send(app, '/guarded', bearer('opaque'))).text()).toBe('caught');
  });

  test('answers 503 with the rest of the cooldown while no keys can be fetched', async () => {
    for (const jwksCooldownSeconds of [1, 17]) {
      const fetch = () => Promise.reject(new TypeError('unreachable'));
      const options = { issuer: 'https://issuer.example.test/', audience: AUDIENCE, jwksCooldownSeconds };
      const { plugin } = createGuard({ ...options, fetch }, { clock: createFrozenClock() });
      const response = await send(
        new Elysia().use(plugin).get('/guarded', () => 'ok'),
        '/guarded',
        withScopes(''),
      );
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, String(jwksCooldownSeconds)]);
      expect(await response.json()).toMatchObject({ code: 'key_set_unavailable' });
    }
  });

  test('declares the scopes of a route for documents of the application', () => {
    const [route] = new Elysia().use(guard({ scopePrefix: 'api/' })).get('/', () => 'ok', { scope: ['a', 'b'] }).routes;
    expect(route?.hooks.detail).toMatchObject({ security: [{ oauth2: ['api/a', 'api/b'] }, { bearer: [] }] });
  });

  test('trusts keys for jwksMaxAgeSeconds and jwksMaxStaleSeconds', async () => {
    const clock = createFrozenClock();
    const fetch = async () => Response.json({ keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID)] });
    const options = { issuer: 'https://issuer.example.test/', audience: AUDIENCE };
    const limits = { jwksMaxAgeSeconds: 10, jwksMaxStaleSeconds: 20 };
    const aging = createGuard({ ...options, ...limits, fetch }, { clock });
    aging.start();
    const keys = () => aging.state().issuers.map((state) => state.keys);
    while (keys()[0] === 0) await Bun.sleep(1);
    aging.stop();
    clock.pause(29_999);
    expect(keys()).toEqual([1]);
    clock.pause(1);
    expect(keys()).toEqual([0]);
  });

  test('fetches keys once it is started, and nothing more once it is stopped', async () => {
    const clock = createFrozenClock();
    let fetches = 0;
    const fetch = () => {
      fetches += 1;
      return Promise.reject(new TypeError('unreachable'));
    };
    const stoppable = createGuard({ issuer: 'https://issuer.example.test/', audience: AUDIENCE, fetch }, { clock });
    const advance = async () => {
      clock.advance(60_000);
      await Bun.sleep(0);
    };
    stoppable.start();
    expect(fetches).toBe(1);
    await Bun.sleep(0);
    await advance();
    expect(fetches).toBeGreaterThan(1);
    stoppable.stop();
    const before = fetches;
    await advance();
    expect(fetches).toBe(before);
  });

  for (const cnf of [{ jkt: 'thumbprint' }, null]) {
    test(`refuses a token with the cnf ${JSON.stringify(cnf)} as a plain Bearer token`, async () => {
      const app = new Elysia().use(guard()).get('/guarded', () => 'ok');
      const response = await send(app, '/guarded', bearer(mintToken(issuer.url, { claims: { cnf } })));
      expect(await response.json()).toMatchObject({ code: 'invalid_header' });
    });
  }
});

describe('resourceMetadata()', () => {
  const publicUrl = 'https://api.example.test/base';
  const path = '/.well-known/oauth-protected-resource/base';
  const options = () => ({ issuer: issuer.url, audience: AUDIENCE, publicUrl });

  test('serves the document that challenges name, before and after the guard', async () => {
    const reports = new Elysia().use(guard({ publicUrl })).get('/reports', () => 'ok', { scope: ['read:a', 'read:b'] });
    for (const app of [
      new Elysia().use(resourceMetadata(options())).use(reports),
      new Elysia().use(resourceMetadata(options())).use(guard({ publicUrl })).use(reports),
      new Elysia().use(guard({ publicUrl })).use(resourceMetadata(options())).use(reports),
    ]) {
      const challenge = (await send(app, '/reports')).headers.get('www-authenticate');
      expect(challenge).toBe(`Bearer scope="read:a read:b", resource_metadata="https://api.example.test${path}"`);
      const response = await send(app, path);
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({
        resource: publicUrl,
        authorization_servers: [issuer.url],
        scopes_supported: ['read:a', 'read:b'],
        bearer_methods_supported: ['header'],
      });
    }
  });
});
