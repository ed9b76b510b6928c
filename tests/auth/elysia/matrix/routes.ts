import { fileURLToPath } from 'node:url';
import { type AnyElysia, type Context, file, t } from 'elysia';

/** What handlers return, and must not return without a token. */
export const SECRET = 'SECRET';

/** Adds a route with these options, whose handler calls `run` each time. */
type Add = (app: AnyElysia, options: object, run: () => void) => AnyElysia;

/** A route, and how it is asked: `GET /secret` by default. */
export interface RouteKind {
  readonly add: Add;
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
const plain = (run: () => void) => () => secret(run);
const generator = (run: () => void) =>
  function* () {
    yield secret(run);
  };
const asyncGenerator = (run: () => void) =>
  async function* () {
    yield secret(run);
  };

/**
 * Adds the handler at `GET /secret`, unless the second argument says otherwise, which may also have options of the
 * route.
 */
const route =
  (handler: (run: () => void) => unknown, { method = 'GET', at = path, ...own }: Record<string, unknown> = {}): Add =>
  (app, options, run) =>
    app.route(method as 'GET', at as string, handler(run) as () => unknown, { ...options, ...own });

const ofContext =
  (run: () => void) =>
  ({ query, headers, set }: Context) =>
    secret(run) + query.a + headers.host + set.status;
const socket: Add = (app, options, run) => app.ws(path, { ...options, upgrade: () => void run(), message() {} });
const configMount: Add = (app, options, run) =>
  app.route('GET', path, plain(run), { ...options, config: { mount: () => new Response(secret(run)) } });
const mount: Add = (app, options, run) => app.mount(path, () => new Response(secret(run)), options);
const fourKinds = { parse() {}, transform() {}, beforeHandle() {}, afterHandle() {} };
const object = t.Object({ a: t.Number() });
/** This file has the word in it. */
const here = fileURLToPath(import.meta.url);

export const routeKinds: Readonly<Record<string, RouteKind>> = {
  function: { add: route(plain) },
  'async function': { add: route((run) => async () => secret(run)) },
  'function of the context': { add: route(ofContext) },
  string: { add: route(() => SECRET) },
  Response: { add: route(() => new Response(SECRET)) },
  'value with hooks of four kinds': { add: route(() => SECRET, fourKinds) },
  'Response with hooks of four kinds': { add: route(() => new Response(SECRET), fourKinds) },
  file: { add: route(() => file(here)) },
  'file of a function': { add: route((run) => () => secret(run) && file(here)) },
  stream: { add: route((run) => () => new Blob([secret(run)]).stream()) },
  generator: { add: route(generator) },
  'async generator': { add: route(asyncGenerator) },
  WebSocket: { add: socket, isSocket: true },
  mount: { add: mount },
  'below a mount': { add: mount, path: '/secret/below' },
  'config.mount': { add: configMount },
  all: { add: route(plain, { method: 'ALL' }), method: 'PATCH' },
  'OPTIONS of all': { add: route(plain, { method: 'ALL' }), method: 'OPTIONS' },
  head: { add: route(plain, { method: 'HEAD' }), method: 'HEAD' },
  'HEAD of GET': { add: route(plain), method: 'HEAD' },
  parameter: { add: route(plain, { at: '/item/:id' }), path: '/item/7' },
  'optional parameter': { add: route(plain, { at: '/item/:id?' }), path: '/item' },
  wildcard: { add: route(plain, { at: '/all/*' }), path: '/all/of/it' },
  'encoded path': { add: route(plain, { at: '/sécret' }), path: '/s%C3%A9cret' },
  'trailing slash': { add: route(plain), path: '/secret/' },
  'body with a schema': { add: route(plain, { method: 'POST', body: object }), method: 'POST', body: '{"a":1}' },
  'query with a schema': { add: route(plain, { query: object }), path: '/secret?a=1' },
  'response with a schema': { add: route(plain, { response: t.String() }) },
  'HTML bundle': { add: route(() => ({ index: SECRET })) },
};
