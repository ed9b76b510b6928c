import { type CheckedOptions, type EnvironmentError, optionsFromEnvironment } from 'protected-api';
import { withoutCredentials } from './observe/escape.ts';
import {
  boolean,
  choice,
  type DefaultedRule,
  integer,
  list,
  quote,
  readSetting,
  type SettingRule,
  settingNameOf,
  text,
  trimSetting,
  withDefault,
} from './setting-kinds.ts';
import { type Environment, findWarnings, type SettingsWarning, unsatisfied, warnOfLate } from './settings-warnings.ts';

/** The settings of the service, read once at the start. */
export interface Settings extends ProcessSettings {
  /** Whose tokens are accepted: those of the configured issuer, or of the development issuer in this process. */
  readonly issuer: 'configured' | 'development';
  /** Returns the options of the guard of a service on this port, which the URL of the development issuer contains. */
  readonly optionsAt: (port: number) => CheckedOptions;
  /** What is logged at the start. */
  readonly warnings: readonly SettingsWarning[];
}

/** Lists all configuration errors, one per line. */
export class SettingsError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`Cannot read settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

const host = () => text('a host name or an IP address', (value) => /^[\w.:-]+$/.test(value));

/** The settings of the process, beside those of the guard. `docs/settings.md` is generated from the comments. */
export const processRules = {
  /**
   * URL of the Redis (6.2 or later) or Valkey in which several processes share the used DPoP proofs, such as
   * `redis://localhost:6379/0`. Without it, each process stores its own. Percent-encode the password.
   */
  redisUrl: {
    ...text(
      'a redis:// URL, or rediss:// for TLS, with a percent-encoded password, a port other than 0, no query, and no path except a database number',
      (value) =>
        // Bun ignores a query, such as one that asks for TLS.
        /^(?:redis|valkey)s?:\/\/[^\s/?#]+(?:\/\d{0,9})?$/.test(value) &&
        URL.canParse(value) &&
        new URL(value).port !== '0',
    ),
    isSecret: true,
  },
  /** Port to listen on: 0 to 65,535, where 0 takes any free port. Defaults to 3010. */
  port: withDefault(integer(0, 65535), 3010),
  /**
   * IP address or host name to listen on. With the development issuer, the default is `127.0.0.1`, and an address other
   * than loopback is accepted only with the flag `--dev`.
   */
  host: host(),
  /** More request headers that pages of other origins may send, such as `traceparent,X-Request-Id`. */
  corsAllowedHeaders: list('header names, separated by commas', (name) => /^[\w-]+$/.test(name)),
  /** How long an idle connection stays open: 10 to 255. Set it higher than in the proxy in front. Defaults to 75. */
  idleTimeoutSeconds: withDefault(integer(10, 255), 75),
  /** Lets several processes share the port, one per core. Defaults to false. */
  reusePort: boolean(false),
  /** Serves the OpenAPI document and its page. Defaults to true. */
  docs: boolean(true),
  /**
   * Port of a separate listener for Prometheus metrics at `/metrics`: 0 to 65,535. Without it, no metrics are served.
   */
  metricsPort: integer(0, 65535),
  /** IP address or host name on which metrics are served. Defaults to the value of `HOST`. */
  metricsHost: host(),
  /**
   * The lowest level that is logged: debug, info, warn, error or silent. `debug` adds a line per request. Defaults to
   * info.
   */
  logLevel: choice(['debug', 'info', 'warn', 'error', 'silent'], 'info'),
  /** After SIGTERM, how long requests are still accepted while `/readyz` returns 503: 0 to 3,600. Defaults to 0. */
  shutdownDelaySeconds: withDefault(integer(0, 3600), 0),
  /** After `SHUTDOWN_DELAY_SECONDS`, how long requests in flight may take to finish: 0 to 3,600. Defaults to 8. */
  shutdownTimeoutSeconds: withDefault(integer(0, 3600), 8),
} as const;

type ProcessRules = typeof processRules;

export type ProcessSettings = {
  readonly [Name in keyof ProcessRules]:
    | NonNullable<ReturnType<ProcessRules[Name]['read']>>
    | (ProcessRules[Name] extends DefaultedRule<unknown> ? never : undefined);
} & { readonly host: string; readonly metricsHost: string };

/**
 * Returns the settings in an environment, which `docs/settings.md` documents.
 * @param isDev whether the development issuer was requested explicitly
 * @param atStart the names of the variables that the process was started with; defaults to all
 * @throws {SettingsError} lists all configuration errors
 */
