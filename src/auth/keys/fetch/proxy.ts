import { mayReadVariable, runtime } from '../../values/runtime.ts';
import { isLoopbackHost, parseUrl } from '../../values/url.ts';

/*
 * Which proxy of the environment a request goes through, for messages: a fault of the proxy is not one of the issuer.
 * The runtime chooses it, by the same variables.
 */

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the host of the proxy without credentials; undefined if there is none, or if that is unknown. */
export function proxyOf(url: string, environment: Environment = readEnvironment()): string | undefined {
  const { protocol, hostname, port } = new URL(url);
  const read = (name: string) => environment[name] || environment[name.toUpperCase()] || undefined;
  const proxy = read(protocol === 'https:' ? 'https_proxy' : 'http_proxy') ?? read('all_proxy');
  const exceptions =
    read('no_proxy')
      ?.toLowerCase()
      .split(/[\s,]+/) ?? [];
  const ownPort = port || (protocol === 'https:' ? '443' : '80');
  const isAddress = /^\[|^\d+(?:\.\d+){3}$/.test(hostname);
  const isExcepted = (entry: string) => {
    const [, domain = '', only = ownPort] = /^(?:\*?\.)?(.*?)\.?(?::(\d+))?$/.exec(entry) ?? [];
    const isHost = domain !== '' && (hostname === domain || hostname.endsWith(`.${domain}`));
    // Runtimes differ in whether they read 10.0.0.0/8.
    const isInRange = isAddress && entry.includes('/');
    return entry === '*' || `[${entry}]` === hostname || isInRange || (isHost && only === ownPort);
  };
  if (proxy === undefined || isLoopbackHost(hostname) || exceptions.some(isExcepted)) return undefined;
  // What follows the credentials, which may have characters that end the host of a URL.
  return parseUrl(`http://${proxy.replace(/^(?:[a-z\d+.-]+:\/\/)?(?:.*@)?/is, '')}`)?.host || undefined;
}

const variables = ['https_proxy', 'http_proxy', 'all_proxy', 'no_proxy'].flatMap((name) => [name, name.toUpperCase()]);

/** Returns the variables of a runtime that uses them. Node.js does so on demand. */
function readEnvironment(): Environment {
  const { Bun, Deno, process: { env = {}, execArgv = [] } = {} } = runtime;
  if (Deno) return Object.fromEntries(variables.filter(mayReadVariable).map((name) => [name, env[name]]));
  const asked = [...execArgv, env.NODE_OPTIONS ?? ''].some((text) => text.includes('--use-env-proxy'));
  return Bun !== undefined || env.NODE_USE_ENV_PROXY === '1' || asked ? env : {};
}
