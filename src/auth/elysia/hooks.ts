/*
 * The hooks by which Elysia carries guards and requirements to routes. They are the second lock too: each fails (500)
 * for a request that no gate has accepted with a plan that it is part of, so the handler behind them is safe without
 * its gate.
 */
import { ElysiaCustomStatusResponse, NotFoundError, status } from 'elysia';
import { toResponse } from '../guard/decision.ts';
import { requirementError } from '../guard/scopes.ts';
import { isClose } from '../options/spelling.ts';
import type { RouteRequirements } from '../types.ts';
import { promised } from '../values/promises.ts';
import { forbidStoring } from './caching.ts';
import { close } from './closing.ts';
import type { Context, Hook, Hooks, Instance, RouteContext } from './internals.ts';
import { type Accepted, type GuardUse, isCalled, type Plan, type Requirement, routeOptionNames } from './plan.ts';

/** The macros of the route options where a token is optional: handlers of a route with one have claims. */
export type RequirementMacros<Handed> = {
  readonly [Name in keyof RouteRequirements]: (value: RouteRequirements<NonNullable<Handed>>[Name]) => {
    resolve(context: RouteContext): { claims: NonNullable<Handed> };
  };
};

/** All plugins share these macros, so that one of the application that replaces one is noticed. */
export const requirementMacros: Readonly<Record<string, unknown>> = Object.fromEntries(
  routeOptionNames.map((name) => [name, (value: unknown) => ({ beforeHandle: requirementHook(name, value) })]),
);

const isOwn = ({ extender }: Instance, name: string) => extender.macro[name] === requirementMacros[name];

/** Whether an instance has a route option of a guard. */
export const knowsRequirements = (instance: Instance): boolean =>
  routeOptionNames.some((name) => isOwn(instance, name));

/** Returns a route option that a macro of the application has replaced, whose values would never reach the guard. */
export const replacedRequirement = (instance: Instance): string | undefined =>
  routeOptionNames.find((name) => !isOwn(instance, name));

/**
 * Closes an instance for a misspelt option, which Elysia would ignore: one that is none of its macros, and begins as
 * ours does, ends with `scope`, or differs in two letters at most. Of Elysia's own options, only `stop` is as close to
 * ours.
 * @throws {TypeError} an option is misspelt, or the instance has no guard yet
 */
export function checkSpelling(instance: Instance, options: Hooks): void {
  for (const option of Object.keys(options)) {
    if (option in instance.extender.macro || option === 'stop') continue;
    const word = option.toLowerCase().replaceAll(/[_-]|.*(?=scopes?$)/g, '');
    const meant = routeOptionNames.find((name) => {
      const known = name.toLowerCase();
      return word.startsWith(known.slice(0, 7)) || (known.length > 3 && isClose(word, known, 2));
    });
    const problem =
      option === meant ? 'has no effect before the guard' : `is not a route option. Did you mean ${meant}?`;
    if (meant) throw close(instance, requirementError(`${option} ${problem}`));
  }
}

/**
 * Closes an instance that has a public route with a requirement.
 * @throws {TypeError} the route was added before the guard, which alone knows its requirement
 */
export function refuseRequirements(instance: Instance, hooks: Hooks): void {
  checkSpelling(instance, hooks);
  const [required] = requirementsIn(hooks);
  if (required) throw close(instance, requirementError(`${required.name} has no effect before the guard`));
}

/** A request that was accepted with a plan. */
interface Acceptance {
  readonly plan: Plan;
  readonly accepted: readonly Accepted[];
}

/** By request, because an application can change a context. */
const acceptances = new WeakMap<object, Acceptance>();

/** Records that a request was accepted with a plan. */
export const accept = (request: Request, acceptance: Acceptance): void => void acceptances.set(request, acceptance);

/** Returns the acceptance of a request with a plan that has these parts. Any other request fails (500). */
function acceptanceWith({ request }: RouteContext, ...parts: readonly (GuardUse | Requirement)[]): Acceptance {
  const acceptance = acceptances.get(request);
  if (acceptance !== undefined && parts.every((part) => acceptance.plan.parts.has(part))) return acceptance;
  return failWith('No gate has accepted this request for this route');
}

/** Fails a request and hides the cause: without an `onError`, Elysia sends the text of an exception. */
export function failWith(cause: unknown): never {
  // Without ahead-of-time compilation, Elysia sends a cause that is text.
  const hidden = typeof cause === 'string' ? new Error(cause) : cause;
  throw Object.assign(new Error('Internal error', { cause: hidden }), { status: 500 });
}

