import type { optionsFromEnvironment } from 'protected-api';

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of the process of which a warning is possible. */
interface ProcessValues {
  readonly reusePort: boolean;
  readonly redisUrl: string | undefined;
  readonly idleTimeoutSeconds: number;
}

/** Settings that have no effect, or a dangerous one. */
export interface SettingsWarning {
  readonly settings: readonly string[];
  readonly message: string;
}

const replaced = ['ISSUER', 'AUDIENCE', 'JWKS_URI'];

/** The settings that would reject tokens of the development issuer, or request scopes that it does not grant. */
export const unsatisfied: readonly string[] = [
  'ALGORITHMS',
  'SCOPE_CLAIM',
  'SCOPE_PREFIX',
  'SCOPE_REQUEST_PREFIX',
  'AUDIENCE_CLAIM',
  'REQUIRED_CLAIMS',
  'TOKEN_TYPE',
  'CLIENT_CERTIFICATE',
];

/** What Bun reads before a file such as `.env`, so a certificate authority that is named there is not trusted. */
const readAtStart = ['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];

/** The settings that only DPoP uses. */
const ofDpop = ['DPOP_ALGORITHMS', 'DPOP_PROOF_MAX_AGE_SECONDS', 'DPOP_NONCE_SECRET', 'REDIS_URL'] as const;

const oneOf = new Intl.ListFormat('en-GB', { type: 'disjunction' });

const warningIf = (settings: readonly string[], message: string): readonly SettingsWarning[] =>
  settings.length > 0 ? [{ settings, message }] : [];

/** Returns warnings about settings that are ignored, misspelt, or allowed but rarely intended. */
export function findWarnings(
  environment: Environment,
  known: readonly string[],
  isDevelopment: boolean,
  { reusePort, redisUrl, idleTimeoutSeconds }: ProcessValues,
  { dpop, jwksAllowHttp, jwksTimeoutSeconds, issuer, requiredClaims }: ReturnType<typeof optionsFromEnvironment>,
): readonly SettingsWarning[] {
  const isIgnored = (name: string) => isDevelopment && Boolean(environment[name]);
  const isAlone = dpop !== 'off' && redisUrl === undefined;
  const isShort = idleTimeoutSeconds < jwksTimeoutSeconds + 4;
  const isUnused = (name: string) => dpop === 'off' && Boolean(environment[name]);
  const isOpen =
    requiredClaims.tid === undefined && issuer.some((each) => typeof each === 'string' && each.includes('{tenantid}'));
  const dangers = [
    [jwksAllowHttp, 'JWKS_ALLOW_HTTP', ': an attacker on the network can replace keys fetched over http'],
    [reusePort && isAlone, 'REUSE_PORT', ' without REDIS_URL: every process accepts the same DPoP proof once'],
    // Bun closes a connection up to four seconds early, also one on which a response is pending.
    [isShort, 'IDLE_TIMEOUT_SECONDS', ' too close to JWKS_TIMEOUT_SECONDS: connections close while requests wait'],
    [isOpen, 'ISSUER', ' for all tenants, but REQUIRED_CLAIMS has no tid: tokens of every tenant are accepted'],
    ...ofDpop.map((name) => [isUnused(name), name, ', but has no effect, because DPOP is off'] as const),
  ] as const;
  return [
    ...warningIf(replaced.filter(isIgnored), 'Ignoring settings that the development issuer replaces'),
    ...warningIf(
      unsatisfied.filter(isIgnored),
      'Ignoring settings that tokens of the development issuer cannot satisfy',
    ),
    ...warnOfUnknown(environment, known),
    ...dangers.flatMap(([isSet, name, danger]) => warningIf(isSet ? [name] : [], `${name} is set${danger}`)),
  ];
}

/**
 * Returns a warning for each variable that Bun has read from a file, too late for it to have an effect.
 * @param atStart the names of the variables that the process was started with
 */
export function warnOfLate(environment: Environment, atStart: readonly string[]): readonly SettingsWarning[] {
  const isLate = (name: string) => Boolean(environment[name]) && !atStart.includes(name);
  return readAtStart.filter(isLate).map((name) => ({
    settings: [name],
    message: `${name} has no effect in .env: set it in the environment in which the process is started`,
  }));
}

/**
 * Returns a warning for each variable that looks like one of the `known` settings: in another case, with at most two
 * other letters, with `_FILE`, without `_SECONDS`, or with `JWKS_`, `DPOP_` or `CLIENT_CERT_`. It contains no value,
 * which can be secret.
 */
function warnOfUnknown(environment: Environment, known: readonly string[]): readonly SettingsWarning[] {
  return Object.keys(environment).flatMap((name) => {
    const upper = name.toUpperCase();
    // Other images read a secret from the file that such a variable names.
    const forms = [upper, upper.replace(/_FILE$/, ''), `${upper}_SECONDS`];
    if (!environment[name] || known.includes(name)) return [];
    const [prefix] = /^(?:JWKS|DPOP|CLIENT_CERT)(?=_)/.exec(upper) ?? [];
    // Shorter names are close to too many others.
    const close = known.filter((each) => forms.includes(each) || (name.length > 4 && isClose(upper, each, 2)));
    const meant = close.length > 0 ? close : known.filter((setting) => prefix && setting.startsWith(prefix));
    const message = `Ignoring ${name}, which is not a setting: did you mean ${oneOf.format(meant)}?`;
    return warningIf(meant.length > 0 ? [name] : [], message);
  });
}

/** Whether at most so many letters must be inserted, removed or replaced to turn `a` into `b`. */
function isClose(a: string, b: string, edits: number): boolean {
  if (edits < 0) return false;
  if (a === '' || b === '') return a.length + b.length <= edits;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return isClose(restA, restB, edits);
  return isClose(restA, b, edits - 1) || isClose(a, restB, edits - 1) || isClose(restA, restB, edits - 1);
}
