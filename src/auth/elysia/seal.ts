import type { Plan, RouteContext } from './plan.ts';

/** A request that was decided for one route. */
interface Decided {
  readonly plan: Plan;
  readonly claims: unknown;
  /** Whether the functions of the context were judged, if there are any. */
  isComplete: boolean;
}

type Handler = (context: RouteContext, ...others: unknown[]) => unknown;

/** What a sealed handler answers for. The plan is known only once Elysia has merged the hooks of the route. */
export interface Lock {
  readonly handler: unknown;
  plan: Plan | undefined;
}

/** By the Request that the server made. The application can neither add to this nor reach it. */
const decided = new WeakMap<Request, Decided>();
const locks = new WeakMap<object, Lock>();

/** The response where a guarded handler is reached without a decision: a defect of the application, not of the request. */
export const undecided = () =>
  Response.json({ code: 'internal_error', description: 'Internal error' }, { status: 500 });

/** Records that a request was accepted for a route. */
export function markDecided(request: Request, plan: Plan, claims: unknown): Decided {
  const decision = { plan, claims, isComplete: !plan.hasFunctions };
  decided.set(request, decision);
  return decision;
}

/** Returns the decision about the request of a context. The context may be anything, because the application can change it. */
export function decisionOf(context: unknown): Decided | undefined {
  const request: unknown = typeof context === 'object' && context !== null && 'request' in context && context.request;
  return request instanceof Request ? decided.get(request) : undefined;
}

/** Returns the lock of a handler that was sealed. */
export function lockOf(handler: unknown): Lock | undefined {
  return typeof handler === 'function' ? locks.get(handler) : undefined;
}

/**
 * Returns a handler that answers only a request that was decided for its plan, and each decision once. No hook can change
 * that. Values become functions, because Elysia answers some of them without any hook.
 */
export function seal(lock: Lock): Handler {
  const answer = toFunction(lock.handler);
  const sealed = withSourceOf(answer, (context, ...others) =>
    isDecided(context?.request, lock) ? answer(context, ...others) : undecided(),
  );
  locks.set(sealed, lock);
  return sealed;
}

/** Returns a handler that does the same, and is no other route's. */
export function copyHandler(handler: unknown): Handler {
  const answer = toFunction(handler);
  return withSourceOf(answer, (...all) => answer(...all));
}

const toFunction = (handler: unknown): Handler =>
  typeof handler === 'function' ? (handler as Handler) : () => copyOf(handler);

/** Elysia reads the source and the kind of a handler to find out what it needs. */
function withSourceOf(answer: Handler, handler: Handler): Handler {
  Object.setPrototypeOf(handler, Object.getPrototypeOf(answer));
  return Object.defineProperty(handler, 'toString', { value: () => String(answer) });
}

type Mounted = (request: Request) => unknown;

const mounts = new WeakMap<Mounted, Mounted>();

/** Seals a mounted handler, which Elysia calls without hooks if it does not compile routes ahead of time. */
export function sealMounted(given: Mounted, lock: Lock): Mounted {
  const mounted = mounts.get(given) ?? given;
  const sealed: Mounted = (request) => (isDecided(request, lock) ? mounted(request) : undecided());
  mounts.set(sealed, mounted);
  return sealed;
}

function isDecided(request: unknown, { plan }: Lock): boolean {
  const decision = request instanceof Request ? decided.get(request) : undefined;
  if (plan === undefined || decision?.plan !== plan || !decision.isComplete) return false;
  return decided.delete(request as Request);
}

/** A Response can be sent once. */
function copyOf(value: unknown): unknown {
  if (value instanceof Promise) return value.then(copyOf);
  return value instanceof Response ? value.clone() : value;
}
