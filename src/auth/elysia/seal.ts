/*
 * Ensures safety on its own: a sealed handler runs only for a request that the guard accepted for exactly its route, and only
 * once. Any other request gets a 500, whatever Elysia or an application does with hooks, contexts and routes. The gate only
 * ensures order: the guard decides before the body is read and before any hook of the application.
 */
import { type Hooks, type RouteContext, withSource } from './instance.ts';
import type { Plan, Requirement } from './plan.ts';

/** A request that the guard accepted for one route. */
interface Acceptance {
  readonly plan: Plan;
  readonly context: unknown;
  readonly claims: unknown;
  /** Whether the functions of the context have accepted it too, if there are any. */
  isComplete: boolean;
  isUsed: boolean;
  /** An earlier acceptance of the same Request, if it is handled several times at once. */
  readonly earlier: Acceptance | undefined;
}

type Handler = (context: RouteContext, ...others: unknown[]) => unknown;

/** The requests for which a sealed handler runs. Without a plan, it runs for none. */
export interface Seal {
  readonly handler: unknown;
  /** What the route requires, for the instances that take it over. */
  readonly required: readonly Requirement[];
  plan: Plan | undefined;
}

/** The latest acceptance of each Request that the server made. The application can neither read nor change this. */
const acceptances = new WeakMap<Request, Acceptance>();
const seals = new WeakMap<object, Seal>();

/** The response if a guarded handler is reached without an acceptance: the application is wrong, not the request. */
export const unaccepted = (): Response =>
  Response.json({ code: 'internal_error', description: 'Internal error' }, { status: 500 });

/** Fails a request, and hides the cause from the client: without an `onError`, Elysia sends the text of an exception. */
export function failWithout(cause: unknown): never {
  throw Object.assign(new Error('Internal error', { cause }), { status: 500 });
}

/** Records that the guard accepted a request for a route. */
export function accept(request: Request, context: unknown, plan: Plan, claims: unknown): void {
  const earlier = unusedAcceptance(request, context);
  acceptances.set(request, { plan, context, claims, isComplete: !plan.hasFunctions, isUsed: false, earlier });
}

/** Returns the acceptance of a context's request. The context may be anything, because the application can change it. */
export function acceptanceOf(context: unknown): Acceptance | undefined {
  return unusedAcceptance(
    typeof context === 'object' && context !== null && 'request' in context && context.request,
    context,
  );
}

/**
 * Returns the acceptance of a request with this context, or else the latest: the context may be a new one, such as that of
 * `mapDerive`. Given a plan, returns only a complete acceptance for that plan.
 */
function unusedAcceptance(request: unknown, context: unknown, plan?: Plan): Acceptance | undefined {
  let latest: Acceptance | undefined;
  for (let one = request instanceof Request ? acceptances.get(request) : undefined; one; one = one.earlier) {
    if (one.isUsed || (plan && (one.plan !== plan || !one.isComplete))) continue;
    if (one.context === context) return one;
    latest ??= one;
  }
  return latest;
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

type Mounted = (request: Request) => unknown;

const mounts = new WeakMap<Mounted, Mounted>();

/** Without ahead-of-time compilation, Elysia calls a mounted handler without any hook. */
export function withSealedMount(hooks: Hooks, seal: Seal): Hooks {
  const config = hooks.config as { readonly mount?: (request: Request) => unknown } | undefined;
  return config?.mount ? { ...hooks, config: { ...config, mount: sealMounted(config.mount, seal) } } : hooks;
}

/** Seals a mounted handler. */
export function sealMounted(given: Mounted, seal: Seal): Mounted {
  const mounted = mounts.get(given) ?? given;
  const sealed: Mounted = (request) => (isAccepted(request, undefined, seal) ? mounted(request) : unaccepted());
  mounts.set(sealed, mounted);
  return sealed;
}

/** Uses up an acceptance of this request for this route: that of the context, if there are several. */
function isAccepted(request: unknown, context: unknown, { plan }: Seal): boolean {
  const acceptance = plan && unusedAcceptance(request, context, plan);
  if (acceptance === undefined) return false;
  acceptance.isUsed = true;
  return true;
}

/** A Response can be sent once. */
function copyOf(value: unknown): unknown {
  if (value instanceof Promise) return value.then(copyOf);
  return value instanceof Response ? value.clone() : value;
}
