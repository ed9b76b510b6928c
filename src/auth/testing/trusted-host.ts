import { isLoopbackHost } from '../keys/url.ts';

/** The description of the error for a request with another Host. */
export const untrustedHost = 'Host must be localhost, a loopback address or the host of the issuer';

/**
 * Returns whether the Host of a request is loopback (any port) or the host of `issuer`. A website that points its own name at
 * this machine (DNS rebinding) sends that name. Without a Host header, the address of the request is checked.
 */
export function isTrustedHost(request: Request, issuer: string): boolean {
  // On Bun, the address of a request with an invalid Host cannot be parsed.
  const host = request.headers.get('host') ?? /^https?:\/\/([^/?#]*)/i.exec(request.url)?.[1] ?? '';
  const { protocol, host: issuerHost } = new URL(issuer);
  if (!/^[\w.-]+(:\d+)?$|^\[[\da-f:]+\](:\d+)?$/i.test(host) || !URL.canParse(`${protocol}//${host}`)) return false;
  const url = new URL(`${protocol}//${host}`);
  return url.host === issuerHost || isLoopbackHost(url.hostname);
}
