import type { Context, MiddlewareHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { requireAccepted, requireGuard } from './guard/guard.ts';
import type { AnonymousIf, Authentication, AuthOf, CheckRequirements, Claims, Guard } from './types.ts';

export type { AuthOf };

/** What the handlers after `requireToken` know of their context, so that `authOf` has the type of the guard's claims. */
export interface GuardedEnv<Auth> {
  /** The variables of the context. */
  Variables: { readonly 'protected-api': Auth };
}

/**
 * Returns Hono middleware. It rejects requests whose token does not meet the requirements. A rejection keeps headers that are
 * already set, such as those of `cors()`.
 * @example
 * app.get('/reports', requireToken(guard, { scope: 'read:reports' }), (c) => c.json(authOf(c).claims.sub));
 * @throws {TypeError} the first argument is not a guard, or a requirement is not valid
 */
export function requireToken<AcceptedClaims extends object, Optional extends boolean = false>(
  guard: Guard<AcceptedClaims>,
  requirements: CheckRequirements<Optional> = {},
): MiddlewareHandler<GuardedEnv<Authentication<AcceptedClaims> | AnonymousIf<Optional>>> {
  requireGuard(guard, requirements);
  return async (context, next) => {
    const result = await guard.check(Object(context.req).raw, requirements);
    if (!('claims' in result)) {
      for (const [name, value] of result.headers) context.header(name, value, { append: name === 'vary' });
      return context.body(await result.text(), result.status as ContentfulStatusCode);
    }
    context.set('protected-api', result);
    return next();
  };
}

/**
 * Returns the authentication of a request that a guard accepted: that of the last guard, if there were several. If the types do
 * not show which guard that was, write `authOf<Claims>(c)`, or `authOf<Claims | undefined>(c)` where a token is optional.
 * @throws {TypeError} no guard has accepted the request
 */
export function authOf<Auth>(context: { readonly var: GuardedEnv<Auth>['Variables'] }): Auth;
export function authOf<AcceptedClaims extends object | undefined = Claims>(context: Context): AuthOf<AcceptedClaims>;
export function authOf({ var: variables }: { readonly var: Partial<GuardedEnv<unknown>['Variables']> }): unknown {
  return requireAccepted(Object(variables)['protected-api']);
}
