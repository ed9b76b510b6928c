import { isLoopbackHost } from './fetch-json.ts';

/**
 * Whether `value` is an absolute https address without credentials, fragment, braces or characters that are special to a shell
 * or to HTML. Plain http is allowed for loopback hosts, and with `allowHttp` for all hosts.
 */
export function isSecureUrl(value: string, allowHttp: boolean): boolean {
  if (!/^https?:\/\/[^\s"'#$<>\\`{}]+$/.test(value) || !/^[\x21-\x7e]+$/.test(value) || !URL.canParse(value))
    return false;
  const { protocol, hostname, username, password } = new URL(value);
  const isSecure = protocol === 'https:' || allowHttp || isLoopbackHost(hostname);
  return isSecure && username === '' && password === '';
}
