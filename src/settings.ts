import {
  boolean,
  type CheckedOptions,
  choice,
  integer,
  isLoopbackHost,
  type OptionRule,
  optionalInteger,
  optionRules,
  readOptions,
  readRules,
  text,
} from 'protected-api/guard';
import { escapeUnprintable } from './observe/escape.ts';

/** The settings of the service, read once at the start. */
export interface Settings extends CheckedOptions {
  /** Whether the service is its own issuer. `issuer` and `audience` are then empty until the port is known. */
  readonly isEmbedded: boolean;
  /** The variables that are set but ignored, because tokens of the embedded issuer would not fulfil them. */
  readonly ignored: readonly string[];
  readonly port: number;
  readonly host: string;
  /** Undefined if metrics are disabled. */
  readonly metricsPort: number | undefined;
  readonly shutdownDelaySeconds: number;
  readonly shutdownTimeoutSeconds: number;
  readonly reusePort: boolean;
  readonly docs: boolean;
  /** Address of the shared replay store, which may contain a password. Undefined without one. */
  readonly redisUrl: string | undefined;
  readonly logLevel: LogLevel;
  /** The header in which a proxy sends the certificate of the client. */
  readonly clientCertHeader: string | undefined;
}

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export type LogLevel = (typeof logLevels)[number];

export type Environment = Readonly<Record<string, string | undefined>>;

/** Lists all configuration errors, one per line. */
export class SettingsError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`Cannot read settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

/** The settings of the process. The others are options of the guard. `docs/settings.md` is generated from the comments. */
export const processRules = {
  /**
   * Header in which a proxy sends the certificate of the client: `Client-Cert` (RFC 9440), or the URL-encoded PEM of nginx. Tokens
   * with `cnf["x5t#S256"]` are then accepted together with exactly that certificate (RFC 8705 §3). The proxy must set or delete the
   * header in every request. Never `authorization`, `dpop` or `cookie`.
   */
  clientCertHeader: text(
    'the name of a header other than authorization, dpop and cookie',
    (value) => /^[\w!#$%&'*+.^`|~-]+$/.test(value) && !/^(?:authorization|dpop|cookie)$/i.test(value),
  ),
  /**
   * Redis or Valkey in which several processes share the used DPoP proofs, such as `redis://localhost:6379`. By default each
   * process stores its own.
   */
  redisUrl: text(
    'an address that begins with redis:// or rediss://',
    (value) => /^(?:redis|valkey)s?:\/\/[^\s/]/.test(value) && URL.canParse(value),
  ),
  /** Port to listen on: 0 to 65,535, where 0 takes any free port. Defaults to 3010. */
  port: integer(3010, 0, 65535),
  /** Address to listen on. `127.0.0.1` with the development issuer, which needs `--dev` to listen beyond loopback. */
  host: text('a host name or an IP address', (value) => /^[\w.:-]+$/.test(value)),
  /** Lets several processes share the port, one per core: true or false. Defaults to false. */
  reusePort: boolean(false),
  /** Serves the OpenAPI document and its page: true or false. Defaults to true. */
  docs: boolean(true),
  /** Port for Prometheus metrics at `/metrics`, on a listener of its own: 0 to 65,535. Off by default. */
  metricsPort: optionalInteger(0, 65535),
  /** The least level that is logged: debug, info, warn, error or silent. `debug` adds a line per request. Defaults to info. */
  logLevel: choice(logLevels, 'info'),
  /** After SIGTERM, how long requests are still accepted while `/readyz` answers with 503: 0 to 3,600. Defaults to 0. */
  shutdownDelaySeconds: integer(0, 0, 3600),
  /** After that, how long requests in flight have to finish: 0 to 3,600. Defaults to 10. */
  shutdownTimeoutSeconds: integer(10, 0, 3600),
} as const satisfies Record<string, OptionRule>;

const rules = { ...optionRules, ...processRules } as Readonly<Record<string, OptionRule>>;

/**
 * Returns the settings in `environment`, frozen; which `docs/settings.md` documents.
 * @param isDev whether the embedded issuer was requested explicitly
 * @throws {SettingsError} lists all configuration errors
 */
