import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { elysiaOptions } from '../../src/http/plugin.ts';
import { createRouteTable } from '../../src/http/route-table.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'];
const PATHS = [
  ...['/', '/notes', '/notes/', '/notes/new', '/notes/1', '/notes/1/tags', '/notes/1/x', '/files/a', '/files/a/b'],
  ...['/none', '/a%20b', '/%C3%A9', '/%C3%A9/1', '/notes/a%2Fb', '/NOTES'],
];

const applications: readonly (readonly [name: string, ...routes: readonly string[]])[] = [
  ['fixed paths', 'GET /', 'POST /notes', 'PUT /notes'],
  ['a pattern before another', 'GET /notes/*', 'GET /notes/:id', 'POST /notes/:id/tags', 'GET /notes/:id/:other'],
  ['a pattern before a fixed path', 'GET /notes/:id', 'POST /notes/new', 'GET /*'],
  ['one method more specific than another', 'GET /*', 'POST /notes/:id', 'DELETE /notes/new'],
  ['HEAD apart from GET', 'GET /notes/:id', 'HEAD /notes/*', 'HEAD /notes', 'ALL /files/:name'],
  ['all methods', 'ALL /notes/new', 'GET /notes/:id', 'ALL /files/*', 'ALL /'],
  ['optional parameters', 'GET /notes/:id?', 'POST /files/:name/:part?'],
  ['characters that are percent-encoded', 'GET /a b', 'GET /é', 'GET /é/:id'],
  ['a method of its own', 'PROPFIND /notes/:id', 'GET /notes/new'],
];

/** Returns an application whose responses name the pattern of the route, or why there is none. */
function createApp(routes: readonly string[]) {
  const app = new Elysia(elysiaOptions).onError(({ code, set }) => {
    set.headers['x-route'] = String(code);
    return '';
  });
  for (const route of routes) {
    const [, method = '', path = ''] = /^(\w+) (.*)$/.exec(route) ?? [];
    app.route(method, path, ({ set }) => {
      set.headers['x-route'] = encodeURIComponent(path);
      return '';
    });
  }
  return app;
}

describe('createRouteTable()', () => {
  for (const [name, ...routes] of applications) {
    test(`finds the route that Elysia finds among ${name}`, async () => {
      const app = createApp(routes);
      const table = createRouteTable(app.routes);
      let found = 0;
      for (const path of PATHS) {
        const taken: string[] = [];
        for (const method of METHODS) {
          const { headers } = await app.fetch(new Request(`http://localhost${path}`, { method }));
          const route = decodeURIComponent(headers.get('x-route') ?? '');
          expect(table.find(method, path) ?? 'NOT_FOUND', `${method} ${path}`).toBe(route);
          if (route !== 'NOT_FOUND') taken.push(method);
        }
        found += taken.length;
        // A route for every method takes PROPFIND too, but `Allow` does not list it.
        const listed = taken.filter((method) => method !== 'PROPFIND' || name === 'a method of its own');
        expect([...table.methodsOf(path)].sort(), path).toEqual(listed.sort());
      }
      expect(found).toBeGreaterThan(3);
    });
  }

  test('lists the methods of the path itself first, and OPTIONS for Allow alone', () => {
    const table = createRouteTable([
      { method: 'GET', path: '/notes/:id' },
      { method: 'OPTIONS', path: '/*' },
      { method: 'POST', path: '/notes/new' },
    ]);
    expect(table.methodsOf('/notes/new')).toEqual(['POST', 'GET', 'HEAD']);
    expect(table.allowedFor('/notes/new')).toEqual(['POST', 'GET', 'HEAD', 'OPTIONS']);
    for (const methodsOf of [table.methodsOf, table.allowedFor]) expect(methodsOf('/else')).toEqual([]);
  });

  test('finds a WebSocket for the GET that it begins with', () => {
    const table = createRouteTable(new Elysia().ws('/socket', {}).ws('/rooms/:id', {}).routes);
    expect(table.methodsOf('/socket')).toEqual(['GET']);
    expect(table.find('GET', '/rooms/1')).toBe('/rooms/:id');
    expect(table.find('HEAD', '/rooms/1')).toBeUndefined();
  });
});
