import type { GuardCore } from '../guard/core.ts';
import { coreOf } from '../guard/guard.ts';
import { quote } from '../options/describe-value.ts';
import { boolean, callback, code, integer, list, withDefault } from '../options/kinds.ts';
import { checkMembers } from '../options/members.ts';
import type { FixedScope, Guard, GuardRequest } from '../types.ts';
import { hasMember, isJsonObject, isRecord, isText, namesIn } from '../values/json.ts';
import { ignoreRejection } from '../values/promises.ts';
import { isLoopbackHost, parseUrl } from '../values/url.ts';
import { isPublicMethod, type McpFault, type McpMessage, rejectionOf, toolOf } from './message.ts';
import { createPlaceReader } from './target.ts';

/** The options of an MCP endpoint. */
export interface McpOptions<PublicTools extends readonly string[] = readonly string[]> {
  /** The scope that each tool requires, besides `scope`: by the name of the tool, as a requirement of `check`. */
  readonly tools?: Readonly<Record<string, FixedScope>>;
  /** The scope that every request with a token requires. */
  readonly scope?: FixedScope;
  /**
   * Returns the scope that a message requires besides the others, or undefined: for resources, prompts, and tools that
   * are not listed. It is called for each message, also for a public one, which then needs a token. An exception, a
   * promise, or anything that is no scope fails the request.
   */
  readonly scopeOf?: (message: McpMessage) => FixedScope | undefined;
  /** Tools that need no token. Without a token, clients can then also initialize, ping, list and notify. */
  readonly publicTools?: PublicTools;
  /**
   * The origins whose pages may call the server, such as `https://app.example.com`. Requests without an `Origin` header
   * are allowed, and so are pages on a loopback host if the resource is on one.
   */
  readonly origins?: readonly string[];
  /** Hosts that `Host` may name besides that of `publicUrl`, such as that of a proxy. Ports are not compared. */
  readonly hosts?: readonly string[];
  /** Whether the handler has sessions, and with them GET and DELETE. Defaults to false. */
  readonly sessions?: boolean;
  /** The longest body in bytes, from 1 to 1 GiB. Defaults to 4 MiB. */
  readonly maxBodyBytes?: number;
}

