import { join } from 'node:path';
import { isRequired } from '../src/auth/options/check-options.ts';
import type { OptionKind } from '../src/auth/options/kinds.ts';
import { optionRules } from '../src/auth/options/rules.ts';
import { inEnvironment, settingOf } from '../src/auth/options/setting.ts';
import { inCode, type Sentence, say } from '../src/auth/options/wording.ts';
import { processRules } from '../src/settings.ts';
import { format } from './format.ts';

interface Rule {
  readonly kind?: OptionKind;
  readonly expected: Sentence;
  readonly fallback?: unknown;
}

/** An option or a setting, with the words of the comment above its rule. */
export interface DocumentedRule extends Rule {
  readonly name: string;
  readonly expected: string;
  readonly meaning: string;
  readonly example: string | undefined;
}

const src = join(import.meta.dir, '../src');

/** Reads the comment above each rule in the source, and the example at its end. */
async function documentRules(path: string, rules: Readonly<Record<string, Rule>>) {
  const source = await Bun.file(join(src, path)).text();
  return Object.entries(rules).map(([name, rule]): DocumentedRule => {
    const comment =
      new RegExp(String.raw`/\*\*((?:(?!\*/)[^])*)\*/\n  (?:readonly )?${name}\??:`).exec(source)?.[1] ?? '';
    const [meaning = '', example] = comment.replaceAll(/^ *\* ?/gm, '').split('@example');
    if (!meaning.trim()) throw new Error(`Cannot document ${name}: it has no comment`);
    const expected = say(rule.expected, rule.kind === 'code' ? inCode : inEnvironment);
    return { ...rule, expected, name, meaning: meaning.trim().replaceAll(/\s*\n\s*/g, ' '), example: example?.trim() };
  });
}

export const options = await documentRules('auth/types.ts', optionRules);
export const processSettings = await documentRules('settings.ts', processRules);
const settings = [...options.filter(({ kind }) => kind !== 'code'), ...processSettings];

/** Returns the default as it is written in the environment. Empty if there is none. */
function defaultOf({ name, kind, fallback }: DocumentedRule): string {
  const value = name === 'host' ? '0.0.0.0' : kind === 'pairs' ? undefined : fallback;
  return value === undefined ? '' : [value].flat().join(',');
}

/**
 * Returns the meaning with the names of settings, such as `JWKS_ALLOW_HTTP` for `jwksAllowHttp`, without the content of
 * other columns.
 */
function meaningOf({ kind, meaning, expected }: DocumentedRule): string {
  const words = meaning.replace(/ (?:Required|Defaults to [^.:]+)\.$/, '');
  const named = words.replace(/`([a-z]+[A-Z]\w*)`/g, (quoted, option: string) =>
    settings.some((setting) => setting.name === option) ? `\`${settingOf(option)}\`` : quoted,
  );
  return kind === 'pairs' ? `${named} Pairs: \`${expected}\`.` : named;
}

const code = (text: string) => (text === '' ? '' : `\`${text}\``);

/** The groups of the page, in the order in which a reader meets them. What no other group holds belongs to Tokens. */
const groups: Readonly<Record<string, (rule: DocumentedRule) => boolean>> = {
  Required: ({ name }) => isRequired(name),
  Tokens: () => false,
  Scopes: ({ name }) => /^scope|^requireScope/.test(name),
  Keys: ({ name }) => /^jwks|^(?:keys|fetch)$/.test(name),
  'DPoP and certificates': ({ name }) => /^dpop|^client|^(?:publicUrl|resource|replayStore|redisUrl)$/.test(name),
  'Responses and callbacks': ({ name }) => /^on[A-Z]|^error|^formatRejection$/.test(name),
  Service: (rule) => !options.includes(rule),
};
const groupOf = (rule: DocumentedRule) => Object.keys(groups).find((title) => groups[title]?.(rule)) ?? 'Tokens';

/** Returns the title of each group, followed by the texts of its rules. */
const grouped = (rules: readonly DocumentedRule[], textOf: (rule: DocumentedRule) => string) =>
  Object.keys(groups).flatMap((title) => {
    const held = rules.filter((rule) => groupOf(rule) === title);
    return held.length === 0 ? [] : [`## ${title}`, ...held.map(textOf)];
  });

