import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { sendUncopied } from '../../src/http/plugin.ts';
import { open } from '../support/raw-http.ts';

/** Each test holds a behaviour that `src/http/plugin.ts` relies on. When one fails, that file has to change with it. */
const request = (url = 'http://localhost/') => new Request(url);
const teapot = () => new Response('teapot', { status: 418 });

describe('Elysia', () => {
  test('runs wrap() of a plugin, with the same function for each request', async () => {
    const given = new Set<unknown>();
    const plugin = new Elysia().wrap((fetch) => {
      given.add(fetch);
      return teapot;
    });
    const app = new Elysia().use(plugin);
    for (let count = 0; count < 3; count += 1) expect((await app.fetch(request())).status).toBe(418);
    expect(given.size).toBe(1);
  });

  for (const isUncopied of [true, false])
    test(`${isUncopied ? 'sends' : 'copies'} a Response of onError when the status of set is ${isUncopied ? 200 : 500}`, async () => {
      const response = teapot();
      const app = new Elysia()
        .onError(({ set }) => {
          if (isUncopied) sendUncopied(set);
          return response;
        })
        .get('/', () => {
          throw new Error('expected');
        });
      const sent = await app.fetch(request());
      expect(sent === response).toBe(isUncopied);
      expect(sent.status).toBe(418);
    });

  test('sends the text of an Error that a handler returns', async () => {
    const app = new Elysia().get('/', () => new Error('secret'));
    expect(await (await app.fetch(request())).text()).toContain('secret');
  });
});

describe('Bun', () => {
  test('answers no other request after a CONNECT, and leaves the connection open', async () => {
    using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('answer') });
    const socket = await open(server.port ?? 0);
    let received = '';
    let isClosed = false;
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.on('close', () => {
      isClosed = true;
    });
    const ask = (line: string) => socket.write(`${line} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await new Promise((answered) => {
      socket.once('data', answered);
      ask('CONNECT localhost:80');
    });
    ask('GET /');
    // By the time that another connection has its answer, this one would have had it too.
    for (let count = 0; count < 10; count += 1) await fetch(server.url);
    expect({ answers: received.match(/HTTP\/1\.1/g), isClosed }).toEqual({ answers: ['HTTP/1.1'], isClosed: false });
    socket.destroy();
  });
});
