import { ifPossible } from '../values/faults.ts';
import { groupBy } from '../values/group-by.ts';
import { quote } from './describe-value.ts';
import type { OptionKind, Wording } from './kinds.ts';

/** Returns what is wrong with a setting, for whoever runs the process. */
export function describeSetting(setting: string, value: unknown, wording: Wording, isSecret = false): string {
  const { expected, fault, required, advice } = wording;
  if (!value) return required === undefined ? `${setting} must be ${expected}` : `${setting} is required: ${required}`;
  if (isQuoted(value)) return `${setting} must not begin and end with quotes: remove them`;
  if (isJsonList(value)) return `${setting} must not be a JSON array: separate its members by commas`;
  const found = quote(isSecret ? '***' : String(value));
  return `${setting} ${fault ?? `must be ${expected}`}, got ${found}${advice === undefined ? '' : `. ${advice}`}`;
}

/** Files for `docker run --env-file` keep quotes, which no setting can begin and end with. */
const isQuoted = (value: unknown) => /^(["']).*\1$/s.test(String(value));

const isJsonList = (value: unknown) => /^\[\s*".*\]$/s.test(String(value));

/** Returns the value in a setting. A text that is not of its kind becomes a value that fails validation. */
export function readSetting(kind: OptionKind, text: string): unknown {
  if (isQuoted(text) || isJsonList(text)) return null;
  switch (kind) {
    case 'integer':
      return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    case 'boolean':
      return text === 'true' || (text === 'false' ? false : text);
    case 'list':
      return text.split(',').map((member) => member.trim());
    case 'pairs':
      return text.startsWith('{') ? readJsonPairs(text) : readPairs(text);
    default:
      return text;
  }
}

/** Returns the members of a JSON object, or null if it has objects in it, or a name twice, which JSON.parse() hides. */
function readJsonPairs(text: string): object | null {
  const parsed = ifPossible(() => JSON.parse(text) as object) ?? {};
  const colons = text.replace(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1;
  return colons > 0 && Object.keys(parsed).length === colons ? parsed : null;
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

/** Returns the name of the setting for an option: `JWKS_MAX_AGE_SECONDS` for `jwksMaxAgeSeconds`. */
export const settingOf = (option: string) => option.replace(/[A-Z]/g, '_$&').toUpperCase();
