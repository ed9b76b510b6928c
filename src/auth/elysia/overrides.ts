import { arrive } from './gate.ts';
import {
  type Instance,
  isInstance,
  type Methods,
  type RouteContext,
  type Run,
  rememberParent,
  withInherited,
} from './instance.ts';
import { requirementNames } from './plan.ts';
import {
  closeAfter,
  closeFor,
  isOwnMacro,
  isUnseen,
  protectParent,
  reachOf,
  refuseUnread,
  rememberSandbox,
  rememberSeen,
  rememberUnread,
  rememberUnseen,
  usesMacros,
} from './protections.ts';
import { addRoute } from './routes.ts';

const overridden = new WeakSet<object>();
/** Elysia ignores macros from this depth on. */
const maxMacroDepth = 16;

/** Returns the prototype of an instance, whose methods Elysia calls for every instance. */
function prototypeOf(instance: Instance): Methods {
  let prototype: object = instance;
  while (!Object.hasOwn(prototype, 'add')) prototype = Object.getPrototypeOf(prototype);
  return prototype as Methods;
}

/** Elysia gives this method to each plugin that it uses. So the plugin meets an application with another copy of Elysia. */
export function meetCopies(plugin: Instance & { getParent(): Instance }): void {
  let { getParent } = plugin;
  Object.defineProperty(plugin, 'getParent', {
    configurable: true,
    get: () => getParent,
    set(assigned: typeof getParent) {
      getParent = assigned;
      if (override(prototypeOf(getParent()))) protectParent(getParent(), plugin);
    },
  });
}

/**
 * Overrides the methods by which Elysia adds routes, plugins, macros and hooks, so that guards and requirements are never lost.
 * An application without a guard behaves as before. Returns whether this copy of Elysia is new.
 */
export function override(prototype: Methods): boolean {
  if (overridden.has(prototype)) return false;
  overridden.add(prototype);
  const { add, use, _use, applyMacro, guard, group, mount, on } = prototype;

  prototype.add = function (...given) {
    return addRoute(add, this, given);
  };

  prototype.use = function (plugin) {
    const settled = (arriving: Promise<unknown>) =>
      arriving.then(
        (arrived) => watchArrived(this, arrived),
        (error) => closeAfter(this, error),
      );
    return use.call(this, plugin instanceof Promise ? settled(plugin) : plugin);
  };

  prototype._use = function (plugin) {
    if (isInstance(plugin)) {
      override(prototypeOf(plugin));
      if (prototypeOf(plugin) !== prototype) rememberUnseen(plugin);
      protectParent(this, plugin);
    }
    return _use.call(this, typeof plugin === 'function' ? watch(this, plugin as Run) : plugin);
  };

  // Elysia stops at the first macro that is off, and takes a second function for the first one.
  prototype.applyMacro = function (
    hooks,
    applied = hooks as Readonly<Record<string, unknown>>,
    state = { iteration: 0, applied: {} },
  ) {
    const isGuarded = usesMacros(this);
    for (const name of Object.keys(applied))
      completeMacro(this.extender.macro as Record<string, unknown>, name, isGuarded);
    if (!isGuarded) return applyMacro.call(this, hooks, applied, state);
    if (state.iteration >= maxMacroDepth) closeFor(this, this, 'macros are nested deeper than Elysia applies them');
    for (const [name, value] of Object.entries(applied))
      applyMacro.call(this, hooks, { [name]: value }, Object(value) === value ? { ...state, applied: {} } : state);
  };

  prototype.guard = function (hooks, run) {
    const all = usesMacros(this) ? withInherited(hooks) : hooks;
    const returned = guard.call(this, all, run && inside(this, run));
    // Elysia has added what macros require.
    if (run === undefined) rememberUnread(this, hooks);
    return returned;
  };

  prototype.group = function (prefix, hooksOrRun, run) {
    return typeof hooksOrRun === 'function'
      ? group.call(this, prefix, inside(this, hooksOrRun as Run))
      : group.call(this, prefix, usesMacros(this) ? withInherited(hooksOrRun) : hooksOrRun, run && inside(this, run));
  };

  // Elysia copies the options, which would lose those of a class.
  prototype.mount = function (path, handler, options) {
    return mount.call(this, path, handler, withInherited(options));
  };

  // A listener of traces runs before the first hook of a request.
  prototype.on = function (...given) {
    return on.apply(this, given.includes('trace') ? given.map(arriveBefore) : given);
  };

  watchGuards(prototype);
  return true;
}

