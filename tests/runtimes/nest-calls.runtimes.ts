import { describe, expect, test } from 'bun:test';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { exampleFixture } from '../examples/server-rows.ts';
import { type Environment, freePort, run } from '../support/child-process.ts';
import { installedPackage } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { isNight, newestNode, nodePath } from '../support/node-versions.ts';

const scope = 'read:messages';

/** What fits together: NestJS, its packages for GraphQL with Apollo Server, and those that have its version. */
const releases: readonly (readonly [nest: string, graphql: string, apollo: string, others: string])[] = [
  ['10.4.20', '12.2.1', '4.13.0', '@as-integrations/fastify@2.1.1'],
  ['11.1.9', '13.4.5', '5.5.1', '@as-integrations/express5@1.1.2 @as-integrations/fastify@3.1.0'],
  ['12.1.1', '14.0.3', '5.5.1', '@as-integrations/express5@1.1.2 @as-integrations/fastify@3.1.0'],
];
const packagesOf = ([nest, graphql, apollo, others]: (typeof releases)[number]) =>
  [
    ...[
      'common',
      'core',
      'platform-express',
      'platform-fastify',
      'platform-socket.io',
      'websockets',
      'microservices',
    ].map((name) => `@nestjs/${name}@${nest}`),
    ...['graphql', 'apollo'].map((name) => `@nestjs/${name}@${graphql}`),
    `@apollo/server@${apollo} graphql@16.15.0 socket.io-client@4.8.4 ${others}`,
  ].join(' ');

const platforms = ['express', 'fastify'];
const all = releases.flatMap((release) => platforms.map((platform) => [release, platform] as const));
for (const [release, platform] of isNight ? all : all.slice(-2, -1))
  describe(`every kind of call of NestJS ${release[0]} on ${platform}, with the tarball under Node.js`, () => {
    const folder = installedPackage(`${packagesOf(release)} reflect-metadata rxjs`, 'runtimes', ['nest-calls.mjs']);
    const start = (others: Environment) =>
      exampleFixture('tests/runtimes/nest-calls.mjs', async (environment) => {
        const settings = { ...environment, ...others, PLATFORM: platform, TCP_PORT: String(await freePort()) };
        return run([nodePath(newestNode), join(folder(), 'nest-calls.mjs')], settings);
      });
    const fixture = start({});
    const guardedConnections = start({ GUARDED_CONNECTIONS: 'true' });
    const tokenWith = (granted: string) => fixture().mint({ claims: { scope: granted } });
    const handled = async () => (await fixture().service.fetch('/messages/handled')).json();

    async function query(text: string, headers: Record<string, string> = {}) {
      const response = await fixture().service.fetch('/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query: text }),
      });
      const { data, errors } = Object(await response.json());
      const { message, extensions } = Object(errors?.[0]);
      return { data, code: extensions?.code, message, challenge: response.headers.get('www-authenticate') };
    }

    // The context of a query has no reply of Fastify, unless an application adds it.
    const challengeOf = (named: string) => (platform === 'express' ? expect.stringContaining(named) : null);

    test('a query with the scope gets its data', async () =>
      expect(await query('{ reports health }', bearer(tokenWith(scope)))).toMatchObject({
        data: { reports: 'client-1', health: 'ok' },
        code: undefined,
      }));

    test('a query without a token gets UNAUTHENTICATED, and what is public', async () =>
      expect(await query('{ reports health }')).toEqual({
        data: { reports: null, health: 'ok' },
        code: 'UNAUTHENTICATED',
        message: 'Authorization header is expected',
        challenge: challengeOf(`Bearer scope="${scope}"`),
      }));

    test('a mutation without the scope gets FORBIDDEN, and does not run', async () => {
      expect(await query('mutation { add }', bearer(tokenWith(scope)))).toMatchObject({
        code: 'FORBIDDEN',
        message: 'Token does not have the scope that this resource requires',
        challenge: challengeOf('scope="write:messages"'),
      });
      expect(await handled()).not.toContain('add');
    });

    test('a route responds as ever', async () => {
      const { service } = fixture();
      expect((await service.fetch('/messages')).headers.get('www-authenticate')).toBe(`Bearer scope="${scope}"`);
      const response = await service.fetch('/messages', { headers: bearer(tokenWith(scope)) });
      expect(await response.json()).toEqual({ hello: 'client-1' });
    });

    test('a message of a microservice is rejected, unless its handler is public', async () => {
      const { service } = fixture();
      expect(await (await service.fetch('/send/open')).json()).toEqual({ value: 'open' });
      const rejected = await (await service.fetch('/send/sum')).json();
      expect(rejected).toMatchObject({ error: { status: 'error' } });
      expect(await handled()).not.toContain('sum');
    });

    test.each([
      ['with the scope', () => bearer(tokenWith(scope)), { said: 'client-1: hello' }],
      ['without the scope', () => bearer(tokenWith('')), { exception: 'error' }],
      ['without a token', () => ({}), { exception: 'error' }],
    ])('a gateway, called %s', async (_, headers, expected) => {
      const { io } = createRequire(join(folder(), 'x.js'))('socket.io-client');
      const socket = io(fixture().service.origin, { extraHeaders: headers(), transports: ['websocket'] });
      const received = await new Promise((resolve, reject) => {
        socket.on('said', (said: string) => resolve({ said }));
        socket.on('exception', ({ status }: { status: string }) => resolve({ exception: status }));
        socket.on('connect_error', reject);
        socket.emit('say', 'hello');
      });
      socket.close();
      expect(received).toEqual(expected);
    });

    test.each([
      ['a gateway connects a client without a token', fixture, () => ({}), 'connected'],
      ['requireToken() at its engine connects none', guardedConnections, () => ({}), 'rejected'],
      [
        'requireToken() at its engine connects one with a token',
        guardedConnections,
        () => bearer(guardedConnections().mint()),
        'connected',
      ],
    ] as const)('%s', async (_, at, headers, expected) => {
      const { io } = createRequire(join(folder(), 'x.js'))('socket.io-client');
      const options = { extraHeaders: headers(), transports: ['websocket'], reconnection: false };
      const socket = io(at().service.origin, options);
      const outcome = await new Promise((resolve) => {
        socket.on('connect', () => resolve('connected'));
        socket.on('connect_error', () => resolve('rejected'));
      });
      socket.close();
      expect(outcome).toBe(expected);
    });
  });