export function readSettings(environment: Environment, isDev: boolean): Settings {
  const isMissing = !environment.ISSUER && !environment.AUDIENCE;
  const isEmbedded = isDev || (environment.NODE_ENV !== 'production' && isMissing);
  const { given, ignored } = parseEnvironment(environment, isEmbedded);
  const options = readOptions(isEmbedded ? { publicUrl: placeholder, ...given, ...ofAnIssuer } : given);
  const own = readRules(processRules, given);
  const host = own.checked.host ?? (isEmbedded ? '127.0.0.1' : '0.0.0.0');

  const problems = [...options.problems, ...own.problems].map(({ name, expected }) => {
    const hint = isMissing && name in ofAnIssuer ? ', or start with --dev to run a development issuer' : '';
    return describeProblem(environment, name, expected + hint);
  });
  if (isEmbedded && !isDev && !isLoopback(String(host)))
    problems.push(
      describeProblem(
        environment,
        'host',
        'a loopback address with the built-in development issuer (--dev allows other addresses)',
      ),
    );
  if (problems.length > 0) throw new SettingsError(problems);
  const settings = { ...options.checked, ...own.checked, host, isEmbedded, ignored };
  const undetermined = {
    issuer: [],
    audience: [],
    jwksUri: undefined,
    ...(!given.publicUrl && { publicUrl: undefined }),
  };
  return Object.freeze(isEmbedded ? { ...settings, ...undetermined } : settings) as unknown as Settings;
}

/** Returns the values that are set, by option, and the variables that the embedded issuer ignores. */
function parseEnvironment(environment: Environment, isEmbedded: boolean) {
  const given: Record<string, unknown> = {};
  const ignored: string[] = [];
  for (const [option, { kind }] of Object.entries(rules)) {
    if (kind === 'code') continue;
    const variable = variableOf(option);
    const value = environment[variable];
    if (!value) continue;
    if (isEmbedded && unfulfilled.has(option)) ignored.push(variable);
    else given[option] = option === 'scopeImplies' ? readScopeLists(value) : parse(value, kind);
  }
  return { given, ignored };
}

/** Returns the line of one mistake, in words of settings. */
function describeProblem(environment: Environment, option: string, expected: string): string {
  const variable = variableOf(option);
  const value = environment[variable];
  const wanted =
    rules[option]?.kind === 'pairs' ? 'name=value' : expected.replace(/\b[a-z]+(?:[A-Z][a-z]+)+\b/g, nameOption);
  return `${variable} must be ${wanted}, got ${value ? quote(option === 'redisUrl' ? '***' : value) : 'nothing'}`;
}

const nameOption = (word: string) => (Object.hasOwn(rules, word) ? variableOf(word) : word);

/** Replaced by the address of the service once its port is known. */
const placeholder = 'http://localhost';

/** The options that the embedded issuer determines. */
const ofAnIssuer = { issuer: `${placeholder}/`, audience: placeholder, jwksUri: undefined };

/** The options that would reject tokens of the embedded issuer. */
const unfulfilled: ReadonlySet<string> = new Set([
  'algorithms',
  'scopeClaim',
  'scopePrefix',
  'audienceClaim',
  'requiredClaims',
  'tokenType',
  'clientCertHeader',
]);

/** Returns the name of the setting for an option: `JWKS_MAX_AGE_SECONDS` for `jwksMaxAgeSeconds`. */
export function variableOf(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** Returns the parsed text. If the text is not of this kind, returns a value that fails validation. */
function parse(text: string, kind: OptionRule['kind']): unknown {
  switch (kind) {
    case 'integer':
      return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    case 'boolean':
      return text === 'true' || (text === 'false' ? false : text);
    case 'list':
      return text.split(',').map((member) => member.trim());
    case 'pairs':
      return readPairs(text);
    default:
      return text;
  }
}

/** Members that are not `name=value` become undefined, which fails validation. */
function readPairs(text: string): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const [, name = '', value] = /^([^=]+)=(.*)$/s.exec(pair.trim()) ?? [];
      return [name.trim(), value?.trim()];
    }),
  );
}

/** `broad=narrow`, several times for several narrower scopes. Anything else becomes undefined, which fails validation. */
function readScopeLists(value: string): Readonly<Record<string, readonly (string | undefined)[]>> {
  const lists = new Map<string, (string | undefined)[]>();
  for (const pair of value.split(',')) {
    const [, broad = '', narrow] = /^([^=]+)=(.*)$/s.exec(pair.trim()) ?? [];
    lists.set(broad.trim(), [...(lists.get(broad.trim()) ?? []), narrow?.trim()]);
  }
  return Object.fromEntries(lists);
}

function isLoopback(host: string): boolean {
  return isLoopbackHost(host.includes(':') ? `[${host}]` : host);
}

/** Quotes a value for an error message, without credentials and query, and without characters that a terminal interprets. */
function quote(value: string): string {
  return escapeUnprintable(JSON.stringify(value.replace(/.*@/s, '***@').replace(/\?.*/s, '?***')));
}
