import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { openapi } from '@elysiajs/openapi';
import { type AnyElysia, checksum, Elysia, t } from 'elysia';
import { type GuardOptions, isGuarded, resourceServer } from '../../../src/auth/index.ts';
import { runToEnd, until } from '../../support/child-process.ts';
import { bearer } from '../../support/fixture.ts';
import { type Issuer, startIssuer } from '../../support/issuer.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../../support/mint.ts';
import { rawRequest } from '../../support/raw-http.ts';

const SECRET = 'SECRET';
const secret = () => SECRET;

let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
});
afterAll(() => issuer.close());

type Options = Partial<GuardOptions>;
const guard = (options: Options = {}) => resourceServer({ issuer: issuer.url, audience: AUDIENCE, ...options });
const token = (claims: Record<string, unknown> = {}) => bearer(mintToken(issuer.url, { claims }));
const request = (path: string, init: RequestInit = {}) => new Request(`http://localhost${path}`, init);

interface Answer {
  /** 0 if the application threw, or did not listen. */
  readonly status: number;
  readonly text: string;
}

/** Sends a request in one way of serving. An error at the start counts as a response, unless the application serves. */
const forms: Readonly<Record<string, (app: AnyElysia, path: string, init?: RequestInit) => Promise<Answer>>> = {
  handle: async (app, path, init) => answerOf(async () => app.handle(request(path, init))),
  fetch: async (app, path, init) => answerOf(async () => app.fetch(request(path, init))),
  async listen(app, path, init) {
    let thrown = '';
    try {
      app.listen({ port: 0, hostname: '127.0.0.1', error: (error) => new Response(String(error), { status: 500 }) });
    } catch (error) {
      thrown = String(error);
    }
    if (!app.server) return { status: 0, text: thrown };
    const { url } = app.server;
    const { status, text } = await answerOf(() => fetch(new URL(path, url), init));
    await app.server.stop(true);
    return { status, text: thrown + text };
  },
};

async function answerOf(send: () => Promise<Response>): Promise<Answer> {
  try {
    const response = await send();
    return { status: response.status, text: await response.text() };
  } catch (error) {
    return { status: 0, text: String(error) };
  }
}

/** Builds an application, which may throw, and asks it in a form. */
async function attempt(form: string, create: () => AnyElysia, path: string, init?: RequestInit): Promise<Answer> {
  try {
    const app = create();
    await app.modules;
    const answer = await forms[form]?.(app, path, init);
    for (const route of app.routes)
      if (answer?.status === 200 && route.path === path && isGuarded(route)) throw new TypeError('isGuarded lies');
    return answer ?? { status: 0, text: 'no such form' };
  } catch (error) {
    if (error instanceof TypeError) throw error;
    return { status: 0, text: String(error) };
  }
}

interface Composition {
  readonly name: string;
  readonly create: () => AnyElysia;
  readonly path?: string;
}

/** A Request that no client has sent. */
const good = () => request('/a', { headers: token() });
const pretend = (app: AnyElysia) => app.onRequest((context) => void Object.assign(context, { request: good() }));

/** What an application puts into the context, before and after the guard. Each route is refused without a token. */
const contexts: readonly Composition[] = [
  ...([{}, { publicUrl: 'https://api.example.test' }] as const).flatMap((options: Options): Composition[] => {
    const metadata = '/.well-known/oauth-protected-resource';
    const name = 'publicUrl' in options ? 'with publicUrl' : 'without publicUrl';
    return [
      {
        name: `mapDerive, ${name}`,
        create: () =>
          new Elysia()
            .mapDerive(() => ({}))
            .use(guard(options))
            .get('/a', secret),
      },
      {
        name: `route from the query, ${name}`,
        create: () =>
          new Elysia()
            .derive(({ query }) => ({ route: query.route }))
            .use(guard(options))
            .get('/a', secret),
        path: `/a?route=${metadata}`,
      },
      {
        name: `route from onTransform, ${name}`,
        create: () =>
          new Elysia()
            .onTransform((context) => void Object.assign(context, { route: metadata }))
            .use(guard(options))
            .get('/a', secret),
      },
      {
        name: `a route below the metadata, ${name}`,
        create: () => new Elysia().use(guard(options)).get(`${metadata}/a`, secret),
        path: `${metadata}/a`,
      },
    ];
  }),
  {
    name: 'decorate status',
    create: () =>
      new Elysia()
        .decorate('status', () => undefined)
        .use(guard())
        .get('/a', secret),
  },
  {
    name: 'decorate status after the guard',
    create: () =>
      new Elysia()
        .use(guard())
        .decorate('status', () => undefined)
        .get('/a', secret),
  },
  {
    name: 'derive status',
    create: () =>
      new Elysia()
        .derive(() => ({ status: () => undefined }))
        .use(guard())
        .get('/a', secret),
  },
  {
    name: 'resolve claims',
    create: () =>
      new Elysia()
        .use(guard())
        .derive(() => ({ claims: { scope: 'a' } }))
        .get('/a', secret, { scope: 'a' }),
  },
  {
    name: 'a request from onRequest',
    create: () => pretend(new Elysia().use(guard())).get('/a', secret),
  },
  {
    name: 'a request from onRequest between two guards',
    create: () => pretend(new Elysia().use(guard())).use(new Elysia().use(guard()).get('/a', secret)),
  },
  {
    name: 'a request from decorate',
    create: () => new Elysia().decorate('request', good()).use(guard()).get('/a', secret),
  },
  {
    name: 'a request from derive',
    create: () =>
      new Elysia()
        .derive(() => ({ request: good() }))
        .use(guard())
        .get('/a', secret),
  },
];

