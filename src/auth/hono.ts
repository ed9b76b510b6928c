import type { Context, Env, Input, MiddlewareHandler } from 'hono';
import { isAccepted, isDropped } from './guard/decision.ts';
import { createRouteCheck, nonceHeaders, requireAccepted } from './guard/route-check.ts';
import type { Accepted, AuthOf, CheckRequirements, Claims, Guard, OptionalAuth, RejectionOptions } from './types.ts';

export type { AuthOf };

/**
 * What the handlers after `requireToken` know of their context, so that `authOf` has the type of the guard's claims. It
 * is not one of the `Variables`, because Hono would require those of handlers that are typed separately.
 */
export interface GuardedEnv<Auth> {
  /** Never set. */
  readonly 'protected-api'?: Auth;
  /** Those of the application. */
  Variables: object;
}

/** The part of a Hono context that a guard uses, also of the context of another copy of Hono. */
export interface HookContext {
  /** The request, which holds that of Web standards. */
  readonly req: { readonly raw: Request };
  /** What the runtime gives. */
  readonly env: unknown;
  /** What middleware has set. */
  readonly var: object;
  /** Sets a header, or removes it. */
  header(name: string, value?: string, options?: { append?: boolean }): void;
  /** Returns the rejection. */
  body(data: string, status?: number): Response;
  /** Sets what `authOf` returns. */
  set(key: string, value: unknown): void;
}

/**
 * Hono middleware, also for another copy of Hono than the package imports. Hono infers the type of the claims from the
 * last member of this type, so with another copy, write `authOf<MyClaims>(c)`.
 */
export type TokenMiddleware<Auth> = ((
  context: HookContext,
  next: () => Promise<void>,
) => Promise<Response | undefined>) &
  MiddlewareHandler<GuardedEnv<Auth>>;

/** A plain `Context` has any environment, which does not say what the claims are. */
type AuthIn<Known> = 0 extends Known & 1
  ? AuthOf<Claims>
  : 'protected-api' extends keyof Known
    ? Exclude<Known['protected-api'], undefined>
    : AuthOf<Claims>;

/**
 * Returns Hono middleware. It rejects requests whose token does not meet the requirements. A rejection keeps headers
 * that are already set, such as those of `cors()`. With `{ rejection: 'throw' }`, it is thrown as a `RejectionError`,
 * for `onError` and for `some()`.
 * @example
 * app.get('/messages', requireToken(guard, { scope: 'read:messages' }), (c) => c.json(authOf(c).claims.sub));
 * @throws {TypeError} the first argument is not a guard, or a requirement is not valid
 */
export function requireToken<AcceptedClaims extends object, Optional extends boolean = false>(
  guard: Guard<AcceptedClaims>,
  requirements: CheckRequirements<Optional> = {},
  options: RejectionOptions = {},
): TokenMiddleware<Accepted<AcceptedClaims, Optional>> {
  const check = createRouteCheck(guard, requirements, options);
  return async (context: HookContext, next: () => Promise<void>) => {
    const request = requestOf(context);
    const result = await check(request);
    if (!isAccepted(result)) {
      for (const [name, value] of Object.entries(result.headers))
        context.header(name, value, { append: name === 'vary' });
      const response = context.body(result.body, result.status);
      // Not before: reading `context.res` makes a response, which takes half of the time of a rejection on Node.js.
      for (const name of [...response.headers.keys()].filter(isDropped))
        if (!Object.hasOwn(result.headers, name)) {
          response.headers.delete(name);
          // Hono adds the headers of the context once more if a middleware has read `context.res`.
          context.header(name, undefined);
        }
      return response;
    }
    accepted.set(context.req, request);
    context.set('protected-api', result as Accepted<AcceptedClaims, Optional>);
    await next();
    for (const header of nonceHeaders(result.dpopNonce)) context.header(...header);
    return undefined;
  };
}

/** The requests that were accepted, by that of Hono. */
const accepted = new WeakMap<object, Request>();

/**
 * Returns what a guard checks. `bodyLimit()` replaces a request by a copy, which is still the same request: otherwise,
 * its proof would count as used.
 */
function requestOf({ req, env }: HookContext): Request {
  const { raw } = Object(req);
  const earlier = accepted.get(req);
  if (earlier && isCopy(raw, earlier)) return earlier;
  // That of @hono/node-server. Others have none.
  const { incoming } = Object(env);
  if (incoming !== undefined && raw.incoming === undefined) Object.defineProperty(raw, 'incoming', { value: incoming });
  return raw;
}

const isCopy = (one: Request, other: Request) =>
  one === other || (one.method === other.method && one.url === other.url && headersOf(one) === headersOf(other));
const headersOf = ({ headers }: Request) => JSON.stringify([...headers]);

/**
 * Returns the authentication of a request that a guard accepted: that of the last guard, if there were several. Its
 * type is that of the guard before it in the same call or chain. Otherwise, write `authOf<Claims>(c)`, or
 * `authOf<Claims | undefined>(c)` where a token is optional. For logs, which see every request, write `authOf(c, {
 * optional: true })`: undefined if no guard has accepted it.
 * @throws {TypeError} no guard has accepted the request, and `optional` is not set
 */
export function authOf<Known extends Env, Given extends Input>(context: Context<Known, string, Given>): AuthIn<Known>;
export function authOf<AcceptedClaims extends object | undefined = Claims>(
  context: Pick<HookContext, 'var'>,
): AuthOf<AcceptedClaims>;
export function authOf<AcceptedClaims extends object = Claims>(
  context: Pick<HookContext, 'var'>,
  options: OptionalAuth | undefined,
): AuthOf<AcceptedClaims | undefined> | undefined;
export function authOf(context: Pick<HookContext, 'var'>, options?: OptionalAuth) {
  return requireAccepted(Object(Object(context).var)['protected-api'], options);
}
