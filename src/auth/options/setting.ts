import { ifPossible } from '../values/faults.ts';
import { groupBy } from '../values/group-by.ts';
import { quote } from './describe-value.ts';
import type { OptionKind } from './kinds.ts';
import { describeProblem, type Wording, type Words } from './wording.ts';

/** Returns the name of the setting for an option: `JWKS_MAX_AGE_SECONDS` for `jwksMaxAgeSeconds`. */
export const settingOf = (option: string) => option.replace(/[A-Z]/g, '_$&').toUpperCase();

export const inEnvironment: Words = {
  areInCode: false,
  nameOf: settingOf,
  set: (option, value) => `${settingOf(option)}=${value}`,
};

/** Returns what is wrong with the setting of an option, for whoever runs the process. */
export function describeSetting(option: string, value: unknown, wording: Wording, isSecret = false): string {
  const text = String(value ?? '');
  const mistake = findMistake(text);
  if (mistake !== undefined) return `${settingOf(option)} ${mistake}`;
  const found = isSecret ? `"***" (${text.length} characters)` : quote(text);
  return describeProblem(option, wording, value ? found : undefined, inEnvironment);
}

/** What the readers of a file with settings leave in a value, or take out of it. */
const mistakes: readonly [isMade: (text: string) => boolean, words: string][] = [
  // `docker run --env-file` keeps quotes, which no setting can begin and end with. Word processors make others of them.
  [(text) => /^(["']).*\1$|^[“‘].*[”’]$/s.test(text), 'must not begin and end with quotes: remove them'],
  [
    (text) => /^\$\w+$|\$\{\w[^{}]*\}|\$\(\w+\)|\{\{.*\}\}/s.test(text),
    'must not have a placeholder such as $NAME, which docker, systemd and kustomize do not replace: write the value itself',
  ],
  // The joiners are part of words in some languages.
  [
    (text) => /[^\P{Cf}\u200c\u200d]/u.test(text),
    'must not have invisible characters, which come with copied text: type it again',
  ],
  [(text) => /^\[\s*".*\]$/s.test(text), 'must not be a JSON array: separate its members by commas'],
  [
    (text) => /^\{[^"'{}]*:[^"'{}]*\}$/.test(text),
    'must have its double quotes, which a shell or systemd removes: put the value in single quotes',
  ],
  [
    (text) => !/^\{.*\}$/s.test(text) && /\s#|#\s/.test(text),
    'must not have white space beside "#": docker, systemd and kustomize keep such a comment. Put it on a line of its own',
  ],
  [
    isCut,
    'must not have CN, OU or DC as a name after a distinguished name: systemd removes the backslash before a comma. Write a JSON object',
  ],
  [
    (text) => text.startsWith('{') && /\\[bfnrt]/.test(text.replaceAll('\\\\', '')),
    'must not have line breaks, tabs or control characters: systemd removes one of two backslashes. Put the value in single quotes',
  ],
];

const findMistake = (text: string) => mistakes.find(([isMade]) => isMade(text))?.[1];

/** Whether these pairs can be what remains of `groups=CN=admins\,OU=api` without its backslash. */
function isCut(text: string): boolean {
  const pairs = text.startsWith('{') || text.includes('\\') ? [] : text.split(',').map((pair) => pair.trim());
  const first = pairs.findIndex((pair) => /^[^=]+=\s*(?:CN|OU|DC|O|UID)\s*=/i.test(pair));
  return first >= 0 && pairs.slice(first + 1).some((pair) => /^(?:CN|OU|DC)\s*=/i.test(pair));
}

/**
 * Returns a value without the white space around it, such as the line feed at the end of a secret of Kubernetes. White
 * space before a comment stays, because it shows what the comment is.
 */
export const trimSetting = (value: string): string => (/^\s+#/.test(value) ? value.trimEnd() : value.trim());

/** Returns the value in a setting. A text that is not of its kind becomes a value that fails validation. */
export function readSetting(kind: OptionKind, text: string): unknown {
  if (findMistake(text) !== undefined) return null;
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
