import { isLoopbackHost } from './fetch-json.ts';

/**
 * Whether `value` is an absolute https address without credentials, fragment, braces or any character that means something
 * to a shell or to HTML. Plain http is for loopback hosts, and for others with `allowHttp`.
 */
export function isSecureUrl(value: string, allowHttp = false): boolean {
  if (!/^https?:\/\/[^\s"'#$<>\\`{}]+$/.test(value) || !/^[\x21-\x7e]+$/.test(value) || !URL.canParse(value))
    return false;
  const { protocol, hostname, username, password } = new URL(value);
  const isSecure = protocol === 'https:' || allowHttp || isLoopbackHost(hostname);
  return isSecure && username === '' && password === '';
}
