import { type AnyElysia, Elysia } from 'elysia';
import { WebStandardAdapter } from 'elysia/adapter/web-standard';
import { isGuarded, resourceServer } from '../../../../src/auth/index.ts';
import { applications, type Built } from './applications.ts';
import { effectsFor, hookNames, hostileHook, places } from './hooks.ts';
import { type RouteKind, routeKinds, SECRET } from './routes.ts';

const SCOPE = 'read:messages';

/** Tokens by the status that they deserve on a route with a scope. */
export interface Clients {
  readonly issuer: string;
  readonly audience: string;
  readonly valid: string;
  readonly unscoped: string;
  readonly forged: string;
}

const configurations: Readonly<Record<string, object>> = {
  default: {},
  'aot: false': { aot: false },
  precompile: { precompile: true },
  'no system router': { systemRouter: false },
  'no native static response': { nativeStaticResponse: false },
  'strict path': { strictPath: true },
  'Web-standard adapter': { adapter: WebStandardAdapter },
};

/** Ways to say that a route needs the scope. */
const scopes: Readonly<
  Record<string, (app: AnyElysia, add: (app: AnyElysia, options: object) => AnyElysia) => AnyElysia>
> = {
  none: (app, add) => add(app, {}),
  option: (app, add) => add(app, { scope: SCOPE }),
  list: (app, add) => add(app, { scope: [SCOPE] }),
  'macro that names it': (app, add) => add(app.macro({ messages: () => ({ scope: SCOPE }) }), { messages: true }),
  'before a macro that is off': (app, add) =>
    add(app.macro({ off: { beforeHandle() {} } }), { scope: SCOPE, off: false }),
  'after a macro that is off': (app, add) =>
    add(app.macro({ off: { beforeHandle() {} } }), { off: false, scope: SCOPE }),
  'guard()': (app, add) => add(app.guard({ scope: SCOPE } as object), {}),
  'guard() with a callback': (app, add) => app.guard({ scope: SCOPE } as object, (inner) => add(inner, {})),
  'group()': (app, add) => app.group('', { scope: SCOPE } as object, (inner) => add(inner, {})),
};

export const axes = {
  application: Object.keys(applications),
  route: Object.keys(routeKinds),
  form: ['listen', 'fetch', 'handle'],
  configuration: Object.keys(configurations),
  scope: Object.keys(scopes),
  hook: hookNames,
  effect: Object.keys(effectsFor('')),
  place: [...places],
} as const;
export type Cell = Readonly<Record<keyof typeof axes, string>>;

/** The result of a cell. `closed` rejects all requests, even with a valid token. */
export type Outcome = 'served' | 'closed' | 'impossible';
export interface Verdict {
  readonly outcome: Outcome;
  readonly faults: readonly string[];
}

const pick = <Value>(table: Readonly<Record<string, Value>>, name: string): Value => {
  const value = table[name];
  if (value === undefined) throw new TypeError(`There is no ${name}`);
  return value;
};

/** Sends to an application in this form. It may have thrown at the start, and serve nevertheless. */
function serve(app: AnyElysia, form: string) {
  let origin = 'http://localhost';
  if (form === 'listen') {
    try {
      app.listen({ port: 0, hostname: '127.0.0.1', error: () => new Response('error', { status: 500 }) });
    } catch {}
    origin = `http://127.0.0.1:${app.server?.port ?? 0}`;
  }
  const send = (path: string, init: RequestInit) =>
    form === 'listen'
      ? fetch(origin + path, init)
      : app[form === 'fetch' ? 'fetch' : 'handle'](new Request(origin + path, init));
  return { origin, send, close: () => app.server?.stop(true) };
}

interface Seen {
  readonly status: number;
  readonly body: string;
}

