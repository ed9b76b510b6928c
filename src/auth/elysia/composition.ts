/*
 * The members by which Elysia adds routes, plugins, macros and traces, overridden where Elysia calls them. What Elysia
 * would lose of a guard on the way is brought back, or rejected with an error that says what to write instead. An
 * application without a guard behaves as before.
 */
import { Elysia } from 'elysia';
import { closeAfter, closeBecause, refuseClosed, refuseToServe } from './closing.ts';
import {
  checkSpelling,
  guardUsesIn,
  isPublic,
  knowsRequirements,
  refuseRequirements,
  requirementsIn,
} from './hooks.ts';
import { type Instance, isInstance, version } from './internals.ts';
import { beginLoading, beginTurn, routesBeforeLoading } from './loading.ts';
import { type Listener, quietListener, quietTraces } from './observed-rejections.ts';
import { type GuardUse, isSameUse, plans } from './plan.ts';
import { addRoute } from './routes.ts';

/** Overrides `add`, `_use`, `applyMacro`, `trace` and `promisedModules`. */
export function override(prototype: Instance): void {
  const { add, _use, applyMacro, trace } = prototype;
  const { get: promisedModules } = Object.getOwnPropertyDescriptor(prototype, 'promisedModules') ?? {};

  prototype.add = function (...route) {
    return addRoute(add, this, route);
  };

  prototype._use = function (plugin) {
    if (isInstance(plugin)) checkPlugin(this, plugin);
    else beginTurn();
    return closeUnguarded(this, refuseIgnored(this, _use.call(this, plugin)));
  };

  // Elysia stops at the first macro that is off, and takes a second function for the first one.
  prototype.applyMacro = function (hooks, applied = hooks, state = { iteration: 0, applied: {} }) {
    if (!knowsRequirements(this)) return applyMacro.call(this, hooks, applied, state);
    // Hooks of `guard()` reach routes without their other options.
    if (guardUsesIn(this.event).length > 0) checkSpelling(this, applied);
    for (const [name, value] of Object.entries(applied))
      applyMacro.call(this, hooks, { [name]: value }, Object(value) === value ? { ...state, applied: {} } : state);
  };

  // Elysia keeps no listener, only what it makes of one.
  prototype.trace = function (...given) {
    const listeners = [given.pop()].flat() as Listener[];
    const { length } = this.event.trace ?? [];
    trace.call(this, ...given, listeners.map(quietListener));
    for (const { fn } of this.event.trace?.slice(length) ?? []) quietTraces.add(Object(fn));
    return this;
  };

  // Elysia only logs the error of a plugin that it waits for.
  Object.defineProperty(prototype, 'promisedModules', {
    configurable: true,
    get(this: Instance) {
      beginTurn();
      const group = promisedModules?.call(this);
      if (!Object.hasOwn(group, 'add')) {
        const { add } = group;
        group.add = (promise: Promise<unknown>) => {
          const checked = promise
            .then((returned) => refuseIgnored(this, returned))
            .catch((error) => closeAfter(this, error));
          beginLoading(this, checked);
          return add.call(group, checked);
        };
      }
      return group;
    },
  });
}

/** How many named instances have a guard. */
let guarded = 0;

function checkPlugin(app: Instance, plugin: Instance): void {
  refuseClosed(app, plugin);
  if (!(plugin instanceof Elysia) && knowsRequirements(app)) refuseToServe(app, anotherCopy);
  if (isLost(plugin))
    refuseToServe(
      app,
      "a plugin adds the guard but has no routes, so the routes of this instance would stay open. End the plugin with .as('scoped')",
    );
  const reaching = reachOf(plugin);
  if (reaching.length === 0) return;
  refuseLate(app, reaching);
  refuseOtherCopies(app);
  // Elysia drops the hooks of a second plugin with the same name and seed.
  if (app.config.name !== undefined) app.config.seed ||= `guarded ${guarded++}`;
}

