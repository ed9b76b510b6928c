import type { CheckedOptions, EnvironmentError } from '../types.ts';
import { memberOf } from '../values/json.ts';
import { isOwnEnvironment, mayReadVariable } from '../values/runtime.ts';
import { isRequired, readOptions } from './check-options.ts';
import type { listedIssuers } from './issuers.ts';
import { optionRules } from './rules.ts';
import { describeSetting, readSetting, settingOf, trimSetting } from './setting.ts';

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
    if (value !== undefined && value !== '') given[name] = typeof value === 'string' ? readSetting(kind, value) : value;
  }
  const { checked, problems } = readOptions(given);
  if (problems.length === 0) return checked as EnvironmentOptions;
  const lines = problems.map((problem) => {
    const { name } = problem;
    return describeSetting(name, readValue(environment, name), problem, optionRules[name].isSecret);
  });
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

function readValue(environment: object, name: string): unknown {
  const value = memberOf(environment, settingOf(name));
  return typeof value === 'string' ? trimSetting(value) : value;
}