/** Asks for the route. No answer at all is status 0. */
async function ask(
  { origin, send }: ReturnType<typeof serve>,
  path: string,
  kind: Partial<RouteKind>,
  token: string,
): Promise<Seen> {
  const headers = {
    ...(token && { authorization: `Bearer ${token}` }),
    ...(kind.body && { 'content-type': 'application/json' }),
  };
  try {
    if (kind.isSocket && origin !== 'http://localhost')
      return await Promise.race([openSocket(origin.replace('http', 'ws') + path, headers), noAnswer()]);
    const upgrade = kind.isSocket ? { upgrade: 'websocket', connection: 'upgrade' } : {};
    const { method = 'GET', body } = kind;
    const response = await send(path, { method, headers: { ...headers, ...upgrade }, ...(body && { body }) });
    return { status: response.status, body: await response.text() };
  } catch (error) {
    return { status: 0, body: String(error) };
  }
}

/** A hook of the application can keep a handshake from ever being answered. */
const noAnswer = () => new Promise<Seen>((resolve) => setTimeout(resolve, 60_000, { status: 0, body: '' }));

function openSocket(url: string, headers: Record<string, string>): Promise<Seen> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, { headers } as never);
    socket.onopen = () => {
      socket.close();
      resolve({ status: 101, body: SECRET });
    };
    socket.onerror = () => resolve({ status: 0, body: '' });
    socket.onclose = () => resolve({ status: 0, body: '' });
  });
}

function isImpossible(cell: Cell): boolean {
  const { isApart, isServed } = pick(applications, cell.application);
  const isWeb = cell.configuration === 'Web-standard adapter';
  return (
    (cell.form === 'listen' && typeof Bun === 'undefined') ||
    (isWeb && (cell.form === 'listen' || cell.route === 'WebSocket')) ||
    // Elysia reads the body of the one Response twice, and leaves a rejected promise behind.
    (cell.configuration === 'aot: false' && cell.route.startsWith('Response')) ||
    // The macro is unknown there, and types say so.
    ((isApart ?? false) &&
      isServed !== false &&
      cell.scope !== 'none' &&
      cell.scope !== 'option' &&
      cell.scope !== 'list')
  );
}

/** Counts what ran since it was last reset. */
interface Counts {
  runs: number;
  /** Of hooks that may run for admitted requests only. */
  calls: number;
}

async function build(
  cell: Cell,
  guard: (differs?: boolean) => AnyElysia,
  valid: string,
  counts: Counts,
): Promise<Built> {
  const effect = pick(effectsFor(`Bearer ${valid}`), cell.effect);
  const place = places.find((name) => name === cell.place) ?? 'before';
  const hostile = hostileHook(cell.hook, effect, place, () => void counts.calls++);
  const { add } = pick(routeKinds, cell.route);
  const made = await pick(applications, cell.application).build({
    create: (options = {}) => new Elysia({ ...pick(configurations, cell.configuration), ...options }),
    guard,
    guarded: (app) => hostile.after(hostile.before(app).use(guard())),
    route: (app) =>
      pick(scopes, cell.scope)(app, (on, options) =>
        add(on, { ...options, ...hostile.options }, () => void counts.runs++),
      ),
  });
  const built = 'apps' in made ? made : { apps: [made] };
  await Promise.all(built.apps.map((app) => app.modules));
  return built;
}

/** What Elysia does with the application if nothing guards it. */
const noGuard = () =>
  new Elysia().derive({ as: 'scoped' }, () => ({})).macro({ scope: (_: unknown) => ({ detail: {} }) });

async function isAnsweredUnguarded(cell: Cell, path: string): Promise<boolean> {
  const counts = { runs: 0, calls: 0 };
  const { apps, later } = await build(cell, noGuard, '', counts);
  for (const app of apps) {
    const service = serve(app, cell.form);
    if (later) await ask(service, '/first', {}, '');
    later?.();
    // Elysia answers some routes only once.
    await ask(service, path, pick(routeKinds, cell.route), '');
    counts.runs = 0;
    const { status, body } = await ask(service, path, pick(routeKinds, cell.route), '');
    await service.close();
    if (status === 0 || status >= 300 || (counts.runs === 0 && !body.includes(SECRET))) return false;
  }
  return true;
}

