/*
 * What caches learn from responses that depend on a token.
 */
import { isForCaches } from '../guard/rejection.ts';
import type { Context } from './internals.ts';

/** Removes what an application has set to let caches keep its response, because a rejection must not be kept (RFC 9449 §8.2). */
export function forbidStoring({ headers }: Context['set']): void {
  for (const name of Object.keys(headers)) if (isForCaches(name)) delete headers[name];
  headers['cache-control'] = 'no-store';
}

/** Tells caches that a response depends on the token (RFC 9110 §12.5.5). The headers of a fetched response are immutable. */
export function varyByToken(response: unknown): unknown {
  const { headers } = Object(response) as Partial<Response>;
  if (typeof headers?.get !== 'function' || /\bauthorization\b|\*/i.test(headers.get('vary') ?? '')) return response;
  try {
    headers.append('vary', 'Authorization');
    return response;
  } catch {
    return varyByToken(new Response((response as Response).body, response as Response));
  }
}
