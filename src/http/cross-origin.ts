import { cors } from '@elysiajs/cors';
import { Elysia } from 'elysia';
import type { CommonHeaders } from './responses.ts';

/**
 * Returns a function that responds to preflights for a path that takes these methods, from any origin and without credentials.
 * Browsers cache the response for a day.
 */
export function createPreflight(commonHeaders: CommonHeaders) {
  const app = new Elysia().headers(commonHeaders).use(
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
  return async (request: Request, methods: readonly string[]): Promise<Response> => {
    const response = await app.fetch(request);
    const allowed = methods.length > 0 ? methods : ['GET', 'HEAD'];
    response.headers.set('access-control-allow-methods', allowed.join(', '));
    return response;
  };
}