describe('what an application puts into the context is not believed', () => {
  for (const { name, create, path = '/a' } of contexts)
    for (const form of Object.keys(forms))
      test(`${name}, through ${form}`, async () => {
        const { status, text } = await attempt(form, create, path);
        expect([401, 500]).toContain(status);
        expect(text).not.toContain(SECRET);
      });
});

const asynchronously: Readonly<Record<string, (app: AnyElysia) => AnyElysia>> = {
  'as a module': (app) => app.use(Promise.resolve({ default: guard() })),
  'as a promise': (app) => app.use(Promise.resolve(guard())),
  'through a function that uses it': (app) => app.use(async (on: AnyElysia) => on.use(guard())),
  'through a function that returns it': (app) => app.use(async () => guard()),
};
const inOther = (app: AnyElysia) => new Elysia().use(app) as AnyElysia;

/** Elysia would leave /a open here. It is not served, and the error names the mistake. */
const unservable: readonly (Composition & { readonly says?: string })[] = [
  ...Object.entries(asynchronously).flatMap(([way, use]): Composition[] => [
    { name: `a guard that arrives ${way}`, create: () => use(new Elysia()).get('/a', secret) },
    { name: `a guard that arrives ${way}, and a dynamic path`, create: () => use(new Elysia()).get('/:a', secret) },
    {
      name: `a guard that arrives ${way}, and a Response`,
      create: () => use(new Elysia()).get('/a', new Response(SECRET)),
    },
  ]),
  ...Object.entries(asynchronously).flatMap(([way, use]) =>
    ['/a/', '/%C3%A9'].map(
      (path): Composition => ({
        name: `a guard that arrives ${way}, and ${path}, without aot`,
        create: () =>
          use(new Elysia({ aot: false }))
            .get('/a', secret)
            .get('/é', secret),
        path,
      }),
    ),
  ),
  { name: 'a route before the guard', create: () => new Elysia().get('/a', secret).use(guard()), says: '/a' },
  {
    name: 'a route before the guard in a group',
    create: () => new Elysia().group('/g', (group) => group.get('/a', secret).use(guard())),
    path: '/g/a',
    says: '/a',
  },
  {
    name: 'a route before a guard callback',
    create: () => new Elysia().guard({}, (inner) => inner.get('/a', secret).use(guard())),
    says: '/a',
  },
  { name: 'an explicit HEAD before the guard', create: () => new Elysia().head('/a', secret).use(guard()), says: '/a' },
  {
    name: 'a route before a wrapper that is scoped',
    create: () => new Elysia().get('/a', secret).use(new Elysia().use(guard()).as('scoped')),
    says: '/a',
  },
  {
    name: 'a wrapper that is not scoped',
    create: () =>
      new Elysia().use(new Elysia().use(guard()).derive({ as: 'scoped' }, () => ({ user: 1 }))).get('/a', secret),
    says: ".as('scoped')",
  },
  {
    name: 'a wrapper in a group',
    create: () => new Elysia().group('/g', (group) => group.use(new Elysia().use(guard())).get('/a', secret)),
    path: '/g/a',
    says: ".as('scoped')",
  },
  {
    name: 'a wrapper of a wrapper',
    create: () => new Elysia().use(new Elysia().use(new Elysia().use(guard()).as('scoped'))).get('/a', secret),
    says: ".as('scoped')",
  },
  {
    name: 'a wrapper in the first of two applications',
    create() {
      const shared = guard();
      const first = new Elysia().use(new Elysia().use(shared)).get('/a', secret);
      new Elysia().use(shared).get('/b', secret);
      return first;
    },
  },
  {
    name: 'a wrapper in a mounted application',
    create: () => new Elysia().mount('/m', new Elysia().use(new Elysia().use(guard())).get('/a', secret).fetch),
    path: '/m/a',
  },
  {
    name: 'a wrapper and a route added after the first request',
    create() {
      const app = new Elysia().use(new Elysia().use(guard()));
      void app.handle(request('/first'));
      return app.get('/a', secret).compile();
    },
  },
];

