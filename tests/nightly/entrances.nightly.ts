import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { exampleFixture } from '../examples/server-rows.ts';
import { run } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import { installLocked } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { rawRequest } from '../support/raw-http.ts';

/*
 * Packages that bring routes and WebSockets into a framework, with the tarball: whether they ask the guard, and what
 * the pages of their frameworks and docs/guides/websockets.md say where they do not.
 */

const folder = startedFor(() => installLocked('nightly/frameworks', 'entrances.mjs'));
const fixture = exampleFixture('frameworks/entrances.mjs', async (environment) =>
  run([nodePath(newestNode), join(folder(), 'entrances.mjs')], environment),
);
const originOf = async (name: string): Promise<string> => {
  const ports = Object(await (await fixture().service.fetch('/')).json());
  expect(ports).toHaveProperty([name]);
  return `http://127.0.0.1:${ports[name]}`;
};

const scope = 'read:messages';
const tokens = {
  'no token': undefined,
  'no scope': '',
  'the scope': scope,
};
const headersWith = (token: keyof typeof tokens) => {
  const granted = tokens[token];
  return granted === undefined ? {} : bearer(fixture().mint({ claims: { scope: granted, sub: 'ada' } }));
};

/**
 * Opens a WebSocket, and resolves to its first message, or to the status and the challenge of the response, or to the
 * close code.
 */
async function talk(name: string, path: string, headers: Record<string, string>): Promise<string> {
  const url = `${await originOf(name)}${path}`;
  return new Promise((resolve) => {
    const socket = new WebSocket(url.replace('http', 'ws'), { headers });
    socket.onmessage = ({ data }) => resolve(String(data));
    socket.onclose = ({ code }) => resolve(`closed ${code}`);
  });
}

/** Sends what a client of WebSockets sends, and resolves to the status and the challenge. */
async function handshake(name: string, path: string, headers: Record<string, string>) {
  const lines = Object.entries({
    Host: 'localhost',
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  }).map(([header, value]) => `${header}: ${value}`);
  const { status, headers: sent } = await rawRequest(await originOf(name), [`GET ${path} HTTP/1.1`, ...lines]);
  return [status, sent.get('www-authenticate')];
}

const challenge = `Bearer scope="${scope}"`;

describe('a WebSocket', () => {
  test.each([
    ['@fastify/websocket', 'ada'],
    ['@fastify/http-proxy', 'proxied'],
    ['@hono/node-ws', 'ada'],
    ['express-ws', 'ada'],
  ])('of %s is opened with the scope', async (name, said) =>
    expect(await talk(name, '/events', headersWith('the scope'))).toBe(said),
  );

  test.each([
    ['@fastify/websocket', 'no token', 401, challenge],
    ['@fastify/websocket', 'no scope', 403, expect.stringContaining(scope)],
    ['@fastify/http-proxy', 'no token', 401, challenge],
    ['@fastify/http-proxy', 'no scope', 403, expect.stringContaining(scope)],
    // It sends the status alone.
    ['@hono/node-ws', 'no token', 401, null],
    ['@hono/node-ws', 'no scope', 403, null],
  ] as const)('of %s is not opened with %s', async (name, token, status, named) =>
    expect(await handshake(name, '/events', headersWith(token))).toEqual([status, named]),
  );

  test.each(['no token', 'no scope'] as const)('of express-ws is opened and closed at once with %s', async (token) =>
    expect(await talk('express-ws', '/events', headersWith(token))).toBe('closed 1005'),
  );

  test('of express-ws hangs if its middleware is the guard, and the handler does not run', async () => {
    const silence = new Promise((resolve) => setTimeout(resolve, 1000, 'silence'));
    const talked = talk('express-ws', '/given-the-guard', headersWith('the scope'));
    expect(await Promise.race([talked, silence])).toBe('silence');
  });
});

/** Where a package does not ask a guard, its row says 200. The last request of such a pair is the form of the page. */
test.each([
  ['@fastify/express', '/admin/users', 401],
  ['@fastify/express', '/%61dmin/users', 401],
  ['@fastify/express', '//ADMIN/users', 401],
  ['@koa/router', '/used/users', 401],
  ['@koa/router', '/USED/users', 200],
  ['@koa/router', '/SENSITIVE/users', 404],
  ['@koa/router', '/ROUTED/users', 401],
  ['hono, /one*', '/one/users', 401],
  ['hono, /*/two/*', '/acme/two/users', 401],
  ['hono 4.7, /one*', '/one/users', 200],
  ['hono 4.7, /*/two/*', '/acme/two/users', 200],
  ['hono 4.7, /three/*', '/three/users', 401],
  ['express', '/beside/users', 401],
  ['express', '/BESIDE/users', 401],
  ['express', '/before//users', 401],
] as const)('%s responds at %s to a stranger with %i', async (name, path, status) => {
  const origin = await originOf(name);
  const lines = [`GET ${path} HTTP/1.1`, 'Host: localhost', 'Connection: close'];
  expect((await rawRequest(origin, lines)).status).toBe(status);
});

test.each([
  ['a good API key', () => ({ 'x-api-key': 'key' })],
  ['a good token', () => headersWith('the scope')],
])('some() of Hono 4.7 accepts what one of two ways accepts: %s', async (_, headers) =>
  expect((await fetch(`${await originOf('hono 4.7, some()')}/users`, { headers: headers() })).status).toBe(200),
);
