import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { exampleFixture } from '../examples/server-rows.ts';
import { type Global, globals, type Route, routesOf, type Settings } from '../runtimes/nest-marks.ts';
import { run, runToEnd } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import { compiled, installedPackage } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { expected, isClosed, type Token, tokens } from '../support/nest-oracle.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { root } from '../support/repository.ts';

/*
 * All that can be bound to the routes of NestJS, on the oldest and the newest of its releases 10, 11 and 12, with the
 * tarball under Node.js: by HTTP on Express and Fastify, in GraphQL and in gateways.
 */

interface Release {
  readonly name: string;
  readonly core: string;
  readonly fastify?: string;
  readonly websockets?: string;
  readonly ws?: string;
  readonly testing?: string;
  readonly graphql: string;
}
const apollo = (graphql: string, server: string, integrations = '@as-integrations/express5@1.1.2') =>
  `@nestjs/graphql@${graphql} @nestjs/apollo@${graphql} @apollo/server@${server} graphql@16.15.0 ${integrations}`;
const releases: readonly Release[] = [
  { name: 'the oldest 10', core: '10.0.0', graphql: apollo('12.2.1', '4.13.0', '') },
  { name: 'the newest 10', core: '10.4.22', graphql: apollo('12.2.1', '4.13.0', '') },
  { name: 'the oldest 11', core: '11.0.0', ws: '11.0.5', graphql: apollo('13.4.5', '5.5.1') },
  { name: 'the newest 11', core: '11.2.8', websockets: '11.2.6', ws: '11.2.6', graphql: apollo('13.4.5', '5.5.1') },
  { name: 'the oldest 12', core: '12.0.1', testing: '12.0.0', graphql: apollo('14.0.3', '5.5.1') },
  { name: 'the newest 12', core: '12.5.0', websockets: '12.1.1', ws: '12.1.1', graphql: apollo('14.0.3', '5.5.1') },
];
const packagesOf = ({
  core,
  fastify = core,
  websockets = core,
  ws = websockets,
  testing = websockets,
  graphql,
}: Release) =>
  [
    ...['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@${core}`),
    `@nestjs/platform-fastify@${fastify} @nestjs/websockets@${websockets} @nestjs/platform-ws@${ws}`,
    `@nestjs/testing@${testing}`,
    `${graphql} reflect-metadata rxjs`,
  ].join(' ');
const node = nodePath(newestNode);

describe.each(releases)('$name, NestJS $core', (release) => {
  const folder = installedPackage(packagesOf(release));
  const fileOf = (name: string) =>
    startedFor(() => compiled(join(root, 'tests/runtimes', name), folder(), undefined, name));
  const [marks, mistakes] = [fileOf('nest-marks.ts'), fileOf('nest-mistakes.ts')];

  test.each(['express', 'fastify'])('leaves no route open because of a mistake, on %s', async (platform) => {
    const { stdout, stderr } = await runToEnd([node, mistakes()], { PLATFORM: platform });
    expect(stderr).toBe('');
    const [outcomes, replaced] = JSON.parse(stdout);
    expect(replaced, 'with the guards that a test replaces').toEqual([200, 200]);
    for (const [isGood, name, outcome] of outcomes)
      expect([name, outcome, isClosed(isGood, outcome)]).toEqual([name, outcome, true]);
  });

  const start = (transport: Settings['transport'], global: Global, platform = 'express') =>
    exampleFixture(`${transport} ${global} ${platform}`, (environment) =>
      run([node, marks()], { ...environment, TRANSPORT: transport, GLOBAL: global, PLATFORM: platform }),
    );
  type Fixture = ReturnType<typeof start>;
  const headersFor = (fixture: Fixture, token: Token): Record<string, string> => {
    const claims = { sub: 'ada', scope: token === 'the scope' ? 'admin' : 'other' };
    const iss = token === 'another issuer' ? { iss: 'https://stranger.invalid/' } : {};
    if (token === 'no token') return {};
    return bearer(token === 'garbage' ? 'garbage' : fixture().mint({ claims: { ...claims, ...iss } }));
  };
  /** Compares what each route responds with to each token, as text. */
  const compare = async (
    routes: readonly Route[],
    global: Global,
    ask: (token: Token) => Promise<(route: Route) => Promise<string> | string>,
    textOf: (result: ReturnType<typeof expected>) => string,
  ) => {
    for (const token of tokens) {
      const respond = await ask(token);
      const [found, wanted]: [string[], string[]] = [[], []];
      for (const route of routes) {
        found.push(`${route.name}: ${await respond(route)}`);
        wanted.push(`${route.name}: ${textOf(expected(global, route, token))}`);
      }
      expect({ token, found }).toEqual({ token, found: wanted });
    }
  };

  describe.each(['express', 'fastify'])('by HTTP on %s', (platform) => {
    describe.each(globals)('beside the global guard %s', (global) => {
      const fixture = start('http', global, platform);
      test.each(['own', 'inherited', 'overridden'] as const)('%s marks and guards', async (kind) =>
        compare(
          routesOf(kind),
          global,
          async (token) =>
            async ({ name }) => {
              const response = await fixture().service.fetch(`/${name}`, { headers: headersFor(fixture, token) });
              return `${response.status} ${response.ok ? await response.text() : ''}`;
            },
          ({ status, who }) => `${status} ${who}`,
        ),
      );
    });
  });

  describe.each(globals)('in GraphQL, beside the global guard %s', (global) => {
    const fixture = start('graphql', global);
    test('marks and guards of resolvers', async () => {
      const routes = routesOf('own');
      await compare(
        routes,
        global,
        async (token) => {
          const headers = { 'content-type': 'application/json', ...headersFor(fixture, token) };
          const body = JSON.stringify({ query: `{ ${routes.map(({ name }) => name).join(' ')} }` });
          const response = await fixture().service.fetch('/graphql', { method: 'POST', headers, body });
          const { data, errors = [] } = Object(await response.json());
          const found = new Map(errors.map(({ path, extensions }: GraphqlError) => [path[0], extensions.code]));
          return ({ name }) => (data[name] === null ? String(found.get(name)) : 'handled');
        },
        ({ status }) => texts[status] ?? '',
      );
    });
  });

  describe('in gateways', () => {
    const fixture = start('ws', 'nothing');
    test('marks and guards of handlers', async () =>
      compare(
        routesOf('own'),
        'nothing',
        async (token) => {
          const origin = fixture().service.origin.replace('http', 'ws');
          const socket = new WebSocket(origin, { headers: headersFor(fixture, token) });
          await new Promise((resolve) => socket.addEventListener('open', resolve));
          return async ({ name }) => {
            const answer = new Promise<string>((resolve) => {
              socket.addEventListener('message', ({ data }) => resolve(String(data)), { once: true });
            });
            socket.send(JSON.stringify({ event: name }));
            const said = JSON.parse(await answer);
            return typeof said === 'string' ? 'handled' : (codes[said.data.error] ?? '');
          };
        },
        ({ status }) => texts[status] ?? '',
      ));
  });
});

/** The fields and messages of one request share what it was accepted with, so what a handler knows says nothing. */
const texts: Readonly<Record<number, string>> = { 200: 'handled', 401: 'UNAUTHENTICATED', 403: 'FORBIDDEN' };
const codes: Readonly<Record<string, string>> = {
  missing_token: 'UNAUTHENTICATED',
  invalid_token: 'UNAUTHENTICATED',
  insufficient_scope: 'FORBIDDEN',
};

interface GraphqlError {
  readonly path: readonly string[];
  readonly extensions: { readonly code: string };
}