describe('what Elysia would leave open is not served', () => {
  for (const { name, create, path = '/a', says = '' } of unservable)
    for (const form of Object.keys(forms))
      test(`${name}, through ${form}`, async () => {
        const logged = spyOn(console, 'error').mockImplementation(() => {});
        const { status, text } = await attempt(form, create, path);
        const said = `${text}${logged.mock.calls.flat().map(String).join()}`;
        logged.mockRestore();
        expect(text).not.toContain(SECRET);
        // Of one way to load plugins, Elysia adds the earlier routes once more, behind the guard.
        expect(name.includes('function that uses') ? [0, 401, 500] : [0, 500]).toContain(status);
        expect(said).toContain(says);
        if (form !== 'listen' && status === 500) expect(text).not.toMatch(/guard|scoped|\/a/);
      });

  for (const aot of [true, false])
    test(`isGuarded describes the route that answers, not another one with the same path, with aot ${aot}`, async () => {
      const guarded = () => new Elysia({ aot }).use(guard()).get('/a', secret);
      const open = () => new Elysia({ aot }).get('/a', () => 'open');
      for (const create of [() => inOther(guarded()).use(open()), () => inOther(open()).use(guarded())])
        for (const form of Object.keys(forms)) expect((await attempt(form, create, '/a')).text).not.toContain(SECRET);
    });
});

/** Hooks of an application that answer by themselves, as a cache or a maintenance page does. */
const early = () => 'cached';
const earlyAnswers: Readonly<Record<string, (aot: boolean) => AnyElysia>> = {
  'the route': (aot) => new Elysia({ aot }).use(guard()).get('/a', secret, { scope: 'a', beforeHandle: early }),
  'the route, named first': (aot) =>
    new Elysia({ aot }).use(guard()).get('/a', secret, { beforeHandle: early, scope: 'a' }),
  'the instance, before the guard': (aot) =>
    new Elysia({ aot }).onBeforeHandle(early).use(guard()).get('/a', secret, { scope: 'a' }),
  'the instance, after the guard': (aot) =>
    new Elysia({ aot }).use(guard()).onBeforeHandle(early).get('/a', secret, { scope: 'a' }),
  'the parent': (aot) =>
    new Elysia({ aot }).onBeforeHandle(early).use(new Elysia({ aot }).use(guard()).get('/a', secret, { scope: 'a' })),
  'a plugin': (aot) =>
    new Elysia({ aot })
      .use(new Elysia().onBeforeHandle({ as: 'global' }, early))
      .use(guard())
      .get('/a', secret, { scope: 'a' }),
  'a macro': (aot) =>
    new Elysia({ aot })
      .use(guard())
      .macro({ cached: () => ({ beforeHandle: early }) })
      .get('/a', secret, { cached: true, scope: 'a' }),
};

describe('requirements are judged before any beforeHandle of the application', () => {
  for (const [name, create] of Object.entries(earlyAnswers))
    for (const aot of [true, false])
      test(`of ${name}, with aot ${aot}`, async () => {
        const app = create(aot);
        expect((await app.handle(request('/a'))).status).toBe(401);
        expect((await app.handle(request('/a', { headers: token({ scope: 'b' }) }))).status).toBe(403);
        expect(await (await app.handle(request('/a', { headers: token({ scope: 'a' }) }))).text()).toBe('cached');
      });
});

