import { cors } from '@elysiajs/cors';
import { Elysia } from 'elysia';

const allowedHeaders = ['Content-Type', 'Authorization'];
const exposedHeaders = ['WWW-Authenticate', 'Retry-After'];

/**
 * What every answer of the service carries: it may be read by a page of any origin, is never stored and never sniffed.
 * The cross-origin headers are constants because the plugin's own hook, which writes them anew for every request, costs
 * a fifth of the throughput.
 */
export const commonHeaders = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': allowedHeaders.join(', '),
  'access-control-expose-headers': exposedHeaders.join(', '),
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** Answers preflights, on any path and before any guard. `origin` is off because the plugin would add `Vary: *` to it. */
export const preflight = new Elysia().headers(commonHeaders).use(
  cors({
    origin: false,
    methods: ['GET', 'HEAD'],
    allowedHeaders,
    exposeHeaders: exposedHeaders,
    credentials: false,
    maxAge: 24 * 60 * 60,
  }),
);
