// What caches learn from the headers of responses that depend on a token.
import { isDropped } from '../guard/decision.ts';
import type { Context } from './internals.ts';

/** Removes what an application has set for caches or about its body, which a rejection replaces (RFC 9449 §8.2). */
export function dropCaching({ headers }: Context['set']): void {
  for (const name in headers) if (isDropped(name)) delete headers[name];
}

/** The same for a response that may be one of the application. */
export function forbidStoring(set: Context['set']): void {
  dropCaching(set);
  set.headers['cache-control'] = 'no-store';
}

/** Tells caches that a response depends on the token (RFC 9110 §12.5.5). */
export function varyByToken(response: unknown): unknown {
  return withHeader(response, (headers) => {
    if (!/\bauthorization\b|\*/i.test(headers.get('vary') ?? '')) headers.append('vary', 'Authorization');
  });
}

/** Changes the headers of a response, or of a copy: those of a fetched response are immutable. */
export function withHeader(response: unknown, change: (headers: Response['headers']) => void): unknown {
  const { headers } = Object(response) as Partial<Response>;
  if (typeof headers?.get !== 'function') return response;
  try {
    change(headers);
    return response;
  } catch {
    return withHeader(new Response((response as Response).body, response as Response), change);
  }
}
