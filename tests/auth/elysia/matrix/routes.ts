import { fileURLToPath } from 'node:url';
import { type AnyElysia, file, t } from 'elysia';

/** What handlers answer, and must not without a token. */
export const SECRET = 'SECRET';

/** Adds a route with these options, whose handler calls `run` each time. */
type Add = (app: AnyElysia, options: object, run: () => void) => AnyElysia;

export interface RouteKind {
  readonly add: Add;
  /** Where it is asked. `/secret` by default. */
  readonly path?: string;
  readonly method?: string;
  readonly body?: string;
  readonly isSocket?: boolean;
}

const path = '/secret';
const secret = (run: () => void) => {
  run();
  return SECRET;
};
const fourKinds = { parse() {}, transform() {}, beforeHandle() {}, afterHandle() {} };
/** This file has the word in it. */
const here = fileURLToPath(import.meta.url);

function streamOf(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
}

export const routeKinds: Readonly<Record<string, RouteKind>> = {
  function: { add: (app, options, run) => app.get(path, () => secret(run), options) },
  'async function': { add: (app, options, run) => app.get(path, async () => secret(run), options) },
  'function of the context': {
    add: (app, options, run) =>
      app.get(path, ({ query, headers, set }) => secret(run) + query.a + headers.host + set.status, options),
  },
  string: { add: (app, options) => app.get(path, SECRET, options) },
  Response: { add: (app, options) => app.get(path, new Response(SECRET), options) },
  'value with hooks of four kinds': { add: (app, options) => app.get(path, SECRET, { ...options, ...fourKinds }) },
  'Response with hooks of four kinds': {
    add: (app, options) => app.get(path, new Response(SECRET), { ...options, ...fourKinds }),
  },
  file: { add: (app, options) => app.get(path, file(here), options) },
  'file of a function': {
    add(app, options, run) {
      const read = () => {
        run();
        return file(here);
      };
      return app.get(path, read, options);
    },
  },
  stream: { add: (app, options, run) => app.get(path, () => streamOf(secret(run)), options) },
  generator: {
    add(app, options, run) {
      function* generate() {
        yield secret(run);
      }
      return app.get(path, generate, options);
    },
  },
  'async generator': {
    add(app, options, run) {
      async function* generate() {
        yield secret(run);
      }
      return app.get(path, generate, options);
    },
  },
  WebSocket: {
    add: (app, options, run) => app.ws(path, { ...options, upgrade: () => void run(), message() {} }),
    isSocket: true,
  },
  mount: { add: (app, options, run) => app.mount(path, () => new Response(secret(run)), options) },
  'below a mount': {
    add: (app, options, run) => app.mount(path, () => new Response(secret(run)), options),
    path: '/secret/below',
  },
  'config.mount': {
    add: (app, options, run) =>
      app.route('GET', path, () => secret(run), {
        ...options,
        config: { mount: () => new Response(secret(run)) },
      }),
  },
  all: { add: (app, options, run) => app.all(path, () => secret(run), options), method: 'PATCH' },
  'OPTIONS of all': { add: (app, options, run) => app.all(path, () => secret(run), options), method: 'OPTIONS' },
  head: { add: (app, options, run) => app.head(path, () => secret(run), options), method: 'HEAD' },
  'HEAD of GET': {
    add: (app, options, run) => app.get(path, () => secret(run), options),
    method: 'HEAD',
  },
  parameter: { add: (app, options, run) => app.get('/item/:id', () => secret(run), options), path: '/item/7' },
  'optional parameter': {
    add: (app, options, run) => app.get('/item/:id?', () => secret(run), options),
    path: '/item',
  },
  wildcard: { add: (app, options, run) => app.get('/all/*', () => secret(run), options), path: '/all/of/it' },
  'encoded path': { add: (app, options, run) => app.get('/sécret', () => secret(run), options), path: '/s%C3%A9cret' },
  'trailing slash': { add: (app, options, run) => app.get(path, () => secret(run), options), path: '/secret/' },
  'body with a schema': {
    add: (app, options, run) => app.post(path, () => secret(run), { ...options, body: t.Object({ a: t.Number() }) }),
    method: 'POST',
    body: '{"a":1}',
  },
  'query with a schema': {
    add: (app, options, run) => app.get(path, () => secret(run), { ...options, query: t.Object({ a: t.Number() }) }),
    path: '/secret?a=1',
  },
  'response with a schema': {
    add: (app, options, run) => app.get(path, () => secret(run), { ...options, response: t.String() }),
  },
  'HTML bundle': { add: (app, options) => app.get(path, { index: SECRET } as never, options) },
};
