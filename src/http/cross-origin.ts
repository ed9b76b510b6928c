import { cors } from '@elysiajs/cors';
import { type AnyElysia, Elysia } from 'elysia';
import type { CommonHeaders } from './answers.ts';

/** Answers a preflight for a path that takes these methods. */
export type Preflight = (request: Request, methods: readonly string[]) => Response | Promise<Response>;

/** Returns a function that answers preflights for a day, from any origin and without credentials. */
export function createPreflight(commonHeaders: CommonHeaders): Preflight {
  // One application for each list of methods, of which the routes have a few.
  const apps = new Map<string, AnyElysia>();
  return (request, methods) => {
    const allowed = methods.join(', ');
    const app = apps.get(allowed) ?? createPreflightApp(commonHeaders, allowed);
    apps.set(allowed, app);
    return app.fetch(request);
  };
}

function createPreflightApp(commonHeaders: CommonHeaders, methods: string): AnyElysia {
  return new Elysia().headers(commonHeaders).use(
    cors({
      // The plugin would add `Vary: *` to the origin; the common headers name it.
      origin: false,
      methods,
      allowedHeaders: commonHeaders['access-control-allow-headers'],
      exposeHeaders: commonHeaders['access-control-expose-headers'],
      credentials: false,
      maxAge: 24 * 60 * 60,
    }),
  );
}