/** Elysia stores no hook, a single one, or a list. */
export function hooksOf(hooks: Readonly<Record<string, unknown>>, kind: string): readonly Hook[] {
  return [hooks[kind] ?? []].flat() as Hook[];
}

const guardUses = new WeakMap<object, GuardUse>();
const requirements = new WeakMap<object, Requirement>();

/** Elysia reads the source of a hook to find out what it needs: query, cookies, the body. */
const needsNothing = <Fn extends object>(fn: Fn): Fn =>
  Object.defineProperty(fn, 'toString', { value: () => '() => {}' });

/** Returns the hook that hands the claims over to a route, and thereby guards it. */
export function claimsHook(use: GuardUse): (context: RouteContext) => { claims: unknown } {
  const hook = (context: RouteContext) => ({ claims: acceptanceWith(context, use).accepted[0]?.claims });
  guardUses.set(hook, use);
  return needsNothing(hook);
}

/** Returns a 4xx response that an application threw, such as `status(404)` for what must stay unknown. */
function clientErrorOf(thrown: unknown): object | undefined {
  const sent = thrown instanceof Response ? status(thrown.status as 404, thrown) : thrown;
  return sent instanceof ElysiaCustomStatusResponse && /^4/.test(String(sent.code)) ? sent : undefined;
}

/** Returns the hook of a macro, which requires something of a route, by a value or a function of the context. */
function requirementHook(name: Requirement['name'], value: unknown): Hook {
  const requirement = { name, value };
  const call = async (context: Context) => {
    const { plan, accepted } = acceptanceWith(context, requirement);
    // The application may have put other claims into the context.
    const own = Object.create(context, { claims: { value: accepted[0]?.claims, enumerable: true } });
    try {
      const returned = await promised((value as (context: unknown) => unknown)(own));
      const rejection = await plan.judge(name, returned, context.request, accepted);
      if (rejection === undefined) return undefined;
      forbidStoring(context.set);
      return status(rejection.status as 403, toResponse(rejection));
    } catch (cause) {
      forbidStoring(context.set);
      if (cause instanceof NotFoundError) throw cause;
      return clientErrorOf(cause) ?? failWith(cause);
    }
  };
  const require = needsNothing((context: RouteContext) => void acceptanceWith(context, requirement));
  const fn = isCalled(requirement) ? call : require;
  requirements.set(fn, requirement);
  // After a `resolve`, no other hook sees the rejection.
  return fn === call ? { fn, subType: 'resolve', isAsync: true, hasReturn: true } : { fn };
}

/** The hook of a route that is public by design, even on an instance with a guard. */
export const publicHook = (): void => {};

export const isPublic = (hooks: Hooks): boolean => hooksOf(hooks, 'beforeHandle').some(({ fn }) => fn === publicHook);

/** Returns the guards in the hooks of a route or an instance, the outer one first. */
export function guardUsesIn(hooks: Hooks, isCounted: (hook: Hook) => boolean = () => true): readonly GuardUse[] {
  const counted = hooksOf(hooks, 'transform').filter(isCounted);
  return counted.flatMap(({ fn }) => guardUses.get(Object(fn)) ?? []);
}

/** Returns the requirements in the hooks of a route. */
export const requirementsIn = (hooks: Hooks): readonly Requirement[] =>
  hooksOf(hooks, 'beforeHandle').flatMap(({ fn }) => requirements.get(Object(fn)) ?? []);

/** Removes the guards from the hooks of a route. */
export function removeGuards(hooks: Hooks): void {
  hooks.transform = hooksOf(hooks, 'transform').filter(({ fn }) => !guardUses.has(Object(fn)));
}

/** Calls the functions of requirements right after validation, before hooks of the application; `authorize` last. */
export function putFunctionsFirst(hooks: Hooks): void {
  const rank = ({ fn }: Hook) => {
    const requirement = requirements.get(Object(fn));
    return requirement && isCalled(requirement) ? routeOptionNames.indexOf(requirement.name) : routeOptionNames.length;
  };
  hooks.beforeHandle = hooksOf(hooks, 'beforeHandle').toSorted((one, other) => rank(one) - rank(other));
}

/** Locks a mounted handler, which Elysia calls without any hook with `aot: false`. Returns whether there is one. */
export function lockMount(hooks: Hooks, parts: readonly (GuardUse | Requirement)[]): boolean {
  const config = Object(hooks.config) as { readonly mount?: (request: Request) => unknown };
  const { mount } = config;
  const locked = (request: Request) => acceptanceWith({ request }, ...parts) && mount?.(request);
  if (mount) hooks.config = { ...config, mount: locked };
  return mount !== undefined;
}