/** No tool has another name: a pattern would protect nothing. */
const readName = (name: unknown) => (isText(name) && name.trim() === name && !name.includes('*') ? name : undefined);
const hostOf = (authority: unknown) =>
  isText(authority) && /^[^\s/?#@\\*]+$/.test(authority) ? parseUrl(`http://${authority}`)?.hostname : undefined;

/** Desktop applications have origins of other schemes, for which `URL` says `null`, as pages of any site can. */
function readOrigin(origin: unknown): string | undefined {
  if (!isText(origin) || !/^[a-z][a-z\d+.-]*:\/\/[^\s/?#@\\*]+$/.test(origin)) return undefined;
  return [origin, 'null'].includes(parseUrl(origin)?.origin ?? '') ? origin : undefined;
}

const optionRules = {
  tools: withDefault(code<object>('an object that maps names of tools to scopes', isRecord), {}),
  // Validated as the requirement of a guard.
  scope: code<FixedScope>('a scope', () => true),
  scopeOf: callback<NonNullable<McpOptions['scopeOf']>>(),
  publicTools: withDefault(list('a list of whole names of tools, without * and spaces around them', readName), []),
  origins: withDefault(list('a list of origins such as https://app.example.com', readOrigin), []),
  hosts: withDefault(list('a list of whole hosts such as mcp.internal', hostOf), []),
  sessions: boolean(false),
  maxBodyBytes: withDefault(integer(1, 2 ** 30), 4 * 2 ** 20),
};

const action = 'Cannot set up an MCP endpoint';
const mistake = (problem: string) => new TypeError(`${action}: ${problem}`);

/**
 * Validates the options, and returns what a request is compared with.
 * @throws {TypeError} the first argument is not a guard with `publicUrl`, or an option is unknown, undefined or not
 * valid
 */
export function readMcpOptions(guard: Guard<object>, given: McpOptions) {
  const core = coreOf(Object(guard));
  const names = (core?.names.all ?? []).map(({ publicUrl, resource }) => {
    const { hostname } = new URL(publicUrl);
    return { hostname, isLocal: isLoopbackHost(hostname), resource, readPlace: createPlaceReader(resource) };
  });
  const [first] = names;
  if (!core || first === undefined)
    throw mistake('the first argument must be a guard from createGuard(options), with publicUrl among its options');
  // Getters of a class are not enumerable, but count: a variable that is not set must not open the endpoint.
  const namesGiven = Object.keys(optionRules).filter((name) => hasMember(Object(given), name));
  const options = checkMembers(action, optionRules, given, namesGiven);
  const { tools, publicTools, origins, hosts } = options;
  for (const name of namesIn(tools)) {
    if (readName(name) === undefined)
      throw mistake(`${quote(name)} in tools is no whole name. Write scope for what all tools require, or scopeOf`);
    if (publicTools.includes(name)) throw mistake(`the tool ${quote(name)} must not be in both tools and publicTools`);
  }
  const known = [...names.map(({ hostname }) => hostname), ...hosts];
  const nameOf = (request: GuardRequest) => names[core.names.find(request)] ?? first;
  return {
    ...options,
    ...readScopes(core, options),
    nameOf,
    toleranceMs: core.options.clockToleranceSeconds * 1000,
    /** Returns a rejection that is not the guard's, and tells the application of it. */
    reject(request: GuardRequest, fault: McpFault, headers = {}) {
      const rejection = rejectionOf(fault, headers);
      ignoreRejection(core.options.onRejected?.(request, rejection.reason, { expected: undefined }));
      return rejection;
    },
    isAllowedOrigin: (origin: string, request: GuardRequest) =>
      origins.includes(origin) || (nameOf(request).isLocal && isLoopbackHost(parseUrl(origin)?.hostname ?? '')),
    isAllowedHost({ headers, incoming, url }: GuardRequest) {
      // In HTTP/1.0, a request of Node.js has no host.
      const host = hostOf(headers.get('host') ?? (incoming ? undefined : parseUrl(url)?.host));
      return host !== undefined && (known.includes(host) || (first.isLocal && isLoopbackHost(host)));
    },
  };
}

type ReadMcpOptions = ReturnType<typeof checkMembers<typeof optionRules>>;

/** Returns all scopes that are required by name, and what says which of them messages need. */
function readScopes({ readRequirements }: GuardCore, { tools, scope, scopeOf, publicTools }: ReadMcpOptions) {
  const alternativesOf = (required: FixedScope, of: string) => {
    readRequirements({ scope: required }, of);
    return isJsonObject(required) ? required.anyOf.map((one) => [one]) : [[required].flat()];
  };
  const ofAll = scope === undefined ? [] : alternativesOf(scope, 'every request');
  const ofTools = new Map(
    namesIn(tools).map((name) => [name, alternativesOf(Reflect.get(tools, name), `the tool ${quote(name)}`)]),
  );
  const ofMessage = (message: McpMessage) => {
    const required = scopeOf?.(message);
    ignoreRejection(required);
    return required === undefined ? [] : alternativesOf(required, 'scopeOf(message)');
  };
  const scopes = [...new Set([ofAll, ...ofTools.values()].flat(2))];
  return {
    scopes,
    /** Whether a request without a token may have a message. */
    isPublic(message: McpMessage): boolean {
      const tool = toolOf(message);
      const isOpen = tool === undefined ? isPublicMethod(message) : publicTools.includes(tool);
      return isOpen && ofMessage(message).length === 0;
    },
    /**
     * Returns all scopes that messages and the tools behind them require, and if there are any, also the others that
     * are granted: a client that requests what a challenge names loses none of them.
     */
    scopesFor(messages: readonly McpMessage[], called: readonly (string | undefined)[], granted: readonly string[]) {
      const isGranted = (name: string) => granted.includes(name);
      const needed = [
        ofAll,
        ...called.map((tool) => ofTools.get(tool ?? '') ?? []),
        ...messages.map(ofMessage),
      ].flatMap((lists) => lists.find((names) => names.every(isGranted)) ?? lists[0] ?? []);
      const known = new Set([...scopes, ...needed]);
      return needed.length > 0 ? [...known].filter((name) => needed.includes(name) || isGranted(name)) : [];
    },
  };
}
