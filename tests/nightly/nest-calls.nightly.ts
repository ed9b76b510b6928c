import { describe, expect, test } from 'bun:test';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { exampleFixture } from '../examples/server-rows.ts';
import { type Environment, freePort, run } from '../support/child-process.ts';
import { installedPackage } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';

/*
 * Calls of NestJS in other packages than tests/runtimes/nest-calls.runtimes.ts has: Mercurius, subscriptions, gateways
 * with ws, fields of a type, and a microservice that does not inherit the guard.
 */

const nest = 'common core platform-express platform-fastify platform-socket.io platform-ws websockets microservices';
const packages = [
  ...nest.split(' ').map((name) => `@nestjs/${name}@12.1.1`),
  '@nestjs/graphql@14.0.3 @nestjs/apollo@14.0.3 @nestjs/mercurius@14.0.0 mercurius@16.10.1 @apollo/server@5.5.1',
  'graphql@16.15.0 @as-integrations/express5@1.1.2 @as-integrations/fastify@3.1.0 graphql-ws@6.0.8 ws@8.23.0 socket.io-client@4.8.4',
  'reflect-metadata rxjs',
].join(' ');
const folder = installedPackage(packages, 'runtimes', ['nest-calls.mjs']);
const start = (others: Environment) =>
  exampleFixture('tests/runtimes/nest-calls.mjs', async (environment) => {
    const settings = { ...environment, ...others, TCP_PORT: String(await freePort()) };
    return run([nodePath(newestNode), join(folder(), 'nest-calls.mjs')], settings);
  });

const scope = 'read:messages';
const rows = [
  ['no token', undefined],
  ['no scope', ''],
  ['the scope', scope],
] as const;
type Fixture = ReturnType<typeof start>;
const headersOf = (fixture: Fixture, granted: string | undefined) =>
  granted === undefined ? {} : bearer(fixture().mint({ claims: { scope: granted } }));

async function query(fixture: Fixture, text: string, granted: string | undefined) {
  const headers = { 'content-type': 'application/json', ...headersOf(fixture, granted) };
  const body = JSON.stringify({ query: text });
  const response = await fixture().service.fetch('/graphql', { method: 'POST', headers, body });
  const { data, errors } = Object(await response.json());
  return [data, errors?.[0]?.extensions.code];
}

/** Subscribes over a WebSocket, and resolves to the first value, or to the code of an error. */
function subscribe(fixture: Fixture, granted: string | undefined): Promise<string> {
  const { createClient } = createRequire(join(folder(), 'x.js'))('graphql-ws');
  const headers = headersOf(fixture, granted);
  const client = createClient({
    url: `${fixture().service.origin.replace('http', 'ws')}/graphql`,
    retryAttempts: 0,
    webSocketImpl: class extends WebSocket {
      constructor(url: string, protocols: string) {
        super(url, { headers, protocols });
      }
    },
  });
  interface Result {
    readonly data?: { readonly ticks?: string };
    readonly errors?: readonly { readonly extensions: { readonly code: string } }[];
  }
  return new Promise<string>((resolve) => {
    client.subscribe(
      { query: 'subscription { ticks }' },
      {
        next: ({ data, errors }: Result) => resolve(errors?.[0]?.extensions.code ?? String(data?.ticks)),
        error: ([error]: NonNullable<Result['errors']>) => resolve(error?.extensions.code ?? ''),
        complete: () => resolve('complete'),
      },
    );
  }).finally(() => client.dispose());
}
const expected = { 'no token': 'UNAUTHENTICATED', 'no scope': 'FORBIDDEN', 'the scope': 'tick' };

describe.each([
  ['Mercurius', { PLATFORM: 'fastify', MERCURIUS: 'true' }],
  ['Apollo Server on Express', { PLATFORM: 'express' }],
  ['Apollo Server on Fastify', { PLATFORM: 'fastify' }],
])('%s', (_, environment) => {
  const plain = start({ ...environment, SUBSCRIPTIONS: 'true' });
  const withFields = start({ ...environment, FIELDS: 'true', WITHOUT_GUARDED_MESSAGES: 'true' });

  test.each(rows)('a query with %s', async (name, granted) =>
    expect(await query(plain, '{ reports health }', granted)).toEqual([
      { messages: granted === scope ? 'client-1' : null, health: 'ok' },
      granted === scope ? undefined : expected[name],
    ]),
  );

  test.each(rows)('a subscription with %s', async (name, granted) =>
    expect(await subscribe(plain, granted)).toBe(expected[name]),
  );

  test('a field of a public query is checked with fieldResolverEnhancers only', async () => {
    expect(await query(plain, '{ note { secret } }', undefined)).toEqual([{ note: { secret: 'secret' } }, undefined]);
    expect(await query(withFields, '{ note { secret } }', undefined)).toEqual([
      { note: { secret: null } },
      'UNAUTHENTICATED',
    ]);
    expect(await query(withFields, '{ note { secret } }', 'admin')).toEqual([
      { note: { secret: 'secret' } },
      undefined,
    ]);
  });

  test('a message of a microservice is rejected with inheritAppConfig only', async () => {
    const sent = (fixture: Fixture) => fixture().service.fetch('/send/sum');
    expect(await (await sent(plain)).json()).toMatchObject({ error: { status: 'error' } });
    expect(await (await sent(withFields)).json()).toEqual({ value: 1 });
  });
});

/** Sends a message to the gateway, and resolves to the event and its data that it responds with. */
const speaking = {
  ws: (origin: string, headers: Record<string, string>) =>
    new Promise<unknown>((resolve) => {
      const socket = new WebSocket(origin.replace('http', 'ws'), { headers });
      socket.onmessage = ({ data }) => resolve(JSON.parse(data));
      socket.onopen = () => socket.send(JSON.stringify({ event: 'say', data: 'hello' }));
    }),
  'socket.io': (origin: string, extraHeaders: Record<string, string>) =>
    new Promise<unknown>((resolve) => {
      const { io } = createRequire(join(folder(), 'x.js'))('socket.io-client');
      const socket = io(origin, { extraHeaders, transports: ['websocket'], reconnection: false });
      for (const event of ['said', 'exception']) socket.on(event, (data: unknown) => resolve({ event, data }));
      socket.emit('say', 'hello');
    }),
};

describe.each(['ws', 'socket.io'] as const)('a gateway with %s', (SOCKETS) => {
  const plain = start({ PLATFORM: 'express', SOCKETS });
  const filtered = start({ PLATFORM: 'express', SOCKETS, FILTER: 'true' });
  const speak = (fixture: Fixture, granted: string | undefined) =>
    speaking[SOCKETS](fixture().service.origin, headersOf(fixture, granted));

  test.each([
    ['no token', undefined, 'missing_token'],
    ['no scope', '', 'insufficient_scope'],
  ])('called with %s', async (_, granted, error) => {
    expect(await speak(plain, granted)).toMatchObject({ event: 'exception', data: { status: 'error' } });
    // The filter of the page.
    expect(await speak(filtered, granted)).toMatchObject({ event: 'exception', data: { error } });
  });

  test('called with the scope', async () =>
    expect(await speak(plain, scope)).toEqual({ event: 'said', data: 'client-1: hello' }));
});
