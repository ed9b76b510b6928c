import { type AnyElysia, Elysia, t } from 'elysia';
import { RefusedError, refused } from './refusal.ts';
import type { Claims, Verifier } from './verifier.ts';

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
  return new Elysia()
    .guard({
      as: 'scoped',
      response: {
        401: errorObject('authorization_header_missing', 'invalid_header', 'invalid_claims', 'token_expired'),
        503: errorObject('key_set_unavailable'),
      },
    })
    .derive({ as: 'scoped' }, async ({ request }) => {
      const pending = verifier.verify(readToken(request.headers.get('authorization')));
      // Awaiting what is there already would only cost the request a turn.
      const verdict = pending instanceof Promise ? await pending : pending;
      if ('refusal' in verdict)
        throw 'retryAfterSeconds' in verdict ? new RefusedError(verdict.refusal, verdict) : refused(verdict.refusal);
      onAccepted?.(request, verdict.claims);
      return { claims: verdict.claims };
    })
    .macro({
      /** The route asks for this scope on top of a valid token. */
      scope: (scope: string) => ({
        detail: { security: securityOf(scope) },
        response: { 403: errorObject('Unauthorized') },
        beforeHandle({ claims }) {
          if (!hasScope(claims, scope)) throw new RefusedError('scope_insufficient', { scope });
        },
      }),
    });
}

/** Returns the schema of the Error object, for a status that is answered with these codes. */
export function errorObject<const Codes extends [string, ...string[]]>(...codes: Codes) {
  // Without a default of its own the type would make the first code one.
  const code = t.UnionEnum(codes, { default: undefined });
  return t.Object({ code, description: t.String() }, { title: 'Error' });
}

/** Returns what a protected route asks for, in the words of OpenAPI: a token got from the issuer, or one that is there already. */
export function securityOf(...scopes: string[]): { oauth2?: string[]; bearer?: string[] }[] {
  return [{ oauth2: scopes }, { bearer: [] }];
}

/** Returns the scopes that any of these routes asks for. */
export function scopesOf(routes: AnyElysia['routes']): string[] {
  const declared = routes.flatMap(({ hooks }) => hooks.detail?.security ?? []);
  return [...new Set(declared.flatMap(({ oauth2 }) => oauth2 ?? []))];
}

/** RFC 6750 §2.1: one scheme, one token. Two header lines arrive joined by a comma and so have too many parts. */
function readToken(authorization: string | null): string {
  if (authorization?.startsWith('Bearer ')) {
    // The usual form, eight times as fast as the general one below.
    const token = authorization.slice('Bearer '.length);
    if (!token.includes(' ') && !token.includes('\t')) return token;
  }
  const [scheme, token, ...rest] = authorization?.match(/[^ \t]+/g) ?? [];
  if (scheme === undefined) throw refused('credentials_missing');
  if (scheme.toLowerCase() !== 'bearer') throw refused('scheme_unsupported');
  if (token === undefined || rest.length > 0) throw refused('credentials_malformed');
  return token;
}

/** RFC 6749 §3.3: a list separated by white space, each element compared exactly. Anything but text grants nothing. */
function hasScope(claims: Claims | undefined, scope: string): boolean {
  return typeof claims?.scope === 'string' && claims.scope.split(/\s+/).includes(scope);
}
