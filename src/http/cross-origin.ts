import { cors } from '@elysiajs/cors';
import { type AnyElysia, Elysia } from 'elysia';
import type { CommonHeaders } from './answers.ts';

/** Answers a preflight for a path that allows these methods. */
export type Preflight = (request: Request, methods: readonly string[]) => Response | Promise<Response>;

/** Returns a function that answers preflights from any origin, without credentials. Browsers cache the response for a day. */
export function createPreflight(commonHeaders: CommonHeaders): Preflight {
  // One application per list of methods. The routes have only a few different ones.
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
      // The plugin would add `Vary: *`. The common headers contain the origin.
      origin: false,
      methods,
      allowedHeaders: commonHeaders['access-control-allow-headers'],
      exposeHeaders: commonHeaders['access-control-expose-headers'],
      credentials: false,
      maxAge: 24 * 60 * 60,
    }),
  );
}
