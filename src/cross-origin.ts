import { cors } from '@elysiajs/cors';
import { Elysia } from 'elysia';

const allowedHeaders = ['Content-Type', 'Authorization'];
const exposedHeaders = ['WWW-Authenticate', 'Retry-After'];

/**
 * The headers that let a page of any origin use an answer. They are the same on every answer, so they are constants:
 * the plugin's hook, which writes them anew for every request, would cost a fifth of the throughput.
 */
export const crossOriginHeaders = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': allowedHeaders.join(', '),
  'access-control-expose-headers': exposedHeaders.join(', '),
} as const;

/** Answers preflights, on any path and before any guard. `origin` is off because the plugin would add `Vary: *` to it. */
export const preflight = new Elysia()
  .headers({ ...crossOriginHeaders, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  .use(
    cors({
      origin: false,
      methods: ['GET', 'HEAD'],
      allowedHeaders,
      exposeHeaders: exposedHeaders,
      credentials: false,
      maxAge: 24 * 60 * 60,
    }),
  );
