import { cors } from '@elysiajs/cors';
import { Elysia } from 'elysia';
import type { GuardOptions } from 'protected-api';

/** Error responses that do not come from the guard, by their code. */
export const failures = {
  invalid_request: { status: 400, description: 'Request does not match the schema of this path' },
  not_found: { status: 404, description: 'Path not found' },
  method_not_allowed: { status: 405, description: 'Method not allowed for this path' },
  internal_error: { status: 500, description: 'Internal error' },
} as const;

/** Headers of every response, whatever its status. */
export type CommonHeaders = ReturnType<typeof createCommonHeaders>;

/**
 * Returns the headers that let pages of any origin read a response, and that forbid storing and sniffing it. They are
 * constant: @elysiajs/cors writes them for each request, which costs a fifth of the throughput.
 * @param allowedHeaders further headers that pages of other origins may send
 */
export function createCommonHeaders(
  { dpop = 'off', dpopNonceSecret }: Pick<GuardOptions, 'dpop' | 'dpopNonceSecret'> = {},
  allowedHeaders: readonly string[] = [],
) {
  const hasNonces = dpop !== 'off' && dpopNonceSecret !== undefined;
  const proof = dpop === 'off' ? [] : ['DPoP'];
  return {
    'access-control-allow-origin': '*',
    'access-control-allow-headers': ['Content-Type', 'Authorization', ...proof, ...allowedHeaders].join(', '),
    'access-control-expose-headers': `WWW-Authenticate, Retry-After${hasNonces ? ', DPoP-Nonce' : ''}`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  } as const;
}

/** Returns functions that create responses with the common headers, or add these to existing responses. */
export function createResponses(commonHeaders: CommonHeaders = createCommonHeaders()) {
  // Copying a Headers object takes a third of the time of an object literal.
  const jsonHeaders = new Headers({ ...commonHeaders, 'content-type': 'application/json' });
  const entries = Object.entries(commonHeaders);
  const json = (status: number, body: object) => new Response(JSON.stringify(body), { status, headers: jsonHeaders });

  const crossOrigin = new Elysia().headers(commonHeaders).use(
    cors({
      // The plugin would add `Vary: *`. The common headers contain the origin.
      origin: false,
      // The plugin has one list for all paths.
      methods: false,
      allowedHeaders: commonHeaders['access-control-allow-headers'],
      exposeHeaders: commonHeaders['access-control-expose-headers'],
      credentials: false,
      maxAge: 24 * 60 * 60,
    }),
  );

  return {
    json,
    /**
     * Responds to a preflight for a path that takes these methods, from any origin. Browsers cache the response for a
     * day.
     */
    async preflight(request: Request, methods: readonly string[]): Promise<Response> {
      const response = await crossOrigin.fetch(request);
      const allowed = methods.length > 0 ? methods : ['GET', 'HEAD'];
      response.headers.set('access-control-allow-methods', allowed.join(', '));
      return response;
    },
    /** Returns the Error object of a failure; `allow` lists the methods for a 405. */
    fail(code: keyof typeof failures, allow?: readonly string[]): Response {
      const { status, description } = failures[code];
      const response = json(status, { code, description });
      if (allow) response.headers.set('Allow', allow.join(', '));
      return response;
    },
    /** Adds the common headers that neither the response nor `headers`, which Elysia adds later, contains. */
    complete(response: Response, headers: Readonly<Record<string, unknown>>): Response {
      for (const [name, value] of entries)
        if (!response.headers.has(name) && !(name in headers)) response.headers.set(name, value);
      return response;
    },
  };
}
