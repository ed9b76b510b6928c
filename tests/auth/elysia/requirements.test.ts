import { describe, expect, test } from 'bun:test';
import { Elysia, t } from 'elysia';
import { type RequirementContext, resourceServer } from '../../../src/auth/index.ts';
import { offline, tokenOf } from '../../support/checked.ts';
import { bearer } from '../../support/fixture.ts';

const path = '/notes/7?tool=read';
const init = (scope: string): RequestInit => ({
  method: 'POST',
  body: '{"text":"a"}',
  headers: {
    ...bearer(tokenOf({ claims: { scope } })),
    'content-type': 'application/json',
    'mcp-name': 'read-notes',
  },
});

interface Route {
  readonly scope?: unknown;
  readonly authorize?: unknown;
}

/** Sends a request with a token to a route with these options, with and without ahead-of-time compilation. */
async function answersOf(route: Route, request: RequestInit | undefined = init('a')) {
  const hooks: string[] = [];
  const applications = [true, false].map((aot) =>
    new Elysia({ aot })
      .use(resourceServer(offline()))
      .onBeforeHandle(() => void hooks.push('beforeHandle'))
      .post('/notes/:id', () => 'ok', route as { scope: string }),
  );
  const answered = applications.map((app) => app.handle(new Request(`http://localhost${path}`, request)));
  const responses = await Promise.all(answered);
  return { responses, hooks };
}

const fails = () => {
  throw new Error('secret');
};
const later = <Value>(value: Value) => new Promise<Value>((done) => setTimeout(done, 1, value));

const scopes: readonly (readonly [name: string, scope: unknown, granted: string, status: number, wanted?: string])[] = [
  ['one', () => 'a', 'a', 200],
  ['one that is missing', () => 'a', 'b', 403, 'a'],
  ['a list', () => ['a', 'b'], 'b a', 200],
  ['a list of which one is missing', () => ['a', 'b'], 'a', 403, 'a b'],
  ['any of a list', () => ({ anyOf: ['a', 'b'] }), 'b', 200],
  ['none of a list', () => ({ anyOf: ['a', 'b'] }), 'c', 403, 'a'],
  ['no scope', () => [], '', 200],
  ['a promise', () => later('a'), 'a', 200],
  ['a promise of one that is missing', () => later('a'), 'b', 403, 'a'],
  ['a promise of no scope', async () => [], '', 200],
  ...[undefined, null, '', 'a b', 1, true, {}, { anyOf: [] }, { anyOf: 'a' }, ['a', 1], ['']].map(
    (value) => [Bun.inspect(value), () => value, 'a', 500] as const,
  ),
  ['an exception', fails, 'a', 500],
  ['a promise that rejects', async () => fails(), 'a', 500],
];

const authorizations: readonly (readonly [name: string, authorize: unknown, status: number])[] = [
  ['true', () => true, 200],
  ['a promise of true', () => later(true), 200],
  ['a promise of false', () => later(false), 403],
  ['a promise of nothing', async () => {}, 403],
  ...[false, undefined, null, 1, 'true', {}, []].map((value) => [Bun.inspect(value), () => value, 403] as const),
  ['an exception', fails, 500],
  ['a promise that rejects', async () => fails(), 500],
];

describe('a function of the context', () => {
  for (const [name, scope, granted, status, wanted] of scopes) {
    test(`that returns ${name} as the scope is answered with ${status} where "${granted}" is granted`, async () => {
      const { responses, hooks } = await answersOf({ scope }, init(granted));
      for (const response of responses) {
        expect(response.status).toBe(status);
        const challenge = response.headers.get('www-authenticate') ?? '';
        expect(challenge).toContain(wanted === undefined ? '' : `scope="${wanted}"`);
        expect(await response.text()).not.toContain('secret');
      }
      // Nothing of the application runs before the requirements are met.
      expect(hooks).toHaveLength(status === 200 ? 2 : 0);
    });
  }

  for (const [name, authorize, status] of authorizations) {
    test(`that authorizes with ${name} is answered with ${status}`, async () => {
      const { responses, hooks } = await answersOf({ authorize });
      for (const response of responses) {
        expect(response.status).toBe(status);
        expect(response.headers.get('www-authenticate')).toBeNull();
        const text = await response.text();
        expect(text).not.toContain('secret');
        if (status === 403)
          expect(JSON.parse(text)).toEqual({ code: 'Unauthorized', description: 'Token does not allow this request' });
      }
      expect(hooks).toHaveLength(status === 200 ? 2 : 0);
    });
  }

  test('is asked in order: the scope, then authorize, and neither without a token', async () => {
    const asked: string[] = [];
    const route = (scope: string) => ({
      scope: () => {
        asked.push('scope');
        return scope;
      },
      authorize: () => {
        asked.push('authorize');
        return true;
      },
    });
    await answersOf(route('a'), { method: 'POST' });
    expect(asked).toEqual([]);
    await answersOf(route('other'));
    expect(asked).toEqual(['scope', 'scope']);
    asked.length = 0;
    await answersOf(route('a'));
    expect(asked.toSorted()).toEqual(['authorize', 'authorize', 'scope', 'scope']);
  });

  test('gets claims, request, params, query, headers and body', async () => {
    const seen: unknown[] = [];
    const authorize = ({ claims, request, params, query, headers, body }: RequirementContext) => {
      seen.push([claims.sub, request.method, params, query, headers['mcp-name'], body]);
      return true;
    };
    await answersOf({ authorize });
    const want = ['client-1', 'POST', { id: '7' }, { tool: 'read' }, 'read-notes', { text: 'a' }];
    expect(seen).toEqual([want, want]);
  });

  test('is asked after the validation of the body', async () => {
    let asked = 0;
    const app = new Elysia().use(resourceServer(offline())).post('/notes/:id', () => 'ok', {
      body: t.Object({ text: t.Number() }),
      authorize: () => {
        asked += 1;
        return true;
      },
    });
    expect((await app.handle(new Request(`http://localhost${path}`, init('a')))).status).toBe(422);
    expect(asked).toBe(0);
  });

  test('judges a scope that each guard of nested ones reads in its own way', async () => {
    const nested = new Elysia()
      .use(resourceServer({ ...offline(), scopePrefix: 'api/' }))
      .use(new Elysia().use(resourceServer(offline())).post('/notes/:id', () => 'ok', { scope: () => 'a' }));
    const statuses: number[] = [];
    for (const scope of ['a', 'api/a', 'a api/a'])
      statuses.push((await nested.handle(new Request(`http://localhost${path}`, init(scope)))).status);
    expect(statuses).toEqual([403, 403, 200]);
  });

  for (const authorize of [true, 'yes', {}, null]) {
    test(`cannot be ${Bun.inspect(authorize)} as authorize`, async () => {
      await expect(answersOf({ authorize })).rejects.toBeInstanceOf(TypeError);
    });
  }
});
