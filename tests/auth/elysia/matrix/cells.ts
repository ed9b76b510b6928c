import { type AnyElysia, Elysia } from 'elysia';
import { WebStandardAdapter } from 'elysia/adapter/web-standard';
import { type GuardOptions, isGuarded, resourceServer } from '../../../../src/auth/index.ts';
import { applications, type Built, type Parts } from './applications.ts';
import { effectsFor, hookNames, hostileHook, places } from './hooks.ts';
import { routeKinds, SECRET } from './routes.ts';
import { ask, serve } from './serve.ts';

const SCOPE = 'read:messages';

/** Options of the guard, and tokens: one that every route accepts, one without the scope, one that another key signed. */
export interface Clients {
  readonly options: GuardOptions;
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

type AddRoute = (app: AnyElysia, options: object) => AnyElysia;
/** Each time new objects, because Elysia changes them. */
const scoped = (): object => ({ scope: SCOPE });
const off = (app: AnyElysia): AnyElysia => app.macro({ off: { beforeHandle() {} } });

/** Ways to say that a route needs the scope. */
const scopes: Readonly<Record<string, (app: AnyElysia, add: AddRoute) => AnyElysia>> = {
  none: (app, add) => add(app, {}),
  option: (app, add) => add(app, scoped()),
  list: (app, add) => add(app, { scope: [SCOPE] }),
  'macro that names it': (app, add) => add(app.macro({ messages: scoped }), { messages: true }),
  'before a macro that is off': (app, add) => add(off(app), { ...scoped(), off: false }),
  'after a macro that is off': (app, add) => add(off(app), { off: false, ...scoped() }),
  'after a macro of nothing': (app, add) =>
    add(app.macro({ nothing: (_: boolean) => undefined as unknown as object }), { nothing: true, ...scoped() }),
  'guard()': (app, add) => add(app.guard(scoped()), {}),
  'guard() with a callback': (app, add) => app.guard(scoped(), (inner) => add(inner, {})),
  'group()': (app, add) => app.group('', scoped(), (inner) => add(inner, {})),
};

const axes = {
  application: Object.keys(applications),
  route: Object.keys(routeKinds),
  form: ['listen', 'fetch', 'handle'],
  configuration: Object.keys(configurations),
  scope: Object.keys(scopes),
  hook: hookNames,
  effect: Object.keys(effectsFor('')),
  place: places,
};
const names = Object.keys(axes) as (keyof typeof axes)[];
export type Cell = Readonly<Record<keyof typeof axes, string>>;

const pick = <Value>(table: Readonly<Record<string, Value>>, name: string): Value => {
  const value = table[name];
  if (value === undefined) throw new TypeError(`There is no ${name}`);
  return value;
};

function isImpossible({ application, configuration, form, route, scope }: Cell): boolean {
  const { isApart = false, isServed } = pick(applications, application);
  const isWeb = configuration === 'Web-standard adapter';
  return (
    (form === 'listen' && typeof Bun === 'undefined') ||
    (isWeb && (form === 'listen' || route === 'WebSocket')) ||
    // Elysia has such an instance ask itself for its server, without end, with any guard or none.
    (application === 'async function that uses the guard' && route === 'WebSocket' && configuration !== 'aot: false') ||
    // Elysia reads the body of the one Response twice, and leaves a rejected promise behind.
    (configuration === 'aot: false' && route.startsWith('Response')) ||
    // The macro is unknown there, and types say so.
    (isApart && isServed !== false && !['none', 'option', 'list'].includes(scope))
  );
}

/** What ran: the handler, and hooks that may run for admitted requests only. */
const noCounts = { runs: 0, calls: 0 };

async function build(cell: Cell, guard: Parts['guard'], valid: string, counts: typeof noCounts) {
  const effect = pick(effectsFor(`Bearer ${valid}`), cell.effect);
  const hostile = hostileHook(cell.hook, effect, cell.place, () => void counts.calls++);
  const { add } = pick(routeKinds, cell.route);
  const addRoute: AddRoute = (app, options) => add(app, { ...options, ...hostile.options }, () => void counts.runs++);
  const made = await pick(applications, cell.application).build({
    create: (options = {}) => new Elysia({ ...pick(configurations, cell.configuration), ...options }),
    guard,
    guarded: (app) => hostile.after(hostile.before(app).use(guard())),
    route: (app) => pick(scopes, cell.scope)(app, addRoute),
  });
  const built: Built = 'apps' in made ? made : { apps: [made] };
  await Promise.all(built.apps.map((app) => app.modules));
  return built;
}

/** What Elysia does with the application if nothing guards it. */
const noGuard = () =>
  new Elysia().derive({ as: 'scoped' }, () => ({})).macro({ scope: (_: unknown) => ({ detail: {} }) });

async function isAnsweredUnguarded(cell: Cell, path: string): Promise<boolean> {
  const counts = { ...noCounts };
  const kind = pick(routeKinds, cell.route);
  const { apps, later } = await build(cell, noGuard, '', counts);
  for (const app of apps) {
    const service = serve(app, cell.form);
    if (later) await ask(service, '/first');
    later?.();
    // Elysia answers some routes only once.
    await ask(service, path, kind);
    counts.runs = 0;
    const { status, body } = await ask(service, path, kind);
    await service.close();
    if (status === 0 || status >= 300 || (counts.runs === 0 && !body.includes(SECRET))) return false;
  }
  return true;
}

/** Builds the application of a cell, and says whether it answers a valid token and what is wrong with its answers. */
async function judge(cell: Cell, { options, valid, unscoped, forged }: Clients) {
  const { prefix = '', isServed: isMeantToServe = true } = pick(applications, cell.application);
  const kind = pick(routeKinds, cell.route);
  const path = prefix + (kind.path ?? '/secret');
  const isMustServe = cell.hook === 'none' && isMeantToServe === true && (await isAnsweredUnguarded(cell, path));
  const guard = (differs = false) => resourceServer({ ...options, ...(differs && { onRefused() {} }) });
  const counts = { ...noCounts };
  const faults = new Set<string>();
  let built: Built = { apps: [] };
  try {
    built = await build(cell, guard, valid, counts);
  } catch (error) {
    if (isMustServe) faults.add(`cannot be built: ${error}`);
  }
  let isServed = built.apps.length > 0;
  for (const app of built.apps) {
    const service = serve(app, cell.form);
    const attack = async (client: string, token: string, rejection: number) => {
      Object.assign(counts, noCounts);
      const { status, body } = await ask(service, path, kind, token);
      if (counts.runs > 0) faults.add(`the handler ran ${client}`);
      else if (body.includes(SECRET)) faults.add(`the secret was answered ${client}`);
      else if (cell.hook === 'none' && status > 0 && (isMustServe ? status !== rejection : status < 300))
        faults.add(`${status} ${client}`);
      if (counts.calls > 0) faults.add(`a hook after the requirements ran ${client}`);
    };
    const attackAll = async () => {
      await attack('without a token', '', 401);
      await attack('with a forged token', forged, 401);
      if (cell.scope !== 'none') await attack('without the scope', unscoped, 403);
    };
    try {
      if (built.later) await ask(service, '/first');
      built.later?.();
    } catch (error) {
      if (isMustServe) faults.add(`cannot be built later: ${error}`);
    }
    await attackAll();
    counts.runs = 0;
    const { status, body } = await ask(service, path, kind, valid);
    const isAnswered = counts.runs > 0 || body.includes(SECRET);
    isServed &&= isAnswered;
    if (isMustServe && !isAnswered) faults.add(`not served with a valid token: ${status} ${body.slice(0, 120)}`);
    if (isMustServe && prefix === '' && isAnswered && !app.routes.some(isGuarded))
      faults.add('isGuarded is false of all');
    if (isMeantToServe === false && isAnswered) faults.add('served, though the guard does not reach the route');
    await attackAll();
    for (const { path: open } of app.routes.filter((route) => isGuarded(route) && route.path.startsWith('/open')))
      if ((await ask(service, open)).body === 'open') faults.add('isGuarded is true of an open route');
    await service.close();
  }
  return { isServed, faults: [...faults] };
}

/** Returns so many cells, each the one of some random ones with the most pairs that no cell before it had. A quarter has no hook. */
function sampleCells(count: number, seed: number): Cell[] {
  let state = seed;
  /** Gives the same numbers for the same seed in every runtime. */
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const seen = new Set<string>();
  const draw = () => {
    const drawn = names.map((name) => [name, axes[name][Math.floor(random() * axes[name].length)]]);
    const hostile: Cell = Object.fromEntries(drawn);
    const isHarmless = random() < 0.25 || hostile.hook === 'none';
    const cell = isHarmless ? { ...hostile, hook: 'none', effect: 'throws', place: 'before' } : hostile;
    const pairs = names.flatMap((one, at) =>
      names.slice(at + 1).map((two) => `${one}=${cell[one]} ${two}=${cell[two]}`),
    );
    return { cell, fresh: pairs.filter((pair) => !seen.has(pair)) };
  };
  return Array.from({ length: count }, () => {
    const { cell, fresh } = Array.from({ length: 12 }, draw).reduce((one, two) =>
      two.fresh.length > one.fresh.length ? two : one,
    );
    for (const pair of fresh) seen.add(pair);
    return cell;
  });
}

/** Judges so many cells of a sample. What Elysia writes to the console is not shown. */
export async function runCells(clients: Clients, count: number, seed: number) {
  const { error, log, warn } = console;
  Object.assign(console, { error() {}, log() {}, warn() {} });
  const outcomes = { served: 0, closed: 0, impossible: 0 };
  const faulty: { faults: readonly string[]; cell: Cell }[] = [];
  for (const cell of sampleCells(count, seed)) {
    if (isImpossible(cell)) {
      outcomes.impossible += 1;
      continue;
    }
    const { isServed, faults } = await judge(cell, clients);
    outcomes[isServed ? 'served' : 'closed'] += 1;
    if (faults.length > 0) faulty.push({ faults, cell });
  }
  Object.assign(console, { error, log, warn });
  return { seed, outcomes, faulty };
}
