import { isLoopbackHost } from './auth/keys/address.ts';
import {
  boolean,
  type CheckedOptions,
  choice,
  findConflicts,
  integer,
  isRequired,
  normalize,
  type OptionRule,
  optionRules,
} from './auth/options.ts';
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

const isHost = (value: unknown) => typeof value === 'string' && /^[\w.:-]+$/.test(value);

function isRedisUrl(value: unknown): boolean {
  return typeof value === 'string' && /^(?:redis|valkey)s?:\/\/[^\s/]/.test(value) && URL.canParse(value);
}

/** The settings of the process. The others are options of the guard. */
const processRules = {
  port: integer(3010, 0, 65535),
  host: { kind: 'text', expected: 'a host name or an IP address', isValid: isHost },
  metricsPort: integer(undefined, 0, 65535),
  shutdownDelaySeconds: integer(0, 0, 3600),
  shutdownTimeoutSeconds: integer(10, 0, 3600),
  reusePort: boolean(false),
  docs: boolean(true),
  redisUrl: { kind: 'text', expected: 'an address that begins with redis:// or rediss://', isValid: isRedisUrl },
  logLevel: choice(logLevels, 'info'),
} as const satisfies Record<string, OptionRule>;

/**
 * Returns the settings in `environment`, frozen; names and defaults are documented in `.env.example`.
 * @param isDev whether the embedded issuer was requested explicitly
 * @throws {SettingsError} lists all configuration errors
 */
export function readSettings(environment: Environment, isDev: boolean): Settings {
  const problems = new Map<string, string>();
  const report = (name: string, expected: string) => {
    const value = environment[name];
    const shown = value ? quote(name === 'REDIS_URL' ? '***' : value) : 'nothing';
    if (!problems.has(name)) problems.set(name, `${name} must be ${expected}, got ${shown}`);
  };
  const isEmbedded = isDev || (environment.NODE_ENV !== 'production' && !environment.ISSUER && !environment.AUDIENCE);

  const isMissing = (option: string) => isRequired(option) && !environment.ISSUER && !environment.AUDIENCE;

  const ignored: string[] = [];
  const values: Record<string, unknown> = { isEmbedded, ignored };
  const rules = Object.entries<OptionRule>({ ...optionRules, ...processRules });
  for (const [option, { kind, fallback, isValid, expected }] of rules) {
    if (isEmbedded && option in ofAnIssuer) continue;
    const name = variableOf(option);
    const isIgnored = isEmbedded && unfulfilled.has(option);
    if (isIgnored && environment[name]) ignored.push(name);
    const value = environment[name] && !isIgnored ? parse(environment[name], kind) : fallback;
    const isWrong = value === undefined ? isRequired(option) : !isValid(value);
    if (isWrong)
      report(name, isMissing(option) ? `${expected}, or start with --dev to run a development issuer` : expected);
    // Settings that depend on an invalid one are checked against its default.
    const used = isWrong ? fallback : value;
    if (used !== undefined) values[option] = used;
  }
  const defaults = { ...ofAnIssuer, host: isEmbedded ? '127.0.0.1' : '0.0.0.0' };
  const settings = Object.assign(values, { ...defaults, ...values }) as unknown as Settings;
  for (const [option, expected] of findConflicts(isEmbedded ? { ...settings, publicUrl: '' } : settings))
    report(variableOf(option), expected);
  if (isEmbedded && !isDev && !isLoopback(settings.host))
    report('HOST', 'a loopback address with the built-in development issuer (--dev allows other addresses)');
  if (problems.size > 0) throw new SettingsError([...problems.values()]);
  return normalize(settings);
}

/** The options that the embedded issuer determines. */
const ofAnIssuer = { issuer: [], audience: [], jwksUri: undefined };

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

/** `jwksMaxAgeSeconds` is `JWKS_MAX_AGE_SECONDS`. */
function variableOf(option: string): string {
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

function isLoopback(host: string): boolean {
  return isLoopbackHost(host.includes(':') ? `[${host}]` : host);
}

/** Quotes a value for an error message, without credentials and query, and without characters that a terminal interprets. */
function quote(value: string): string {
  return escapeUnprintable(JSON.stringify(value.replace(/.*@/s, '***@').replace(/\?.*/s, '?***')));
}
