/*
 * What responses that depend on whether there is a token say to caches.
 */

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