describe('two guards in one application', () => {
  const statuses = (app: AnyElysia, path: string, headers: readonly Record<string, string>[]) =>
    Promise.all(headers.map(async (each) => (await app.handle(request(path, { headers: each }))).status));

  test('judge the scopes of their own routes', async () => {
    const prefixed = new Elysia().use(guard({ scopePrefix: 'x/' })).get('/prefixed', secret, { scope: 'a' });
    const plain = new Elysia().use(guard()).get('/plain', secret, { scope: 'a' });
    const clients = [token({ scope: 'a' }), token({ scope: 'x/a' })];
    for (const app of [new Elysia().use(prefixed).use(plain), new Elysia().use(plain).use(prefixed)]) {
      expect(await statuses(app, '/plain', clients)).toEqual([200, 403]);
      expect(await statuses(app, '/prefixed', clients)).toEqual([403, 200]);
    }
  });

  test('both judge the routes that both guard', async () => {
    const inner = () => new Elysia().use(guard({ scopePrefix: 'x/' })).get('/a', secret, { scope: 'a' });
    const clients = [token({ scope: 'a' }), token({ scope: 'x/a' }), token({ scope: 'a x/a' })];
    expect(await statuses(new Elysia().use(guard()).use(inner()), '/a', clients)).toEqual([403, 403, 200]);
  });

  test('of equal values and other callbacks are both asked', async () => {
    const asked: string[] = [];
    const named = (name: string) => guard({ onAccepted: () => void asked.push(name) });
    const app = new Elysia().use(named('outer')).use(new Elysia().use(named('inner')).get('/a', secret));
    expect(await statuses(app, '/a', [token()])).toEqual([200]);
    expect(asked.toSorted()).toEqual(['inner', 'outer']);
  });

  test('are both asked when their names and seeds have one checksum', async () => {
    const { config } = guard({ audience: 'AUDIENCE' });
    const text = config.name + JSON.stringify(config.seed);
    const known = new Map<number, string>();
    let pair: readonly string[] = ['first', 'second'];
    for (let at = 0; at < 500_000 && text.includes('AUDIENCE'); at += 1) {
      const hash = checksum(text.replace('AUDIENCE', `a${at}`));
      const other = known.get(hash);
      if (other !== undefined) pair = [other, `a${at}`];
      if (other !== undefined) break;
      known.set(hash, `a${at}`);
    }
    const [outer = '', inner = ''] = pair;
    const app = new Elysia()
      .use(guard({ audience: outer }))
      .use(new Elysia().use(guard({ audience: inner })).get('/a', secret));
    expect(
      await statuses(app, '/a', [token({ aud: outer }), token({ aud: inner }), token({ aud: [outer, inner] })]),
    ).toEqual([401, 401, 200]);
  });
});

describe('the token is judged before the body', () => {
  const json = { 'content-type': 'application/json' };
  const bodies: Readonly<Record<string, RequestInit>> = {
    'malformed JSON': { body: '{', headers: json },
    'malformed multipart': { body: '--', headers: { 'content-type': 'multipart/form-data; boundary=x' } },
    'a malformed cookie': { body: '{}', headers: { ...json, cookie: 'session=%E0%A4%A; a=b.forged' } },
  };
  const cookie = t.Cookie({ session: t.Optional(t.String()) }, { secrets: 'secret', sign: ['session'] });
  const posting = (aot: boolean, parsed = () => {}) =>
    new Elysia({ aot })
      .onParse(parsed)
      .use(guard())
      .post('/a', ({ body }) => body, { body: t.Any(), cookie });

  for (const aot of [true, false]) {
    for (const [name, init] of Object.entries(bodies))
      test(`${name}, with aot ${aot}`, async () => {
        let parses = 0;
        const app = posting(aot, () => void parses++);
        expect((await app.handle(request('/a', { method: 'POST', ...init }))).status).toBe(401);
        expect(parses).toBe(0);
      });

    test(`a body that never ends, of which nothing is read, with aot ${aot}`, async () => {
      const { promise: read, resolve } = Promise.withResolvers<Response>();
      const pull = () => {
        resolve(new Response('read', { status: 400 }));
        return new Promise<void>(() => {});
      };
      const body = new ReadableStream({ pull }, { highWaterMark: 0 });
      const init = { method: 'POST', body, headers: json };
      expect((await Promise.race([posting(aot).handle(request('/a', init)), read])).status).toBe(401);
    });
  }

  test('100 MB are not waited for', async () => {
    const app = new Elysia()
      .use(guard())
      .post('/a', ({ body }) => body)
      .listen({ port: 0, hostname: '127.0.0.1' });
    const lines = [
      'POST /a HTTP/1.1',
      'Host: localhost',
      'Connection: close',
      'Content-Type: application/json',
      'Content-Length: 100000000',
    ];
    const answer = rawRequest(`http://127.0.0.1:${app.server?.port}`, lines);
    const { status } = await answer;
    await app.server?.stop(true);
    expect(status).toBe(401);
  });
});