/** Returns the line below a name: the option, and the default or the value. */
function formOf(rule: DocumentedRule): string {
  if (rule.kind === 'code') return `Option only: ${rule.expected}.`;
  const option = options.includes(rule) ? rule.name : undefined;
  const named = option === undefined ? 'Setting only.' : `Option ${code(option)}.`;
  if (isRequired(rule.name)) return `${named} Required.`;
  const type = rule.expected === 'true or false' ? ' Boolean.' : '';
  // A default that is not a value, such as that of another setting.
  const [, described = 'none'] = / Defaults to ([^.:]+)\.$/.exec(rule.meaning) ?? [];
  return `${named}${type} Default: ${code(defaultOf(rule)) || described}.`;
}

/** Returns the names of a rule, the option first, as its heading has them. */
function namesOf(rule: DocumentedRule): readonly string[] {
  if (rule.kind === 'code') return [rule.name];
  return options.includes(rule) ? [rule.name, settingOf(rule.name)] : [settingOf(rule.name)];
}

/** Returns the line of the table that lists all. Its link leads to the heading. */
function rowOf(rule: DocumentedRule): string {
  const names = namesOf(rule);
  const anchor = names.join(' · ').toLowerCase().replaceAll(' · ', '--');
  const link = `[${names.map(code).join(' · ')}](#${anchor})`;
  return `| ${link} | ${isRequired(rule.name) ? 'required' : code(defaultOf(rule))} |`;
}

export function settingsPage(): string {
  const pairs = options.filter(({ kind }) => kind === 'pairs');
  const rules = [...settings, ...options.filter(({ kind }) => kind === 'code')];
  const sections = grouped(rules, (rule) => {
    const meaning = rule.kind === 'code' ? rule.meaning : meaningOf(rule);
    const block = rule.kind === 'code' && rule.example ? `\n\n\`\`\`ts\n${rule.example}\n\`\`\`` : '';
    return `### ${namesOf(rule).join(' · ')}\n\n${formOf(rule)}\n\n${meaning}${block}`;
  });
  return format(
    'settings.md',
    `# Settings and options

<!-- Generated by \`bun run docs\` from src/auth/types.ts and src/settings.ts. Change the comments there. -->

A guard takes **options** (\`jwksUri\`). The sample service reads **settings** from the environment (\`JWKS_URI\`). Where both exist, they have the same meaning,
default and bounds. \`optionsFromEnvironment(process.env)\` returns the options that the settings describe.

| Option · Setting             | Default                        |
| ---------------------------- | ------------------------------ |
${rules.map(rowOf).join('\n')}

- Numbers are plain decimal integers. White space around a value is ignored, and an empty setting counts as unset. No setting
  is read from a file: \`REDIS_URL_FILE\` is ignored, with a warning.
- Lists are comma-separated in settings and arrays in options. \`issuer\` and \`audience\` also take one string.
- Pairs are \`name=value\` in settings, separated by commas, and objects in options: ${pairs.map(({ name, example }) => `\`${name}: ${example}\``).join(', ')}.
  To give a name several values, repeat the pair: \`SCOPE_IMPLIES=admin=read:a,admin=write:a\`.
- All mistakes are reported together. The service prints them on standard error, and exits with status 1. A guard throws a \`TypeError\` when it is created.
- How a file with settings is written depends on its reader: see [Files with settings](#files-with-settings).
- \`bun run\` also reads a file named \`.env\` in the current folder; [.env.example](../.env.example) is a template. A file \`.env.local\` takes precedence
  over it, and the environment over both. The executable and the image read neither: [give them the file](#files-with-settings). In such
  a file, \`NODE_EXTRA_CA_CERTS\`, \`NODE_USE_SYSTEM_CA\`, \`SSL_CERT_FILE\` and \`SSL_CERT_DIR\` have no effect, because Bun reads them earlier: set them in the environment.

${sections.join('\n\n')}

${filesWithSettings}
`,
  );
}