/** Rejects guards for which a route was added too early. Preflights have no credentials and need no guard. */
function refuseLate(app: Instance, guards: readonly GuardUse[]): void {
  const { history } = app.router;
  const open = history.filter(
    ({ method, hooks }) =>
      method !== 'OPTIONS' &&
      !isPublic(hooks) &&
      !guards.every((guard) => plans.get(hooks)?.layers.some(({ use }) => isSameUse(use, guard))),
  );
  for (const { hooks } of open.filter((route) => !plans.has(route.hooks))) refuseRequirements(app, hooks);
  const strict = guards.filter(({ isOptional, isPublicBefore }) => !isOptional && !isPublicBefore);
  const declared = guards.filter(({ isOptional, isPublicBefore }) => !isOptional && isPublicBefore);
  const known = routesBeforeLoading(app);
  const late = open.filter((route) => strict.length > 0 || (declared.length > 0 && history.indexOf(route) >= known));
  if (late.length === 0) return;
  const first = late.slice(0, 10).map(({ method, path }) => `${method} ${path}`);
  const others = late.length > first.length ? ` and ${late.length - first.length} more` : '';
  const advice =
    strict.length > 0
      ? 'If they are public, write resourceServer(guard, { publicBefore: true }). To guard them, add them, or use their instance, after the guard. If the guard is loaded asynchronously, write .use(await ...)'
      : 'A plugin before them is still loading, and may be the guard: write .use(await ...)';
  refuseToServe(
    app,
    `these routes were added before the guard, and would stay open: ${first.join(', ')}${others}. ${advice}`,
  );
}

/** Returns the guards of a plugin that Elysia passes on to the application. */
const reachOf = ({ event }: Instance) => guardUsesIn(event, ({ scope }) => scope !== 'local');

/** Whether a plugin has a guard that protects nothing. */
const isLost = (plugin: Instance) =>
  guardUsesIn(plugin.event).length > 0 &&
  reachOf(plugin).length === 0 &&
  !plugin.router.history.some(({ method, hooks }) => method !== 'OPTIONS' && plans.get(hooks));

/** Elysia ignores an instance that a function returns, and takes over only its routes if the function is async. */
function refuseIgnored(app: Instance, returned: unknown): unknown {
  if (isInstance(returned) && returned !== app && (isLost(returned) || reachOf(returned).length > 0))
    refuseToServe(
      app,
      'Elysia ignores a guard that a function returns. Call the function, or app.use(guard) inside it',
    );
  return returned;
}

/**
 * Closes an instance that a function returns in place of its own: in a chain, Elysia goes on with it, without the
 * guards before it. Only what is added to it throws: `app.use(setup)` in a statement of its own is guarded.
 */
function closeUnguarded(app: Instance, returned: unknown): unknown {
  if (!isInstance(returned) || returned === app) return returned;
  const own = guardUsesIn(returned.event);
  const isKept =
    guardUsesIn(app.event).every((use) => own.some((other) => isSameUse(use, other))) &&
    requirementsIn(app.event).length === 0;
  if (!isKept) closeBecause(returned, goesOn);
  return returned;
}

const goesOn =
  'a function that .use() called returned another instance, with which a chain goes on without the guard before it. Return the instance that the function gets, or call the function: .use(plugin())';

const anotherCopy = `the application uses two copies of Elysia, and protected-api uses the ES module of Elysia ${version}. Install one version, and import Elysia and protected-api as ES modules`;

/**
 * Rejects an application of another copy of Elysia. Each plugin that it uses gets `getParent` from it, and of one that
 * was promised it calls `default`.
 */
export function refuseOtherCopies(plugin: Instance): void {
  let { getParent } = plugin;
  const check = (app: Instance) => {
    if (!(app instanceof Elysia)) refuseToServe(app, anotherCopy);
  };
  Object.defineProperties(plugin, {
    default: { configurable: true, value: check },
    getParent: {
      configurable: true,
      get: () => getParent,
      set(assigned: typeof getParent) {
        check(assigned());
        getParent = assigned;
      },
    },
  });
}
