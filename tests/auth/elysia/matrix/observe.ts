import { type AnyElysia, Elysia } from 'elysia';
import { isGuarded, resourceServer } from '../../../../src/auth/elysia.ts';
import type { Built, Parts } from './applications.ts';
import { type Cell, partsOf } from './cells.ts';
import { hostileHook } from './hooks.ts';
import { type AddRoute, addRequiring } from './requirements.ts';
import { ask, serve } from './serve.ts';

export type Client = 'none' | 'forged' | 'unscoped' | 'valid';
/** The token of each client; that of `none` is empty. */
export type Tokens = Readonly<Record<Client, string>>;

/** The effects of a request: its response, and how often the handler and the hooks for accepted requests only ran. */
export interface Outcome {
  readonly client: Client;
  readonly status: number;
  readonly body: string;
  readonly runs: number;
  readonly calls: number;
}

export type Observed = Awaited<ReturnType<typeof observe>>;

const noCounts = { runs: 0, calls: 0 };

/** Builds the applications of a cell with this guard, and sends the requests of these clients to each. */
async function observe(cell: Cell, guard: Parts['guard'], clients: readonly Client[], tokens: Tokens) {
  const { application, configuration, effect, kind, path } = partsOf(cell, tokens.valid);
  const counts = { ...noCounts };
  const hostile = hostileHook(cell.hook, effect, cell.place, () => void counts.calls++);
  const add: AddRoute = (app, options) => kind.add(app, { ...options, ...hostile.options }, () => void counts.runs++);
  let error: unknown;
  let built: Built = { apps: [] };
  try {
    const made = await application.build({
      create: (options = {}) => new Elysia({ ...configuration, ...options }),
      guarded: (app) => hostile.after(hostile.before(app).use(guard())),
      guard,
      route: (app) => addRequiring(app, add, cell, guard),
    });
    built = 'apps' in made ? made : { apps: [made] };
  } catch (thrown) {
    error = thrown;
  }
  await Promise.all(built.apps.map((app) => app.modules));

  const apps = [];
  for (const app of built.apps) {
    const service = serve(app, cell.form);
    if (built.later) await ask(service, '/first');
    try {
      built.later?.();
    } catch (thrown) {
      error = thrown;
    }
    const outcomes: Outcome[] = [];
    for (const client of clients) {
      Object.assign(counts, noCounts);
      const response = await ask(service, path, kind, tokens[client]);
      outcomes.push({ client, ...response, ...counts });
    }
    const lies: string[] = [];
    for (const { path: open } of app.routes.filter((route) => isGuarded(route) && route.path.startsWith('/open')))
      if ((await ask(service, open)).body === 'open') lies.push(open);
    apps.push({
      outcomes,
      /** Whether `isGuarded` is true of any route. */
      isCalledGuarded: app.routes.some(isGuarded),
      /** The routes that are open and of which `isGuarded` is true. */
      lies,
    });
    await service.close();
  }
  return { error, apps };
}

/** Declares what a guard does, and guards nothing. */
const noGuard = (): AnyElysia => {
  const declares = (_: unknown) => ({ detail: {} });
  return new Elysia().derive({ as: 'scoped' }, () => ({})).macro({ scope: declares, authorize: declares });
};

/** Observes what Elysia does with an unguarded cell. Some routes are served only once, so the request is repeated. */
export const observeUnguarded = (cell: Cell) =>
  observe(cell, noGuard, ['none', 'none'], { none: '', forged: '', unscoped: '', valid: '' });

/** Observes what a guard does with a cell: hostile clients come before and after one with a valid token. */
export function observeGuarded(cell: Cell, options: Parameters<typeof resourceServer>[0], tokens: Tokens) {
  const guard: Parts['guard'] = (kind) =>
    resourceServer({ ...options, ...(kind === 'different' && { onRejected() {} }) }, { optional: kind === 'optional' });
  const hostile: Client[] = ['none', 'forged', ...(cell.requirement === 'none' ? [] : (['unscoped'] as const))];
  return observe(cell, guard, [...hostile, 'valid', ...hostile], tokens);
}
