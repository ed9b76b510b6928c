/** How the service is set up, read once at the start. Durations are in seconds, as operators write them. */
export interface Settings {
  /** Undefined with the embedded issuer, which names itself once the port is known. */
  readonly issuer: IssuerSettings | undefined;
  readonly port: number;
  readonly host: string;
  readonly jwksMaxAgeSeconds: number;
  readonly jwksMaxStaleSeconds: number;
  readonly jwksCooldownSeconds: number;
  readonly jwksTimeoutSeconds: number;
  readonly clockToleranceSeconds: number;
  readonly tokenCacheSize: number;
  /** Undefined when there is no metrics listener. */
  readonly metricsPort: number | undefined;
  readonly shutdownDelaySeconds: number;
  readonly shutdownTimeoutSeconds: number;
  readonly reusePort: boolean;
  /** Without a trailing slash. */
  readonly publicUrl: string | undefined;
  readonly docs: boolean;
  readonly logLevel: LogLevel;
}

export interface IssuerSettings {
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUri: string;
}

export type LogLevel = (typeof logLevels)[number];

export type Environment = Readonly<Record<string, string | undefined>>;

/** Lists everything that is wrong with the settings, a line each. */
export class SettingsError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`Cannot read settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
/** setTimeout takes at most 2^31 - 1 milliseconds, a little more than 24 days. */
const maxDurationSeconds = 1_000_000;

/**
 * Returns the settings in `environment`, frozen; names and defaults are documented in `.env.example`.
 * @param isDev whether the embedded issuer is asked for, whatever the environment says
 * @throws {SettingsError} with every problem at once
 */
export function readSettings(environment: Environment, isDev: boolean): Settings {
  const read = createReader(environment);
  const isEmbedded = isDev || (environment.NODE_ENV !== 'production' && !read.text('ISSUER') && !read.text('AUDIENCE'));
  const settings: Settings = {
    issuer: isEmbedded ? undefined : readIssuer(read),
    port: read.integer('PORT', 3010, 0, 65535),
    host: read.text('HOST') ?? (isEmbedded ? '127.0.0.1' : '0.0.0.0'),
    jwksMaxAgeSeconds: read.integer('JWKS_MAX_AGE_SECONDS', 600, 1, maxDurationSeconds),
    jwksMaxStaleSeconds: read.integer('JWKS_MAX_STALE_SECONDS', 86400, 0, maxDurationSeconds),
    jwksCooldownSeconds: read.integer('JWKS_COOLDOWN_SECONDS', 30, 1, 3600),
    jwksTimeoutSeconds: read.integer('JWKS_TIMEOUT_SECONDS', 5, 1, 60),
    clockToleranceSeconds: read.integer('CLOCK_TOLERANCE_SECONDS', 0, 0, 300),
    tokenCacheSize: read.integer('TOKEN_CACHE_SIZE', 10000, 0, 1_000_000),
    metricsPort: read.text('METRICS_PORT') ? read.integer('METRICS_PORT', 0, 0, 65535) : undefined,
    shutdownDelaySeconds: read.integer('SHUTDOWN_DELAY_SECONDS', 0, 0, 3600),
    shutdownTimeoutSeconds: read.integer('SHUTDOWN_TIMEOUT_SECONDS', 10, 0, 3600),
    reusePort: read.boolean('REUSE_PORT', false),
    publicUrl: read.url('PUBLIC_URL')?.replace(/\/$/, ''),
    docs: read.boolean('DOCS', true),
    logLevel: read.choice('LOG_LEVEL', 'info', logLevels),
  };
  if (read.problems.length > 0) throw new SettingsError(read.problems);
  return Object.freeze(settings);
}

function readIssuer(read: Reader): IssuerSettings {
  const issuer = read.url('ISSUER') ?? '';
  const audience = read.text('AUDIENCE') ?? '';
  const jwksUri = read.url('JWKS_URI', 'query');
  if (!read.text('ISSUER'))
    read.problem('ISSUER', 'the address of the authorization server (or start with --dev to try things out)');
  if (!audience.trim()) read.problem('AUDIENCE', 'the API identifier that tokens carry in aud');
  if (issuer && !jwksUri && !issuer.endsWith('/'))
    read.problem('ISSUER', 'an address that ends with a slash, or JWKS_URI beside it');
  return { issuer, audience, jwksUri: jwksUri ?? `${issuer}.well-known/jwks.json` };
}

type Reader = ReturnType<typeof createReader>;

/** An empty value counts as unset. */
function createReader(environment: Environment) {
  const problems: string[] = [];
  const text = (name: string) => environment[name] || undefined;
  const problem = (name: string, wanted: string) => {
    const value = text(name);
    problems.push(`${name} must be ${wanted}, got ${value === undefined ? 'nothing' : quote(value)}`);
  };

  return {
    problems,
    problem,
    text,
    integer(name: string, fallback: number, min: number, max: number): number {
      const value = text(name);
      if (value === undefined) return fallback;
      if (/^\d{1,15}$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value);
      problem(name, `a whole number from ${min} to ${max}`);
      return fallback;
    },
    boolean(name: string, fallback: boolean): boolean {
      const value = text(name);
      if (value === undefined) return fallback;
      if (value !== 'true' && value !== 'false') problem(name, 'true or false');
      return value === 'true';
    },
    choice<Choice extends string>(name: string, fallback: Choice, choices: readonly Choice[]): Choice {
      const value = text(name) ?? fallback;
      const choice = choices.find((candidate) => candidate === value);
      if (choice === undefined) problem(name, `one of ${choices.join(', ')}`);
      return choice ?? fallback;
    },
    /** Returned as written, because tokens are compared with the text itself. */
    url(name: string, query: 'query' | 'no query' = 'no query'): string | undefined {
      const value = text(name);
      if (value === undefined || (isSecureUrl(value) && (query === 'query' || !value.includes('?')))) return value;
      const excluded = query === 'query' ? 'fragment' : 'query, fragment';
      problem(name, `an https address without ${excluded} or credentials (http for a loopback host only)`);
      return undefined;
    },
  };
}

/** Says what was read, without the parts of an address that can hold a secret. */
function quote(value: string): string {
  return JSON.stringify(value.replace(/.*@/s, '***@').replace(/\?.*/s, '?***'));
}

function isSecureUrl(value: string): boolean {
  if (!/^https?:\/\/[^\s#\\]+$/.test(value) || !URL.canParse(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  return (protocol === 'https:' || (protocol === 'http:' && isLoopback)) && username === '' && password === '';
}