describe('callbacks', () => {
  test('whose promises are rejected neither end the process nor change an answer', async () => {
    const script = `
      const { Elysia } = await import('${import.meta.dir}/../../../node_modules/elysia/dist/index.mjs');
      const { resourceServer } = await import('${import.meta.dir}/../../../src/auth/index.ts');
      const { ISSUER: issuer, AUDIENCE: audience, TOKEN } = process.env;
      const reject = async () => { throw new Error('callback'); };
      const callbacks = { onAccepted: reject, onRefused: reject, onKeySetEvent: reject };
      const app = new Elysia().use(resourceServer({ issuer, audience, ...callbacks })).get('/', () => 'ok', { scope: 'a' });
      const ask = (headers) => app.handle(new Request('http://localhost/', { headers }));
      const statuses = [];
      for (const headers of [{}, { authorization: 'Bearer ' + TOKEN }, {}, { authorization: 'Bearer ' + TOKEN }]) {
        statuses.push((await ask(headers)).status);
        await new Promise((done) => setImmediate(done));
      }
      process.stdout.write(statuses.join());`;
    const settings = {
      PATH: process.env.PATH ?? '',
      ISSUER: issuer.url,
      AUDIENCE,
      TOKEN: mintToken(issuer.url, { claims: { scope: 'b' } }),
    };
    expect(await runToEnd([process.execPath, '-e', script], settings)).toMatchObject({
      status: 0,
      stdout: '401,403,401,403',
    });
  }, 30_000);

  for (const [name, headers] of [
    ['onAccepted', true],
    ['onRefused', false],
  ] as const)
    test(`an exception of ${name} is a 500`, async () => {
      const fail = () => {
        throw new Error('callback');
      };
      const app = new Elysia().use(guard({ [name]: fail })).get('/a', secret);
      const response = await app.handle(request('/a', headers ? { headers: token() } : {}));
      expect([response.status, await response.text()]).toEqual([500, expect.not.stringMatching(/callback|SECRET/)]);
    });
});

describe('app.stop()', () => {
  const listening = (options: Options) =>
    new Elysia().use(guard(options)).get('/a', secret).listen({ port: 0, hostname: '127.0.0.1' });

  test('ends the fetches of keys, and listen starts them again', async () => {
    const [stopped, measure] = await Promise.all([startIssuer([]), startIssuer([])]);
    const app = listening({ issuer: stopped.url, jwksCooldownSeconds: 1 });
    await until(() => stopped.fetches === 2, 'a second fetch');
    await app.stop();
    const before = stopped.fetches;
    const other = listening({ issuer: measure.url, jwksCooldownSeconds: 1 });
    await until(() => measure.fetches === 3, 'three fetches of another guard');
    expect(stopped.fetches).toBe(before);
    app.listen({ port: 0, hostname: '127.0.0.1' });
    await until(() => stopped.fetches > before, 'a fetch after the second start');
    await Promise.all([app.stop(true), other.stop(true), stopped.close(), measure.close()]);
  }, 30_000);

  test('leaves the other application of a shared guard working', async () => {
    const shared = guard();
    const apps = ['one', 'two'].map(() =>
      new Elysia().use(shared).get('/a', secret).listen({ port: 0, hostname: '127.0.0.1' }),
    );
    const [first, second] = apps;
    await first?.stop(true);
    const response = await fetch(`http://127.0.0.1:${second?.server?.port}/a`, { headers: token() });
    expect(await response.text()).toBe(SECRET);
    await second?.stop(true);
  });
});

describe('what the types and documents say', () => {
  test('claims are frozen, cached or not', async () => {
    for (const tokenCacheSize of [0, 10]) {
      const app = new Elysia().use(guard({ tokenCacheSize })).get('/a', ({ claims }) => Object.isFrozen(claims));
      for (const _ of [1, 2]) {
        const response = await app.handle(request('/a', { headers: token({ nested: { a: [1] } }) }));
        expect(await response.text()).toBe('true');
      }
    }
  });

  test('every guarded route declares its security in the document of the application', async () => {
    const guarded = new Elysia().use(guard()).get('/me', secret).get('/scoped', secret, { scope: 'a' });
    const app = new Elysia().use(openapi()).use(guarded).get('/open', secret);
    const response = await app.handle(request('/openapi/json'));
    const { paths } = (await response.json()) as { paths: Record<string, { get: { security?: unknown } }> };
    expect(paths['/me']?.get.security).toEqual([{ oauth2: [] }, { bearer: [] }]);
    expect(paths['/scoped']?.get.security).toEqual([{ oauth2: ['a'] }, { bearer: [] }]);
    expect(paths['/open']?.get.security).toBeUndefined();
  });

  test('mistakes are named in the words of options', () => {
    for (const options of [{ issuer: 'http://issuer.example.test/' }, { jwksUri: 'http://issuer.example.test/keys' }])
      expect(() => guard(options)).toThrow(
        expect.objectContaining({ message: expect.not.stringMatching(/[A-Z]+_[A-Z]+/) }),
      );
  });
});