/** A test compares the table with what each reader does. */
const filesWithSettings = String.raw`## Files with settings

Without systemd or Compose, give a file to the executable, or to the image, like this:

\`\`\`sh
set -a; . ./.env; set +a; dist/protected-api
docker run -p 3010:3010 --env-file .env protected-api
\`\`\`

Without \`ISSUER\` and \`AUDIENCE\`, the service runs the development issuer, unless \`NODE_ENV\` is \`production\`, as in the image.

The same file means different values to different readers. In these columns, B is a variable that is not set:

| In the file   | Bun       | Compose 2 | systemd   | docker run, Podman, kustomize |
| ------------- | --------- | --------- | --------- | ----------------------------- |
| \`A=x y\`     | \`x y\`   | \`x y\`   | \`x y\`   | \`x y\`                       |
| \`A={"x":"y,z"}\` | \`{"x":"y,z"}\` | \`{"x":"y,z"}\` | \`{"x":"y,z"}\` | \`{"x":"y,z"}\` |
| \`A='x'\`     | \`x\`     | \`x\`     | \`x\`     | \`'x'\`                       |
| \`A="x"\`     | \`x\`     | \`x\`     | \`x\`     | \`"x"\`                       |
| \`A=x\,y\`    | \`x\,y\`  | \`x\,y\`  | \`x,y\`   | \`x\,y\`                      |
| \`A='x\y'\`  | \`x\y\`  | \`x\y\`  | \`x\y\`  | \`'x\y'\`                    |
| \`A=x$B\`     | \`x\`     | \`x\`     | \`x$B\`   | \`x$B\`                       |
| \`A='x$B'\`   | \`x\`     | \`x$B\`   | \`x$B\`   | \`'x$B'\`                     |
| \`A=x#y\`     | \`x\`     | \`x#y\`   | \`x#y\`   | \`x#y\`                       |
| \`A=x #y\`    | \`x\`     | \`x\`     | \`x #y\`  | \`x #y\`                      |
| \`A='x #y'\`  | \`x #y\`  | \`x #y\`  | \`x #y\`  | \`'x #y'\`                    |

- **In each column**, a value without quotes, backslashes, \`$\` and \`#\` is read as it is written. So write \`REQUIRED_CLAIMS\` as a JSON object
  without quotes around it, and percent-encode the password in \`REDIS_URL\`.
- **Single quotes** protect backslashes and \` #\` in Bun, Compose and systemd, and \`$\` in the last two. In Bun, write \`\$\` for \`$\`.
- **A shell**, as in the first command, needs single quotes around a value with spaces or special characters, such as JSON.
- **Comments** belong on lines of their own, which do not end with a backslash: systemd would ignore the next line. It also ignores a line that begins
  with \`export\`.
- **A byte order mark** costs systemd and Podman the first variable. Line ends of Windows are ignored.

The service does not start if it notices such a mistake. It notices quotes around a value, white space before \`#\`, a placeholder
that was not replaced, and invisible characters. It also notices a distinguished name that lost its backslashes, and a secret that
is now too short. It cannot notice a cut \`AUDIENCE\`, for example.`.replaceAll('\\`', '`');

export function envExample(): string {
  const sections = grouped(settings, (rule) => {
    const words = meaningOf(rule).replaceAll('`', '');
    const assignment = `${settingOf(rule.name)}=${defaultOf(rule)}`;
    return `${words.replaceAll(/(.{1,118})(?: |$)/g, '# $1\n')}${isRequired(rule.name) ? '' : '# '}${assignment}`;
  });
  return `# Settings of the service, read from the environment. Only ISSUER and AUDIENCE are required.
# A line that begins with # is a comment: the other settings show their defaults, so remove the # to change one.
# Numbers are plain decimal integers. Lists, and pairs name=value, are separated by commas. An empty value counts as unset.
# Generated by \`bun run docs\`; docs/settings.md explains the format of lists and pairs.

${sections.join('\n\n')}
`;
}

if (import.meta.main) {
  const root = join(src, '..');
  await Bun.write(join(root, 'docs/settings.md'), settingsPage());
  await Bun.write(join(root, '.env.example'), envExample());
}