/** Builds the application of a cell, and says what is wrong with its answers. */
export async function judge(cell: Cell, clients: Clients): Promise<Verdict> {
  if (isImpossible(cell)) return { outcome: 'impossible', faults: [] };
  const { prefix = '', isServed: isMeantToServe = true } = pick(applications, cell.application);
  const kind = pick(routeKinds, cell.route);
  const path = prefix + (kind.path ?? '/secret');
  const isMustServe = cell.hook === 'none' && isMeantToServe === true && (await isAnsweredUnguarded(cell, path));
  const { issuer, audience } = clients;
  const guard = (differs = false): AnyElysia =>
    resourceServer({ issuer, audience, ...(differs && { onRefused() {} }) });
  const counts = { runs: 0, calls: 0 };
  const faults = new Set<string>();
  let built: Built = { apps: [] };
  try {
    built = await build(cell, guard, clients.valid, counts);
  } catch (error) {
    if (isMustServe) faults.add(`cannot be built: ${error}`);
  }
  let isServed = built.apps.length > 0;
  for (const app of built.apps) {
    const service = serve(app, cell.form);
    const attack = async (client: string, token: string) => {
      Object.assign(counts, { runs: 0, calls: 0 });
      const { status, body } = await ask(service, path, kind, token);
      if (counts.runs > 0) faults.add(`the handler ran ${client}`);
      else if (body.includes(SECRET)) faults.add(`the secret was answered ${client}`);
      else if (cell.hook === 'none' && status > 0 && status < 300) faults.add(`${status} ${client}`);
      if (counts.calls > 0) faults.add(`a hook after the requirements ran ${client}`);
    };
    const attackAll = async () => {
      await attack('without a token', '');
      await attack('with a forged token', clients.forged);
      if (cell.scope !== 'none') await attack('without the scope', clients.unscoped);
    };
    try {
      if (built.later) await ask(service, '/first', {}, '');
      built.later?.();
    } catch (error) {
      if (isMustServe) faults.add(`cannot be built later: ${error}`);
    }
    await attackAll();
    counts.runs = 0;
    const { status, body } = await ask(service, path, kind, clients.valid);
    const isAnswered = counts.runs > 0 || body.includes(SECRET);
    isServed &&= isAnswered;
    if (isMustServe && !isAnswered) faults.add(`not served with a valid token: ${status} ${body.slice(0, 120)}`);
    if (isMustServe && prefix === '' && isAnswered && !app.routes.some(isGuarded))
      faults.add('isGuarded is false of all');
    if (isMeantToServe === false && isAnswered) faults.add('served, though the guard does not reach the route');
    await attackAll();
    for (const { path: open } of app.routes.filter((route) => isGuarded(route) && route.path.startsWith('/open')))
      if ((await ask(service, open, {}, '')).body === 'open') faults.add('isGuarded is true of an open route');
    await service.close();
  }
  return { outcome: isServed ? 'served' : 'closed', faults: [...faults] };
}

/** Mulberry32: the same numbers for the same seed, everywhere. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns so many cells, each the one of some random ones with the most pairs that no cell before it had. A quarter has no hook. */
export function sampleCells(count: number, seed: number, fixed: Partial<Cell> = {}): Cell[] {
  const random = createRandom(seed);
  const names = Object.keys(axes) as (keyof Cell)[];
  const seen = new Set<string>();
  const pairsOf = (cell: Cell) =>
    names.flatMap((one, at) => names.slice(at + 1).map((two) => `${one}=${cell[one]} ${two}=${cell[two]}`));
  const draw = (): Cell => {
    const drawn = names.map((name) => [name, axes[name][Math.floor(random() * axes[name].length)] ?? '']);
    const cell = { ...(Object.fromEntries(drawn) as Cell), ...(random() < 0.25 && { hook: 'none' }), ...fixed };
    return cell.hook === 'none' ? { ...cell, effect: 'throws', place: 'before' } : cell;
  };
  return Array.from({ length: count }, () => {
    const candidates = Array.from({ length: 12 }, draw).map((cell) => {
      const pairs = pairsOf(cell);
      return { cell, pairs, fresh: pairs.filter((pair) => !seen.has(pair)).length };
    });
    const best = candidates.reduce((one, two) => (two.fresh > one.fresh ? two : one));
    for (const pair of best.pairs) seen.add(pair);
    return best.cell;
  });
}
