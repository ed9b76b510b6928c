import { Elysia } from 'elysia';
import { RefusedError } from './errors.ts';
import { KeySetUnavailableError } from './key-set.ts';
import type { Claims, Verdict, Verifier } from './verifier.ts';

/** The bearer plugin, for the plugin that holds protected routes: `new Elysia().use(bearer).get(…)`. */
export type Bearer = ReturnType<typeof createBearer>;

export interface BearerOptions {
  readonly verifier: Pick<Verifier, 'verify'>;
  /** Told the claims of every token that was accepted. */
  readonly onAccepted?: ((request: Request, claims: Claims) => void) | undefined;
}

/**
 * Returns a plugin without routes that protects every route of the plugin which uses it, and of no other: a request
 * without a valid bearer token is refused, `claims` is derived from it, and the option `scope` of a route asks for a scope.
 */
export function createBearer({ verifier, onAccepted }: BearerOptions) {
  async function verify(token: string): Promise<Verdict> {
    try {
      return await verifier.verify(token);
    } catch (error) {
      if (error instanceof KeySetUnavailableError) throw new RefusedError('keys_unavailable', error);
      throw error;
    }
  }

  return new Elysia()
    .derive({ as: 'scoped' }, async ({ request, set }) => {
      set.headers['cache-control'] = 'no-store';
      const token = readToken(request.headers.get('authorization'));
      const verdict = await verify(token);
      if ('refusal' in verdict) throw new RefusedError(verdict.refusal);
      onAccepted?.(request, verdict.claims);
      return { claims: verdict.claims };
    })
    .macro({
      /** The route asks for this scope on top of a valid token. */
      scope: (scope: string) => ({
        beforeHandle({ claims }) {
          if (!hasScope(claims, scope)) throw new RefusedError('scope_insufficient', { scope });
        },
      }),
    });
}

/** RFC 6750 §2.1: one scheme, one token. Two header lines arrive joined by a comma and so have too many parts. */
function readToken(authorization: string | null): string {
  const [scheme, token, ...rest] = authorization?.match(/[^ \t]+/g) ?? [];
  if (scheme === undefined) throw new RefusedError('credentials_missing');
  if (scheme.toLowerCase() !== 'bearer') throw new RefusedError('scheme_unsupported');
  if (token === undefined || rest.length > 0) throw new RefusedError('credentials_malformed');
  return token;
}

/** RFC 6749 §3.3: a list separated by white space, each element compared exactly. Anything but text grants nothing. */
function hasScope(claims: Claims | undefined, scope: string): boolean {
  return typeof claims?.scope === 'string' && claims.scope.split(/\s+/).includes(scope);
}
