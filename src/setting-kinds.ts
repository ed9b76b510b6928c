import { printable } from './observe/escape.ts';

/*
 * What a setting of the process may be, as text of the environment. The package reads those of the guard. Which
 * settings there are is decided in settings.ts.
 */

/** The rule of one setting. */
export interface SettingRule<Value = unknown> {
  /** Completes the sentence "… must be …". */
  readonly expected: string;
  /** Returns the value that a text has, or undefined if it is not valid. */
  readonly read: (text: string) => Value | undefined;
  /** The default. Undefined for a setting without one. */
  readonly fallback?: Value;
  /** Whether neither messages nor logs repeat the value. */
  readonly isSecret?: boolean;
}

/** The rule of a setting that always has a value. */
export interface DefaultedRule<Value> extends SettingRule<Value> {
  readonly fallback: Value;
}

export const text = (expected: string, isValid: (text: string) => boolean): SettingRule<string> => ({
  expected,
  read: (given) => (isValid(given) ? given : undefined),
});

export const integer = (min: number, max: number): SettingRule<number> => ({
  expected: `a whole number from ${min} to ${max}`,
  read: (given) =>
    /^\d{1,15}$/.test(given) && Number(given) >= min && Number(given) <= max ? Number(given) : undefined,
});

export const withDefault = <Value>(rule: SettingRule<Value>, fallback: Value): DefaultedRule<Value> => ({
  ...rule,
  fallback,
});

export const boolean = (fallback: boolean): DefaultedRule<boolean> => ({
  expected: 'true or false',
  read: (given) => (given === 'true' ? true : given === 'false' ? false : undefined),
  fallback,
});

export const choice = <const Value extends string>(words: readonly Value[], fallback: Value): DefaultedRule<Value> => ({
  expected: `one of ${words.join(', ')}`,
  read: (given) => words.find((word) => word === given),
  fallback,
});

/** Returns the rule of a list without duplicates, separated by commas. */
export const list = (expected: string, isValid: (member: string) => boolean): SettingRule<readonly string[]> => ({
  expected,
  read: (given) => {
    const members = given.split(',').map((member) => member.trim());
    return members.every(isValid) ? [...new Set(members)] : undefined;
  },
});

/** Returns the name of the setting: `SHUTDOWN_DELAY_SECONDS` for `shutdownDelaySeconds`. */
export const settingNameOf = (name: string) => name.replace(/[A-Z]/g, '_$&').toUpperCase();

/** What the readers of a file with settings leave in a value. The package says the same of its settings. */
const mistakes: readonly (readonly [form: RegExp, words: string])[] = [
  [/^(["']).*\1$|^[“‘].*[”’]$/s, 'must not begin and end with quotes: remove them'],
  [
    /^\$\w+$|\$\{\w[^{}]*\}|\$\(\w+\)|\{\{.*\}\}/s,
    'must not have a placeholder such as $NAME, which docker, systemd and kustomize do not replace: write the value itself',
  ],
  [/[^\P{Cf}\u200c\u200d]/u, 'must not have invisible characters, which come with copied text: type it again'],
  [/^\[\s*".*\]$/s, 'must not be a JSON array: separate its members by commas'],
  [
    /\s#|#\s/,
    'must not have white space beside "#": docker, systemd and kustomize keep such a comment. Put it on a line of its own',
  ],
];

/**
 * Reads one setting: its value, or what is wrong with it. No value is quoted, because no setting can begin and end with
 * quotes: files for `docker run --env-file` keep them.
 */
export function readSetting<Value>(name: string, given: string | undefined, rule: SettingRule<Value>) {
  if (!given) return { value: rule.fallback };
  const mistake = mistakes.find(([form]) => form.test(given))?.[1];
  if (mistake !== undefined) return { problem: `${name} ${mistake}` };
  const value = rule.read(given);
  if (value !== undefined) return { value };
  const found = rule.isSecret ? `"***" (${given.length} characters)` : quote(given);
  return { problem: `${name} must be ${rule.expected}, got ${found}` };
}

/**
 * Returns a value without the white space around it: a secret of Kubernetes often ends with a line feed. White space
 * before a comment stays, because it shows what the comment is.
 */
export const trimSetting = (value: string): string => (/^\s+#/.test(value) ? value.trimEnd() : value.trim());

/** Quotes a value for a message: without credentials, query and fragment, in at most 256 printable ASCII characters. */
export function quote(value: string): string {
  const shown = value.replace(/^.*@/s, '***@').replace(/([?#]).*/s, '$1***');
  return `"${printable(JSON.stringify(shown).slice(1, -1).slice(0, 256))}"`;
}
