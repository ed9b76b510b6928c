import { coreOf } from '../guard/guard.ts';
import { boolean, code, integer, list, type OptionRule, withDefault } from '../options/kinds.ts';
import type { FixedScope, Guard } from '../types.ts';
import { describeValue, quote } from '../values/describe-value.ts';
import { isJsonObject, isText, namesIn } from '../values/json.ts';
import { isLoopbackHost, parseUrl } from '../values/url.ts';

/*
 * What the options of an MCP endpoint mean, and how they are validated.
 * What they decide about a request is in endpoint.ts.
 */

/** The options of an MCP endpoint. */
export interface McpOptions<PublicTools extends readonly string[] = readonly string[]> {
  /**
   * The scopes that tools require: by the name of the tool, what `check` takes as `scope`. A tool that is not listed requires only
   * a token and the option `scope`.
   */
  readonly tools?: Readonly<Record<string, FixedScope>>;
  /** The scope that every request with a token requires. */
  readonly scope?: FixedScope;
  /**
   * The tools that can be called without a token. Requests without one can then also begin, ping, list and send notifications, and
   * nothing else.
   */
  readonly publicTools?: PublicTools;
  /**
   * The origins whose pages may call the server, such as `https://app.example.com`. Requests without an `Origin` header are allowed,
   * and so are pages on a loopback host if the resource is on one.
   */
  readonly origins?: readonly string[];
  /** Hosts that the `Host` header may name besides that of `publicUrl`, such as that of a proxy. Ports are not compared. */
  readonly hosts?: readonly string[];
  /** Whether the handler has sessions, and with them GET and DELETE. Defaults to false. */
  readonly sessions?: boolean;
  /** The longest body in bytes, from 1 to 1 GiB. Defaults to 4 MiB. */
  readonly maxBodyBytes?: number;
}

/** A required scope: all of these names, or any of them. */
export interface RequiredScope {
  readonly names: readonly string[];
  readonly isAny: boolean;
}

const hostOf = (authority: unknown): string | undefined =>
  isText(authority) && /^[^\s/?#@\\]+$/.test(authority) ? parseUrl(`http://${authority}`)?.hostname : undefined;

/** Desktop applications have origins of other schemes, for which `URL` says `null`, as pages of any site can. */
const readOrigin = (origin: unknown) =>
  isText(origin) &&
  /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@\\*]+$/.test(origin) &&
  [origin, 'null'].includes(parseUrl(origin)?.origin ?? '')
    ? origin
    : undefined;

const optionRules = {
  tools: code<object>('an object that maps names of tools to scopes', isJsonObject),
  // Validated as the requirement of a guard.
  scope: code<FixedScope>('a scope', () => true),
  publicTools: list('a list of names of tools', (name) => (isText(name) ? name : undefined)),
  origins: list('a list of origins such as https://app.example.com', readOrigin),
  hosts: list('a list of hosts such as mcp.internal', hostOf),
  sessions: boolean(false),
  maxBodyBytes: withDefault(integer(1, 2 ** 30), 4 * 2 ** 20),
};

const mistake = (problem: string) => new TypeError(`Cannot set up an MCP endpoint: ${problem}`);

function readOption<Checked>(name: string, { read, expected, fallback }: OptionRule<Checked>, given: object) {
  if (!(name in given)) return fallback;
  const value: unknown = Reflect.get(given, name);
  const checked = value === undefined ? undefined : read(value);
  if (checked === undefined) throw mistake(`${name} must be ${expected}, got ${describeValue(value)}`);
  return checked;
}

/**
 * Validates the options, and returns what a request is compared with.
 * @throws {TypeError} the first argument is not a guard with `publicUrl`, or an option is unknown, undefined or not valid
 */
export function readMcpOptions(guard: Guard<object>, given: McpOptions) {
  const core = coreOf(Object(guard));
  const { publicUrl, resource = publicUrl, clockToleranceSeconds = 0 } = core?.options ?? {};
  if (!core || resource === undefined)
    throw mistake('the first argument must be a guard from createGuard(options), with publicUrl among its options');
  if (!isJsonObject(given)) throw mistake(`the second argument must be an object, got ${describeValue(given)}`);
  const unknown = namesIn(given).find((name) => !Object.hasOwn(optionRules, name));
  if (unknown !== undefined) throw mistake(`${unknown} is no option. Use ${Object.keys(optionRules).join(', ')}`);
  const readScope = (value: unknown, of: string): RequiredScope => {
    core.readRequirements({ scope: value as FixedScope }, of);
    const isAny = isJsonObject(value);
    return { names: [(isAny ? value.anyOf : value) as string | readonly string[]].flat(), isAny };
  };
  const tools = readOption('tools', optionRules.tools, given) ?? {};
  const scope = readOption('scope', optionRules.scope, given);
  const publicTools = readOption('publicTools', optionRules.publicTools, given);
  const both = publicTools?.find((name) => namesIn(tools).includes(name));
  if (both !== undefined) throw mistake(`the tool ${quote(both)} must not be in both tools and publicTools`);
  const { hostname } = new URL(resource);
  const isLocal = (host: string) => isLoopbackHost(hostname) && isLoopbackHost(host);
  const origins = readOption('origins', optionRules.origins, given) ?? [];
  const hosts = [hostname, ...(readOption('hosts', optionRules.hosts, given) ?? [])];
  return {
    resource,
    clockToleranceSeconds,
    scope: scope === undefined ? undefined : readScope(scope, 'every request'),
    tools: new Map(
      namesIn(tools).map((name) => [name, readScope(Reflect.get(tools, name), `the tool ${quote(name)}`)]),
    ),
    publicTools,
    hasSessions: readOption('sessions', optionRules.sessions, given) === true,
    maxBodyBytes: readOption('maxBodyBytes', optionRules.maxBodyBytes, given) ?? 0,
    isAllowedOrigin: (origin: string) => origins.includes(origin) || isLocal(parseUrl(origin)?.hostname ?? ''),
    isAllowedHost(authority: string | null) {
      const host = hostOf(authority) ?? '';
      return hosts.includes(host) || isLocal(host);
    },
  };
}
