import { type CheckedOptions, quote, readOptions, readRules } from './check-options.ts';
import { type OptionKind, text } from './option-kinds.ts';
import { optionRules } from './options.ts';
import { clientCertificateFromHeader, isCertificateHeader } from './proof/certificate.ts';

/** What {@link optionsFromEnvironment} throws. */
export interface EnvironmentError extends TypeError {
  /** One line for each mistake: the setting, what it must be, and its value without credentials, query and fragment. */
  readonly problems: readonly string[];
}

/** The settings of a guard that are not the text of an option. `docs/settings.md` is generated from the comments. */
export const settingRules = {
  /**
   * Header in which a proxy sends the client's certificate: `Client-Cert` (RFC 9440), or the URL-encoded PEM of nginx. Tokens
   * with `cnf["x5t#S256"]` are then accepted together with exactly that certificate (RFC 8705 §3). The proxy must set or delete
   * the header in every request. It cannot be a header that clients set or proxies consume, such as `authorization`, `dpop`,
   * `cookie`, `host` or `connection`.
   */
  clientCertHeader: text('the name of a header that only a proxy sets, such as Client-Cert', isCertificateHeader),
};

const rules: Readonly<Record<string, { readonly kind: OptionKind; readonly expected: string }>> = {
  ...optionRules,
  ...settingRules,
};

/** How pairs are written. Only the names of `scopeImplies` can be repeated. */
export const pairFormats: Readonly<Record<string, string>> = {
  requiredClaims: 'name=value, with each name once',
  scopeImplies: 'broad=narrow',
};

/**
 * Returns the options that the settings in `environment` describe, with defaults: `ISSUER`, `AUDIENCE`, `JWKS_MAX_AGE_SECONDS`
 * and the others that have an option in docs/settings.md. All other variables are ignored. An empty setting counts as unset.
 * @param environment such as `process.env`, `Deno.env.toObject()` or the bindings of a Worker
 * @throws {EnvironmentError} a setting is missing or not valid; the message lists every mistake
 * @example
 * const guard = createGuard({ ...optionsFromEnvironment(process.env), isRevoked });
 */
export function optionsFromEnvironment(environment: object): CheckedOptions {
  const read = (name: string): unknown => Reflect.get(environment, variableOf(name));
  const given: Record<string, unknown> = {};
  for (const [name, { kind }] of Object.entries(rules)) {
    const value = kind === 'code' ? undefined : read(name);
    if (value !== undefined && value !== '') given[name] = typeof value === 'string' ? parse(name, kind, value) : value;
  }
  const { checked, problems } = readOptions(given);
  const { checked: own, problems: ownProblems } = readRules(settingRules, given);
  const lines = [...problems, ...ownProblems].map(({ name, expected }) => {
    const value = read(name);
    // What follows a semicolon is a form that only code can give.
    const wanted = pairFormats[name] ?? expected.replace(/;.*/, '').replace(/\b[a-z]+(?:[A-Z][a-z]+)+\b/g, nameSetting);
    return `${variableOf(name)} must be ${wanted}, got ${value ? quote(String(value)) : 'nothing'}`;
  });
  if (lines.length > 0) {
    const message = `Cannot read settings:\n${lines.map((line) => `  ${line}`).join('\n')}`;
    throw Object.assign(new TypeError(message), { problems: lines });
  }
  const header = own.clientCertHeader as string | undefined;
  if (header === undefined) return checked;
  return Object.freeze({ ...checked, clientCertificate: clientCertificateFromHeader(header) });
}

/** Returns the name of the setting for an option: `JWKS_MAX_AGE_SECONDS` for `jwksMaxAgeSeconds`. */
export function variableOf(option: string): string {
  return option.replace(/[A-Z]/g, '_$&').toUpperCase();
}

const nameSetting = (word: string) => (Object.hasOwn(rules, word) ? variableOf(word) : word);

/** Returns the value of an option. A text that is not of its kind becomes a value that fails validation. */
function parse(name: string, kind: OptionKind, text: string): unknown {
  switch (kind) {
    case 'integer':
      return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    case 'boolean':
      return text === 'true' || (text === 'false' ? false : text);
    case 'list':
      return text.split(',').map((member) => member.trim());
    case 'pairs':
      return readPairs(text, name === 'scopeImplies');
    default:
      return text;
  }
}

/** Returns the values by name. What is not `name=value`, or a repeated name unless names can be repeated, becomes undefined. */
function readPairs(text: string, isRepeatable: boolean): object {
  const groups = new Map<string, (string | undefined)[]>();
  for (const pair of text.split(',')) {
    const [, name = '', value] = /^([^=]+)=(.*)$/s.exec(pair.trim()) ?? [];
    const values = groups.get(name.trim()) ?? [];
    values.push(value?.trim());
    groups.set(name.trim(), values);
  }
  if (isRepeatable) return Object.fromEntries(groups);
  return Object.fromEntries([...groups].map(([name, [value, ...more]]) => [name, more.length > 0 ? undefined : value]));
}
