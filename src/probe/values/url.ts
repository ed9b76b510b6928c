/** Whether a host name, as `URL` normalizes it, is a loopback host. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

/** Whether a value is an https URL without credentials, or an http one on loopback. */
export function isSecureUrl(value: unknown): value is string {
  if (typeof value !== 'string' || !/^https?:\/\/[\x21-\x7e]+$/.test(value) || !URL.canParse(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  return username + password === '' && (protocol === 'https:' || isLoopbackHost(hostname));
}

/** Whether the metadata of an issuer may name this URL: one on this machine only if the issuer is there. */
export const isAllowedInMetadata = (value: unknown, issuer: string): value is string =>
  isSecureUrl(value) && (!isLoopbackHost(new URL(value).hostname) || isLoopbackHost(new URL(issuer).hostname));