/** Remembers which instances carry only what `guard()` did since their copy of Elysia was met. */
function watchGuards(prototype: Methods): void {
  for (const name of ['guard', '_use', 'as'] as const) {
    const method = prototype[name] as (...given: unknown[]) => unknown;
    prototype[name] = function (this: Instance, ...given: unknown[]) {
      const isSeen = ![this, ...given].some((each) => isInstance(each) && isUnseen(each));
      const returned = method.apply(this, given);
      if (isSeen) rememberSeen(this);
      return returned;
    };
  }
}

/** The completed macros. The value says whether all members of a class count, or only those of a class with requirements. */
const completed = new WeakMap<object, boolean>();

/** Makes a macro return the members of a class as well. Elysia reads only those of the instance itself. */
function completeMacro(macros: Record<string, unknown>, name: string, isGuarded: boolean): void {
  const macro = Object.hasOwn(macros, name) && macros[name];
  if (Object(macro) !== macro || isOwnMacro(macro)) return;
  const known = completed.get(macro as object);
  if (known === true || known === isGuarded) return;
  const complete = (hooks: unknown) =>
    isGuarded || requirementNames.some((each) => each in Object(hooks)) ? withInherited(hooks) : hooks;
  const added = typeof macro === 'function' ? (...given: unknown[]) => complete(macro(...given)) : complete(macro);
  completed.set(added as object, isGuarded);
  macros[name] = added;
}

/** In the callback of `guard` and `group`, the instance is another one, whose routes are added to the outer one afterwards. */
function inside(outer: Instance, run: Run): Run {
  return (instance) => {
    rememberSandbox(instance, outer);
    return run(instance);
  };
}

/** Elysia ignores an instance that a function returns. If the function is asynchronous, Elysia takes over the routes only. */
function watch(app: Instance, run: Run): Run {
  return (given) => {
    const returned = run(given);
    if (returned instanceof Promise)
      return returned.then(
        (arrived) => {
          if (isInstance(arrived))
            refuseIgnored(app, arrived, 'an async function. Call app.use(guard) inside the function');
          return watchArrived(app, arrived);
        },
        (error) => closeAfter(app, error),
      );
    if (isInstance(returned))
      refuseIgnored(app, returned, 'a function. Call the function, or app.use(guard) inside it');
    return returned;
  };
}

function refuseIgnored(app: Instance, returned: Instance, by: string): void {
  if (returned === app) return;
  rememberParent(returned, app);
  refuseUnread(app, returned);
  if (reachOf(returned)?.length !== 0) closeFor(returned, app, `Elysia ignores a guard returned by ${by}`);
}

/** Watches the function that a promise resolved to, itself or as the default export of a module. */
function watchArrived(app: Instance, arrived: unknown): unknown {
  // Elysia does not take over a promised instance of another copy.
  if (isInstance(arrived) && prototypeOf(arrived) !== prototypeOf(app)) return () => app._use(arrived);
  const { default: exported } = Object(arrived) as { readonly default?: unknown };
  const run = typeof arrived === 'function' ? arrived : exported;
  return typeof run === 'function' && !isInstance(arrived) ? watch(app, run as Run) : arrived;
}

/** Remembers the Request before a listener of traces can replace it. */
function arriveBefore(given: unknown): unknown {
  if (Array.isArray(given)) return given.map(arriveBefore);
  if (typeof given === 'function')
    return (context: RouteContext) => {
      arrive(context);
      return given(context);
    };
  const { fn } = Object(given) as { readonly fn?: unknown };
  return typeof fn === 'function' ? { ...(given as object), fn: arriveBefore(fn) } : given;
}