export function readSettings(given: Environment, isDev: boolean, atStart?: readonly string[]): Settings {
  const environment = trimmed(given);
  const isMissing = !environment.ISSUER && !environment.AUDIENCE;
  const isProduction = environment.NODE_ENV?.toLowerCase() === 'production';
  const isDevelopment = isDev || (isMissing && !isProduction);
  const ofProcess = readProcessSettings(environment, isDevelopment ? '127.0.0.1' : '0.0.0.0');
  const guard = readGuardOptions(isDevelopment ? forDevelopment(environment, 'http://localhost') : environment);
  const problems = [...guard.problems, ...ofProcess.problems];
  if (isMissing && !isDevelopment) problems.push('To run with a development issuer, start with --dev');
  const { host } = ofProcess.settings;
  if (isDevelopment && !isDev && !/^(?:localhost|::1|127(?:\.\d+){3})$/.test(host))
    problems.push(
      `HOST must be a loopback address with the development issuer (--dev allows other addresses), got ${quote(host)}`,
    );
  if (!isDevelopment && environment.NODE_TLS_REJECT_UNAUTHORIZED === '0')
    problems.push(
      'NODE_TLS_REJECT_UNAUTHORIZED must be unset or 1, because with 0 anyone can pretend to be the issuer',
    );
  const { options } = guard;
  if (problems.length > 0 || options === undefined) throw new SettingsError(problems);

  const optionsAt = (port: number) => {
    const [origin = `http://localhost:${port}`] = environment.PUBLIC_URL ? [options.publicUrl ?? []].flat() : [];
    return optionsFromEnvironment(forDevelopment(environment, origin));
  };
  const names = [...optionsFromEnvironment.settingNames, ...Object.keys(processRules).map(settingNameOf)];
  return Object.freeze({
    ...ofProcess.settings,
    ...(isDevelopment ? { issuer: 'development', optionsAt } : { issuer: 'configured', optionsAt: () => options }),
    warnings: [
      ...findWarnings(environment, names, isDevelopment, ofProcess.settings, options),
      ...warnOfLate(environment, atStart ?? Object.keys(given)),
    ],
  });
}

/** A secret of Kubernetes often ends with a line feed. What is blank counts as unset. */
const trimmed = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value && trimSetting(value)]));

/** Returns all settings as a log may show them: nothing of a secret, and of a URL neither credentials nor query. */
export function withoutSecrets(options: CheckedOptions, settings: ProcessSettings): object {
  const secrets: readonly string[] = optionsFromEnvironment.secretOptions;
  const ofProcess = Object.keys(processRules).map((name) => [name, settings[name as keyof ProcessRules]]);
  const show = (name: string, value: unknown) => {
    if (secrets.includes(name)) return '***';
    return typeof value === 'string' ? withoutCredentials(value) : value;
  };
  return JSON.parse(JSON.stringify({ ...options, ...Object.fromEntries(ofProcess) }, show));
}

/** Returns the environment in which a guard trusts the development issuer at this origin. */
function forDevelopment(environment: Environment, origin: string): Environment {
  const kept = Object.entries(environment).filter(([name]) => !unsatisfied.includes(name));
  return {
    ...Object.fromEntries(kept),
    ISSUER: `${origin}/`,
    AUDIENCE: origin,
    JWKS_URI: undefined,
    PUBLIC_URL: environment.PUBLIC_URL || origin,
  };
}

/** Returns the options of the guard, or what is wrong with them. */
function readGuardOptions(environment: Environment) {
  try {
    return { options: optionsFromEnvironment(environment), problems: [] };
  } catch (error) {
    if (error instanceof TypeError && 'problems' in error) return { problems: (error as EnvironmentError).problems };
    throw error;
  }
}

/**
 * Returns the address that the service listens on. All other settings are ignored.
 * @throws {SettingsError} HOST or PORT is not valid
 */
export function readAddress({ HOST, PORT }: Environment): Pick<ProcessSettings, 'host' | 'port'> {
  const { problems, settings } = readProcessSettings(trimmed({ HOST, PORT }), '0.0.0.0');
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

function readProcessSettings(environment: Environment, defaultHost: string) {
  const read = Object.entries<SettingRule>(processRules).map(([name, rule]) => {
    const setting = settingNameOf(name);
    return { name, problem: undefined, ...readSetting(setting, environment[setting], rule) };
  });
  const values: Record<string, unknown> = Object.fromEntries(read.map((each) => [each.name, Object(each).value]));
  const { host = defaultHost, metricsHost = host } = values;
  const problems = read.flatMap(({ problem }) => problem ?? []);
  return { problems, settings: { ...values, host, metricsHost } as ProcessSettings };
}
