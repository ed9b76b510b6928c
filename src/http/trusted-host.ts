import { isLoopbackHost } from '../auth/guard.ts';

/** The description of the error for a request with another Host. */
export const untrustedHost = 'Host must be localhost, a loopback address or the host of PUBLIC_URL';

/**
 * Returns whether the Host of a request is loopback (any port) or the host of `publicUrl`. A website that points its own
 * name at this machine (DNS rebinding) sends that name. Without a Host header, the address of the request is checked.
 */
export function isTrustedHost(request: Request, publicUrl: string): boolean {
  const host = request.headers.get('host') ?? new URL(request.url).host;
  const { protocol, host: publicHost } = new URL(publicUrl);
  if (!/^[\w.-]+(:\d+)?$|^\[[\da-f:]+\](:\d+)?$/i.test(host) || !URL.canParse(`${protocol}//${host}`)) return false;
  const url = new URL(`${protocol}//${host}`);
  return url.host === publicHost || isLoopbackHost(url.hostname);
}
