import { randomBytes } from 'node:crypto';
import { code, integer, oneOrMore, text } from '../options/kinds.ts';
import { checkMembers } from '../options/members.ts';
import { isJsonObject, isText } from '../values/json.ts';
import { isLoopbackHost, isSecureUrl, parseUrl } from '../values/url.ts';
import { lifetimeSeconds as defaultLifetimeSeconds, type Signer } from './signer.ts';
import type { Client } from './token-endpoint.ts';

/** A client, and what it can be granted. */
export interface DevelopmentClient {
  /** Its identifier, `client_id`. */
  readonly id: string;
  /** Defaults to a random one. */
  readonly secret?: string | undefined;
  /** The scopes that it can be granted: separated by spaces, or a list. Defaults to none. */
  readonly scope?: string | readonly string[] | undefined;
}

/** The key pair of an issuer, and the random secrets of its clients. They are in memory only. */
export interface IssuerSecrets {
  /** Signs the tokens. */
  readonly signer: Signer;
  /** By client ID. */
  readonly clients: Map<string, string>;
}

/** The options of a development issuer. */
export interface DevelopmentIssuerOptions {
  /** The issuer identifier: a URL below which the endpoints are served, on a loopback host or one of `allowedHosts`. */
  readonly issuer: string;
  /** The API identifiers for which tokens are issued. The first is the default. */
  readonly audience: string | readonly string[];
  /** The clients, or a function that is called for each request. */
  readonly clients: readonly DevelopmentClient[] | (() => readonly DevelopmentClient[]);
  /**
   * Hosts other than loopback at which clients get tokens, with their port unless it is the default. Defaults to none.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** How long tokens are valid: 1 to 86,400. Defaults to 3,600. */
  readonly lifetimeSeconds?: number | undefined;
  /** The keys and secrets of an earlier issuer, which keep its tokens valid. Defaults to new ones. */
  readonly secrets?: IssuerSecrets | undefined;
}

const action = 'Cannot create a development issuer';

const areHosts = (value: unknown) => Array.isArray(value) && value.every((each) => isText(each) && readHost(each));

const optionRules = {
  issuer: text(
    'a URL without query, fragment or credentials',
    (value) => isSecureUrl(value, true) && !value.includes('?'),
  ),
  audience: oneOrMore('the API identifier'),
  clients: code('a list of clients, or a function', (value) => Array.isArray(value) || typeof value === 'function'),
  allowedHosts: code<readonly string[]>('a list of hosts, such as dev.example.com or dev.example.com:8443', areHosts),
  lifetimeSeconds: integer(1, 86_400),
  secrets: code('the secrets of an earlier issuer', isJsonObject),
};

const clientRules = {
  id: text('text'),
  secret: { ...text('text'), isSecret: true },
  scope: code<DevelopmentClient['scope']>('scopes', () => true),
};

/**
 * Returns the options that do not change, checked.
 * @throws {TypeError} an option is unknown, missing or mistyped, or the host of `issuer` is neither a loopback host nor
 * allowed
 */
export function readDevelopmentOptions(options: DevelopmentIssuerOptions) {
  const checked = checkMembers(action, optionRules, options, ['issuer', 'audience', 'clients']);
  const { issuer = '', audience: [first = '', ...others] = [], allowedHosts = [] } = checked;
  const { lifetimeSeconds = defaultLifetimeSeconds } = checked;
  const { protocol, host, hostname } = new URL(issuer);
  const allowed = new Set(allowedHosts.map((each) => readHost(each, protocol)?.host));
  if (!isLoopbackHost(hostname) && !allowed.has(host))
    throw new TypeError(`${action}: issuer must be a URL on a loopback host, or on an allowed host`);
  return { issuer, audience: [first, ...others] as const, hosts: { protocol, allowed }, lifetimeSeconds };
}

/**
 * Returns the clients with their secrets, and remembers these.
 * @throws {TypeError} a client is not valid
 */
export function completeClients(
  clients: readonly DevelopmentClient[],
  { clients: secrets }: IssuerSecrets,
): readonly Client[] {
  const ids = new Set(Array.isArray(clients) ? clients.map(({ id }) => id) : undefined);
  if (ids.size === 0 || ids.size !== clients.length)
    throw new TypeError(`${action}: clients must be a list of clients, each with a different id`);
  return clients.map((client, index) => {
    const checked = checkMembers(`${action}: clients[${index}]`, clientRules, client, ['id']);
    const { id = '', secret = secrets.get(id) ?? randomBytes(16).toString('hex'), scope = [] } = checked;
    secrets.set(id, secret);
    return { id, secret, scope: [scope].flat().join(' ') };
  });
}

/**
 * Whether the Host of a request, by default that of its URL, is a loopback host (any port) or allowed. A website that
 * points its own name at this machine (DNS rebinding) sends that name.
 */
export function isAllowedHost(
  request: Request,
  { protocol, allowed }: ReturnType<typeof readDevelopmentOptions>['hosts'],
): boolean {
  // On Bun, the URL of a request with an invalid Host cannot be parsed.
  const sent = request.headers.get('host') ?? /^https?:\/\/([^/?#]*)/i.exec(request.url)?.[1] ?? '';
  const url = readHost(sent, protocol);
  return url !== undefined && (allowed.has(url.host) || isLoopbackHost(url.hostname));
}

function readHost(host: string, protocol = 'https:'): URL | undefined {
  const isHost = /^[\w.-]+(:\d+)?$|^\[[\da-f:]+\](:\d+)?$/i.test(host);
  return isHost ? parseUrl(`${protocol}//${host}`) : undefined;
}
