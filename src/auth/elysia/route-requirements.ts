import { withoutNeeds } from './gate.ts';
import { hooksOf, type Route } from './instance.ts';
import type { RouteContext, RouteRequirements } from './plan.ts';
import { copyHandler, decisionOf } from './seal.ts';

/** The route options that are requirements. */
export const requirementNames = ['scope', 'acr', 'maxAge', 'authorize'] as const;

/** What a hook requires, for requirements that reach a route through Elysia's macros. */
const requirementsOf = new WeakMap<object, RouteRequirements>();
/** What a handler brings along, see {@link carry}. */
const carriedBy = new WeakMap<object, readonly RouteRequirements[]>();

/** Returns the hook of a macro, by which the requirement is found however it came to a route. */
export function requirementHook(required: RouteRequirements) {
  const hook = (context: RouteContext) => {
    // The second lock of the requirement: the first is the decision itself.
    if (decisionOf(context) === undefined) throw Object.assign(new Error('Internal error'), { status: 500 });
  };
  const sources = [required.scope, required.authorize].filter((value) => typeof value === 'function');
  // Elysia reads the source of a hook to find out what it needs, such as the body.
  if (sources[0]) Object.defineProperty(hook, 'toString', { value: () => String(sources[0]) });
  else withoutNeeds(hook);
  requirementsOf.set(hook, required);
  return hook;
}

/** Returns what the hooks of a route require. */
export function requiredOf(hooks: object): readonly RouteRequirements[] {
  return withoutRepetition(
    hooksOf(hooks, 'beforeHandle').flatMap(({ fn }) => (typeof fn === 'function' && requirementsOf.get(fn)) || []),
  );
}

/** Returns the requirements in the options of a route, and those of hooks that an instance has added before. */
export function requirementsIn(
  handler: unknown,
  hooks: Readonly<Record<string, unknown>>,
): readonly RouteRequirements[] {
  const options = requirementNames.flatMap((name) => (hooks[name] === undefined ? [] : [{ [name]: hooks[name] }]));
  const carried = typeof handler === 'function' ? carriedBy.get(handler) : undefined;
  return [...options, ...requiredOf(hooks), ...(carried ?? [])];
}

/** Lets a handler carry what its route requires to the instance that has the guard, because hooks can be lost between them. */
export function carry(handler: unknown, given: readonly RouteRequirements[]): unknown {
  if (given.length === 0) return handler;
  const carrier = copyHandler(handler);
  carriedBy.set(carrier, given);
  return carrier;
}

/** Adds the hook of a requirement that Elysia has lost, so that the instances that take over the route find it too. */
export function keepRequirements(route: Route | undefined, given: readonly RouteRequirements[]): void {
  if (route === undefined) return;
  const known = requiredOf(route.hooks);
  const lost = given.filter((one) =>
    requirementNames.some((name) => one[name] !== undefined && !has(known, name, one[name])),
  );
  if (lost.length === 0) return;
  const hooks = lost.map((required) => ({ fn: requirementHook(required) }));
  route.hooks.beforeHandle = [...hooksOf(route.hooks, 'beforeHandle'), ...hooks];
}

const has = (known: readonly RouteRequirements[], name: (typeof requirementNames)[number], value: unknown) =>
  known.some((required) => required[name] === value);

/** A requirement can come from the options of a route and from the hook of its macro. */
function withoutRepetition(required: readonly RouteRequirements[]): readonly RouteRequirements[] {
  const seen = new Map<string, Set<unknown>>(requirementNames.map((name) => [name, new Set()]));
  return required.flatMap((one) => {
    const fresh = requirementNames.filter((name) => one[name] !== undefined && !seen.get(name)?.has(one[name]));
    for (const name of fresh) seen.get(name)?.add(one[name]);
    return fresh.length === 0 ? [] : [Object.fromEntries(fresh.map((name) => [name, one[name]]))];
  });
}
