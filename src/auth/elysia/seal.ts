/*
 * Safety, by itself: a sealed handler runs only for a request that the guard accepted for exactly its route, once. Whatever
 * Elysia or an application does with hooks, contexts and routes, anything else gets a 500. The gate only brings order: with it,
 * the guard decides before the body is read and before any hook of the application.
 */
import type { RouteContext } from './instance.ts';
import type { Plan, Requirement } from './plan.ts';

/** A request that the guard accepted for one route. */
interface Acceptance {
  readonly plan: Plan;
  readonly context: unknown;
  readonly claims: unknown;
  /** Whether the functions of the context have accepted it too, if there are any. */
  isComplete: boolean;
  /** An earlier acceptance of the same Request, which is handled several times at once. */
  next: Acceptance | undefined;
}

type Handler = (context: RouteContext, ...others: unknown[]) => unknown;

/** What a sealed handler runs for. Without a plan, it runs for no request. */
export interface Seal {
  readonly handler: unknown;
  /** What the route requires, for the instances that take it over. */
  readonly required: readonly Requirement[];
  plan: Plan | undefined;
}

/** By the Request that the server made. The application can neither add to this nor reach it. */
const acceptances = new WeakMap<Request, Acceptance>();
const seals = new WeakMap<object, Seal>();

/** The response where a guarded handler is reached without an acceptance: a defect of the application, not of the request. */
export const unaccepted = (): Response =>
  Response.json({ code: 'internal_error', description: 'Internal error' }, { status: 500 });

/** Fails a request, and hides the cause from the client: without an `onError`, Elysia sends the text of an exception. */
export function failWithout(cause: unknown): never {
  throw Object.assign(new Error('Internal error', { cause }), { status: 500 });
}

/** Records that the guard accepted a request for a route. */
export function accept(request: Request, context: unknown, plan: Plan, claims: unknown): void {
  const next = acceptances.get(request);
  acceptances.set(request, { plan, context, claims, isComplete: !plan.hasFunctions, next });
}

/** Returns the acceptance of a context's request. The context may be anything, because the application can change it. */
export function acceptanceOf(context: unknown): Acceptance | undefined {
  const request: unknown = typeof context === 'object' && context !== null && 'request' in context && context.request;
  if (!(request instanceof Request)) return undefined;
  const last = acceptances.get(request);
  for (let one = last; one; one = one.next) if (one.context === context) return one;
  // A new context, such as that of `mapDerive`.
  return last;
}

/** Returns the seal of a handler. */
export function sealOf(handler: unknown): Seal | undefined {
  return typeof handler === 'function' ? seals.get(handler) : undefined;
}

/** Returns the sealed handler. Values become functions, because Elysia serves some of them without any hook. */
export function sealHandler(seal: Seal): Handler {
  const { handler } = seal;
  const run = typeof handler === 'function' ? (handler as Handler) : () => copyOf(handler);
  const sealed: Handler = (context, ...others) =>
    isAccepted(context?.request, context, seal) ? run(context, ...others) : unaccepted();
  Object.setPrototypeOf(sealed, Object.getPrototypeOf(run));
  seals.set(sealed, seal);
  return withSource(sealed, String(run));
}

/** Elysia reads the source of handlers and hooks to find out what they need: query, cookies, the body. */
export function withSource<Fn extends object>(fn: Fn, source: string): Fn {
  return Object.defineProperty(fn, 'toString', { value: () => source });
}

type Mounted = (request: Request) => unknown;

const mounts = new WeakMap<Mounted, Mounted>();

/** Seals a mounted handler, which Elysia calls without hooks if it does not compile routes ahead of time. */
export function sealMounted(given: Mounted, seal: Seal): Mounted {
  const mounted = mounts.get(given) ?? given;
  const sealed: Mounted = (request) => (isAccepted(request, undefined, seal) ? mounted(request) : unaccepted());
  mounts.set(sealed, mounted);
  return sealed;
}

/** Uses up an acceptance of this request for this route: that of the context, if there are several. */
function isAccepted(request: unknown, context: unknown, { plan }: Seal): boolean {
  if (plan === undefined || !(request instanceof Request)) return false;
  const all: Acceptance[] = [];
  for (let one = acceptances.get(request); one; one = one.next) all.push(one);
  const usable = all.filter((one) => one.plan === plan && one.isComplete);
  const used = usable.find((one) => one.context === context) ?? usable[0];
  if (used === undefined) return false;
  const left = all.filter((one) => one !== used);
  acceptances.delete(request);
  for (const one of left.toReversed()) acceptances.set(request, Object.assign(one, { next: acceptances.get(request) }));
  return true;
}

/** A Response can be sent once. */
function copyOf(value: unknown): unknown {
  if (value instanceof Promise) return value.then(copyOf);
  return value instanceof Response ? value.clone() : value;
}
