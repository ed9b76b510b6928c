import { describe, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { type ProbeOptions, probe } from '../../src/probe/index.ts';
import { operationsOf } from '../../src/probe/options/openapi.ts';
import type { Verdict } from '../../src/probe/report/result.ts';
import { plan, runProbe } from '../../src/probe/run/probe.ts';
import { isAllowedInMetadata } from '../../src/probe/values/url.ts';
import { listen } from '../support/raw-http.ts';

const reject = () => new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
const documentOf = (...paths: readonly string[]) => ({
  openapi: '3.1.0',
  security: [{ bearer: [] }],
  paths: Object.fromEntries(paths.map((path) => [path, { get: {} }])),
});

describe('an OpenAPI document', () => {
  const paths = [
    '.evil.example/x',
    '0/x',
    '@evil.example/x',
    '//evil.example/x',
    '\\\\evil.example/x',
    ':81/x',
    '/good',
  ];

  test.each(['https://api.invalid/docs/openapi.json', 'https://api.invalid', undefined])(
    'at %s sends no request to another host than its own',
    async (baseUrl) => {
      const hosts = new Set<string>();
      const { token } = await createTestIssuer();
      const fetch = (request: Request) => {
        hosts.add(new URL(request.url).host);
        return reject();
      };
      await probe({ openapi: documentOf(...paths), baseUrl, fetch, token: await token(), only: ['control'] });
      expect([...hosts]).toEqual(['api.invalid']);
    },
  );
});

/** What documents of other people have, and what an attacker may write. */
describe('operationsOf()', () => {
  const security = [{ bearer: [] }];
  const at = (name: string, more: object) => ({ parameters: [{ name, in: 'path', ...more }] });
  type Found = readonly [what: string, document: object, path: string | undefined];
  test.each<Found>([
    ['a path that is a reference', { paths: { '/a': { $ref: '#/x/a' } }, x: { a: { get: {} } } }, '/a'],
    [
      'a reference that no decoder reads',
      { paths: { '/a/{b}': { get: { parameters: [{ $ref: '#/%E0' }] } } } },
      '/a/1',
    ],
    ['an example of a parameter', { paths: { '/{a}': { get: at('a', { example: 'x/y' }) } } }, '/x%2Fy'],
    ['a named example', { paths: { '/{a}': { get: at('a', { examples: { b: { value: 7 } } }) } } }, '/7'],
    ['values of a schema', { paths: { '/{a}': { get: at('a', { schema: { enum: ['red'] } }) } } }, '/red'],
    ['half a surrogate pair', { paths: { '/{a}': { get: at('a', { example: 'x\ud800' }) } } }, '/x'],
    ['an object as an example', { paths: { '/{a}': { get: at('a', { example: {} }) } } }, '/1'],
    [
      'a parameter that the query must have',
      { paths: { '/a': { get: { parameters: [{ name: 'q', in: 'query', required: true, example: 'x&y' }] } } } },
      '/a?q=x%26y',
    ],
    [
      'a server with a variable',
      { servers: [{ url: '/{v}', variables: { v: { default: 'v2' } } }], paths: { '/a': { get: {} } } },
      '/v2/a',
    ],
    [
      'an operation for a key',
      { paths: { '/a': { get: {} } }, components: { securitySchemes: { bearer: { type: 'apiKey' } } } },
      undefined,
    ],
    [
      'an operation whose security is optional',
      { paths: { '/a': { get: { security: [{}, ...security] } } } },
      undefined,
    ],
    ['items of a list', { paths: { '/{a}': { get: at('a', { schema: { items: { enum: ['red'] } } }) } } }, '/red'],
    ['a path of Swagger 2', { swagger: '2.0', basePath: '/v1', paths: { '/a': { get: {} } } }, '/v1/a'],
    [
      'a document of FastAPI',
      {
        openapi: '3.1.0',
        security: undefined,
        components: { securitySchemes: { HTTPBearer: { type: 'http', scheme: 'bearer' } } },
        paths: {
          '/items/{id}': {
            get: {
              security: [{ HTTPBearer: [] }],
              parameters: [
                { name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid', title: 'Id' } },
                { name: 'q', in: 'query', required: false, schema: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
              ],
            },
          },
        },
      },
      '/items/00000000-0000-4000-8000-000000000001',
    ],
    [
      'a document of springdoc',
      {
        openapi: '3.1.0',
        servers: [{ url: 'http://localhost:8080', description: 'Generated server url' }],
        security: [{ 'bearer-key': [] }],
        components: { securitySchemes: { 'bearer-key': { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } },
        paths: {
          '/orders/{id}': {
            get: {
              tags: ['order-controller'],
              parameters: [
                { name: 'id', in: 'path', required: true, schema: { type: 'integer', format: 'int64' } },
                { name: 'day', in: 'query', required: true, schema: { type: 'string', format: 'date' } },
              ],
            },
          },
        },
      },
      '/orders/1?day=2026-01-01',
    ],
    [
      'a document of Swashbuckle, whose bearer token is a key',
      {
        openapi: '3.0.4',
        security: [{ Bearer: [] }],
        components: {
          securitySchemes: {
            Bearer: { type: 'apiKey', name: 'Authorization', in: 'header', description: 'Bearer {token}' },
          },
        },
        paths: { '/WeatherForecast': { get: { tags: ['WeatherForecast'], operationId: 'GetWeatherForecast' } } },
      },
      '/WeatherForecast',
    ],
    ['100 KB of braces', { paths: { [`/a${'{'.repeat(100_000)}`]: {}, '/b': { get: {} } } }, '/b'],
  ])('reads %s', (_, document, path) => {
    const { targets, notTried } = operationsOf({ security, ...document }, 'https://api.invalid/openapi.json');
    expect(targets.map(({ url }) => url)).toEqual(path === undefined ? [] : [`https://api.invalid${path}`]);
    expect(notTried).toHaveLength(path === undefined ? 1 : 0);
  });

  const many = 30_000;
  const listed = Array.from({ length: many }, (_, at) => ({ name: `p${at}`, in: 'path', example: at }));
  const named = Object.fromEntries(listed.map(({ name }) => [name, at(name, {})]));
  const pathsOf = (operation: object) =>
    Object.fromEntries(listed.map(({ name }) => [`/${name}`, { get: { ...operation } }]));
  const slots = listed.map(({ name }) => `/{${name}}`).join('');
  const long = [{ name: 'a', in: 'path', example: 'x'.repeat(500_000) }];
  test.each<[what: string, document: object]>([
    ['braces without an end', { paths: { [`/${'{a'.repeat(500_000)}`]: { get: {} } } }],
    ['as many parameters as placeholders', { paths: { [slots]: { get: { parameters: listed } } } }],
    [
      'paths that refer to one large item',
      { paths: Object.fromEntries(listed.map(({ name }) => [`/${name}`, { $ref: '#/x' }])), x: { get: {}, ...named } },
    ],
    ['operations that share one long list of schemes', { paths: pathsOf({}), security: Array(many).fill({ a: [] }) }],
    ['a long example in many places', { paths: { [`/${'{a}'.repeat(many)}`]: { get: { parameters: long } } } }],
    [
      'a long variable in many places of a server',
      { servers: [{ url: `/${'{a}'.repeat(many)}`, variables: { a: { default: 'x'.repeat(500_000) } } }], paths: {} },
    ],
    [
      'one large schema of many parameters',
      {
        paths: { [slots]: { get: { parameters: listed.map((one) => ({ ...one, schema: { $ref: '#/x' } })) } } },
        x: named,
      },
    ],
  ])('takes linear time for %s', (_, document) => {
    const start = performance.now();
    operationsOf({ security, ...document }, undefined);
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  test('takes so many operations of a document, and says how many are left', () => {
    const { targets, notTried } = operationsOf({ security, paths: pathsOf({}) }, undefined);
    expect(targets).toHaveLength(500);
    expect(notTried).toEqual(['29500 more operations: a run takes 500, name the others as targets']);
  });

  test.each(['javascript:alert(1)', 'file:///etc', 'http://'])('names the fault of the server %s', (url) =>
    expect(() => operationsOf({ servers: [{ url }], paths: {} }, undefined)).toThrow(
      'Cannot probe an OpenAPI document',
    ),
  );
});

/** What a terminal obeys: escape sequences, line ends, C1 controls, and marks of direction. */
const control = '\u001b[2J\r\nX: y\u009b31m\u202e';
const isPlain = (text: string) => /^[\x20-\x7e\n§…]*$/.test(text);

describe('what a server says is printed escaped', () => {
  const hostile = `/a${control}`;

  test('in the report, as text and as JSON, and in what would be sent', async () => {
    const openapi = { ...documentOf(hostile), paths: { [hostile]: { get: { security: [] } }, '/b': { get: {} } } };
    const metadata = { resource: control, authorization_servers: [control], [control]: [] };
    const fetch = ({ url }: Request) => (url.includes('.well-known') ? Response.json(metadata) : reject());
    const report = await probe({ openapi, fetch });
    expect(report.notTried).toEqual([expect.stringContaining('\\u001b[2J')]);
    expect(report.rows.filter(({ got }) => got.includes('\\u001b')).length).toBeGreaterThan(1);
    for (const text of [report.render(), JSON.stringify(report.rows), JSON.stringify(report.notTried)])
      expect(isPlain(text)).toBe(true);
    expect(plan({ openapi }, 'nothing').every(isPlain)).toBe(true);
  });
});

describe('a token that a server keeps and sends back is not printed', () => {
  test.each<[where: string, headers: (token: string) => Record<string, string>]>([
    ['as the scheme', (token) => ({ 'www-authenticate': token })],
    ['as an error code', (token) => ({ 'www-authenticate': `Bearer error="${token.slice(-50)}"` })],
    ['in pieces', (token) => ({ 'www-authenticate': `Bearer a="${token.match(/.{1,20}/g)?.join('", a="')}"` })],
    ['in Cache-Control', (token) => ({ 'cache-control': `max-age=60, x="${token}"` })],
  ])('%s', async (_, headersOf) => {
    const { token: mint } = await createTestIssuer();
    const token = await mint();
    let kept = '';
    const fetch = ({ headers }: Request) => {
      const given = headers.get('authorization')?.replace('Bearer ', '');
      if (given === token) kept = token;
      return given === token ? Response.json({ a: 1 }) : new Response(null, { status: 401, headers: headersOf(kept) });
    };
    const got: string[] = [];
    const onRow: ProbeOptions['onRow'] = (row) => void got.push(row.got);
    const report = await probe({ targets: ['https://api.invalid/'], token, fetch, onRow });
    const shown = [report.render(), JSON.stringify(report.rows), ...got].join('\n');
    for (let at = 0; at + 20 <= token.length; at += 1) expect(shown).not.toContain(token.slice(at, at + 20));
    expect(shown).toContain('***');
  });
});

describe('the row leak-stack', () => {
  const verdictOf = async (body: string) => {
    const fetch = () => new Response(body, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
    const { rows } = await probe({ targets: ['https://api.invalid/'], fetch, only: ['leak-stack'] });
    return rows.find(({ id }) => id === 'leak-stack')?.verdict;
  };
  const trace = 'Error: x\n    at check (/srv/app/index.js:10:5)\n    at async file:///srv/app/main.js:1:2';

  // An expression that goes back over the text again and again would take minutes, and block the time limit too.
  const bodies: readonly (readonly [what: string, body: string, verdict: Verdict])[] = [
    ['a trace', trace, 'warning'],
    ['a trace within JSON', JSON.stringify({ error: trace }), 'warning'],
    ['a trace of node:internal', 'x\n    at node:internal/main/run:1:2', 'warning'],
    ['a URL and a time', 'The service moved at https://api.example.com/status 12:30:45', 'passed'],
    ['a line with a URL and a time', 'Seen\nat https://api.example.com/ 12:30:45', 'passed'],
    ['64 KB of beginnings of a trace', '\n at a/'.repeat(9000), 'passed'],
    ['64 KB of one line of a trace', `\n at ${'a/:1:'.repeat(12_000)}`, 'passed'],
    ['64 KB of blanks', `\n${' at '.repeat(16_000)}`, 'passed'],
  ];
  for (const [what, body, verdict] of bodies)
    test(`says of ${what}: ${verdict}`, async () => expect(await verdictOf(body)).toBe(verdict));
});

test.each<[url: string, issuer: string, isAllowed: boolean]>([
  ['https://id.example.test/token', 'https://id.example.test/', true],
  ['http://127.0.0.1:9/token', 'http://localhost:9/', true],
  ['http://127.0.0.1:9/token', 'https://id.example.test/', false],
  ['https://localhost/token', 'https://id.example.test/', false],
  ['http://id.example.test/token', 'https://id.example.test/', false],
])('the metadata of an issuer may name %s beside %s: %s', (url, issuer, isAllowed) =>
  expect(isAllowedInMetadata(url, issuer)).toBe(isAllowed),
);

describe('a server', () => {
  test('that switches protocols for every request does not hold the run', async () => {
    const server = createServer();
    server.on('connection', (socket) => {
      socket.on('error', () => {});
      socket.on('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
      );
    });
    const url = `http://127.0.0.1:${await listen(server)}/`;
    const report = await probe({ targets: [url], only: ['credentials'] });
    expect(report.failed.length + report.inconclusive.length).toBeGreaterThan(0);
    server.closeAllConnections();
    server.close();
  });

  test.each([
    ['ends', false, 'Not tried: the server has ended'],
    ['ends and is started again', true, undefined],
  ])('that %s at a row fails that row', async (_, isSupervised, after) => {
    const { token } = await createTestIssuer();
    let server = create();
    const port = await listen(server);
    const url = `http://127.0.0.1:${port}/`;
    function create() {
      const created = createServer((request, response) => {
        const isGood = request.headers.authorization === `Bearer ${good}`;
        if (request.headers.authorization !== 'Basic')
          return void response.writeHead(isGood ? 200 : 401).end(`${isGood}`);
        created.closeAllConnections();
        created.close();
      });
      return created;
    }
    const good = await token();
    // A supervisor takes some time.
    const clock = {
      now: Date.now,
      async sleep() {
        if (!isSupervised || server.listening) return;
        server = create();
        await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
      },
    };
    const report = await runProbe(
      { targets: [url], token: good, only: ['error-header', 'error-json'] },
      undefined,
      clock,
    );
    const of = (row: string) => report.rows.find(({ id }) => id === row);
    expect(of('error-header')).toMatchObject({
      verdict: 'failed',
      level: 'must',
      got: expect.stringContaining('has ended'),
    });
    expect(of('error-json')).toMatchObject(
      after === undefined ? { verdict: 'passed' } : { verdict: 'inconclusive', got: after },
    );
    server.close();
  });
});
