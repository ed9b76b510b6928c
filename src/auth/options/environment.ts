import type { CheckedOptions, EnvironmentError } from '../types.ts';
import { quote } from '../values/describe-value.ts';
import { groupBy } from '../values/group-by.ts';
import { isOwnEnvironment, mayReadVariable } from '../values/permission.ts';
import { settingOf } from '../values/text.ts';
import { isRequired, type OptionProblem, readOptions } from './check-options.ts';
import type { listedIssuers } from './issuers.ts';
import type { OptionKind } from './kinds.ts';
import { optionRules } from './rules.ts';

/*
 * How options are written in environment variables. What they mean is said in types.ts, and how they are validated in
 * rules.ts.
 */

const settings = Object.entries(optionRules).flatMap(([name, { kind, isSecret }]) =>
  kind === 'code' ? [] : [{ name, kind, isSecret }],
);

/**
 * Returns the options that the settings in `environment` describe, with defaults: `ISSUER`, `AUDIENCE`,
 * `JWKS_MAX_AGE_SECONDS` and the others that have an option in docs/settings.md. All other variables are ignored, and
 * so is white space around a value. An empty setting counts as unset. `settingNames` lists the names, and
 * `secretOptions` the options whose values must not be logged. In Deno, a setting that the process may not read counts
 * as unset too, with a warning.
 * @param environment such as `process.env`, `Deno.env.toObject()` or the bindings of a Worker
 * @throws {EnvironmentError} a setting is missing or not valid; the message lists every mistake
 * @example
 * const guard = createGuard({ ...optionsFromEnvironment(process.env), isRevoked });
 */
export const optionsFromEnvironment = Object.assign(readEnvironment, {
  settingNames: Object.freeze(settings.map(({ name }) => settingOf(name))),
  secretOptions: Object.freeze(settings.flatMap(({ name, isSecret }) => (isSecret ? [name] : []))),
});

/** An environment has no functions. */
type EnvironmentOptions = CheckedOptions & { readonly issuer: ReturnType<typeof listedIssuers> };

function readEnvironment(environment: object): EnvironmentOptions {
  const given: Record<string, unknown> = {};
  const readable = readableSettings(environment);
  for (const { name, kind } of readable) {
    const value = readValue(environment, name);
    if (value !== undefined && value !== '') given[name] = typeof value === 'string' ? parse(kind, value) : value;
  }
  const { checked, problems } = readOptions(given);
  if (problems.length === 0) return checked as EnvironmentOptions;
  const lines = problems.map((problem) => describeSetting(problem, readValue(environment, problem.name)));
  const message = `Cannot read settings:\n${lines.map((line) => `  ${line}`).join('\n')}`;
  throw Object.assign(new TypeError(message), { problems: lines }) satisfies EnvironmentError;
}

/** Returns the settings that this process may read, and the required ones, which the runtime's error then names. */
function readableSettings(environment: object): typeof settings {
  if (!isOwnEnvironment(environment)) return settings;
  const readable = settings.filter(({ name }) => isRequired(name) || mayReadVariable(settingOf(name)));
  const unreadable = settings.length - readable.length;
  if (unreadable > 0)
    // biome-ignore lint/suspicious/noConsole: a setting without effect can be what protects an API.
    console.warn(`Cannot read ${unreadable} settings without permission, so they count as unset: see --allow-env`);
  return readable;
}

/** Returns a value without the white space around it, such as the line feed at the end of a secret of Kubernetes. */
function readValue(environment: object, name: string): unknown {
  const value: unknown = Reflect.get(environment, settingOf(name));
  return typeof value === 'string' ? value.trim() : value;
}

function describeSetting({ name, expected, fault, required, advice }: OptionProblem, value: unknown): string {
  const setting = settingOf(name);
  if (!value) return required === undefined ? `${setting} must be ${expected}` : `${setting} is required: ${required}`;
  if (isQuoted(value)) return `${setting} must not begin and end with quotes: remove them`;
  const found = quote(optionRules[name].isSecret ? '***' : String(value));
  return `${setting} ${fault ?? `must be ${expected}`}, got ${found}${advice === undefined ? '' : `. ${advice}`}`;
}

/** Files for `docker run --env-file` keep quotes, which no setting can begin and end with. */
const isQuoted = (value: unknown) => /^(["']).*\1$/s.test(String(value));

/** Returns the value of an option. A text that is not of its kind becomes a value that fails validation. */
function parse(kind: OptionKind, text: string): unknown {
  if (isQuoted(text)) return null;
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

/**
 * Returns the values of each name. What is not `name=value` becomes a value that fails validation, as does a backslash
 * before anything but a comma or a backslash.
 */
function readPairs(text: string): object {
  // A comma separates pairs unless a backslash escapes it: then an odd number of them comes before it.
  const pairs = text.split(/(?<=(?<!\\)(?:\\\\)*),/).map((pair) => {
    const [, name = '', value] = /^([^=]+)=((?:[^\\]|\\[\\,])*)$/s.exec(pair.trim()) ?? [];
    return { name: name.trim(), value: value?.trim().replace(/\\([\\,])/g, '$1') };
  });
  const groups = groupBy(pairs, ({ name }) => name);
  return Object.fromEntries([...groups].map(([name, group]) => [name, group.map(({ value }) => value)]));
}
