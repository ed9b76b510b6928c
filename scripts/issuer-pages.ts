import { basename, join } from 'node:path';
import { optionsFromEnvironment } from '../src/auth/index.ts';
import { rejections } from '../src/auth/rejections.ts';
import type { RejectionReason } from '../src/auth/types.ts';
import { format } from './format.ts';

type Members = Readonly<Record<string, unknown>>;
type Settings = Readonly<Record<string, string>>;

/** A token as an issuer makes it, complete but for `iat` and `exp`, or a text that is no signed JWT. */
export type IssuerToken = {
  readonly name: string;
  /** Why the guard decides so, or what to do. */
  readonly note?: string;
  /** Settings that replace those of the issuer. An empty one is unset. */
  readonly settings?: Settings;
  /** The reason of the rejection. Without it, the token is accepted. */
  readonly rejected?: RejectionReason;
  /** Whether the accepted token grants no scope, so that routes with a scope reject it. */
  readonly withoutScope?: boolean;
  /** The key that signs it if it is not the one that the issuer publishes. */
  readonly signedBy?: string;
  /** What the issuer serves if it is not the same as for its other tokens. */
  readonly published?: readonly Published[];
} & (
  | { readonly header: Members & { readonly alg: string }; readonly claims: Members; readonly text?: never }
  | { readonly text: string }
);

/** The metadata of an issuer, if the guard needs them, and the members of its signing key that are not its numbers. */
interface Published {
  readonly issuer: string;
  readonly metadata?: string;
  readonly jwks_uri: string;
  readonly key?: Members;
  readonly encryption_key?: boolean;
}

/** The other tokens that an issuer gives out, and what pages call them. */
const otherNames = {
  idToken: 'An ID token',
  idTokenOfApi: 'An ID token whose client is the API',
  anotherClient: 'From another client of the issuer',
  withoutScope: 'Without a scope',
  forIssuer: 'For the issuer itself',
};
export type OtherKind = keyof typeof otherNames;

/** What another kind of token is like, and what to do about it if the settings of the page accept it. */
interface Other {
  readonly note?: string;
  readonly claims?: Members;
}

/** What a file in `tests/docs/issuers` has. */
export interface Issuer {
  readonly slug: string;
  readonly name: string;
  readonly settings: Settings;
  readonly published: readonly Published[];
  readonly tokens: readonly IssuerToken[];
  /** Those that a row's settings accept have a note; null stands for those that the issuer cannot make. */
  readonly others?: Readonly<Partial<Record<OtherKind, Other | null>>>;
}

const root = join(import.meta.dir, '..');
const FIRST = ['auth0', 'entra', 'okta', 'keycloak'];
const rank = ({ slug }: Issuer) => (FIRST.indexOf(slug) + FIRST.length + 1) % (FIRST.length + 1);
const files = [...new Bun.Glob('tests/docs/issuers/*.json').scanSync(root)];

/** Every issuer that has a page, in the order of the index. */
export const issuers: readonly Issuer[] = (
  await Promise.all(
    files.map(async (file) => ({ slug: basename(file, '.json'), ...(await Bun.file(join(root, file)).json()) })),
  )
).toSorted((a: Issuer, b: Issuer) => rank(a) - rank(b) || a.name.localeCompare(b.name));

const assignments = (settings: Settings) => Object.entries(settings).map(([name, value]) => `${name}=${value}`);

const literal = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 1 ? literal(value[0]) : `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? `'${value}'` : String(value);
  const members = Object.entries(value).map(
    ([name, each]) => `${/^\w+$/.test(name) ? name : `'${name}'`}: ${literal(each)}`,
  );
  return `{ ${members.join(', ')} }`;
};

const lists = ['algorithms', 'scopeClaim'];

function code(settings: Settings): string {
  const camelCase = (name: string) => name.toLowerCase().replaceAll(/_./g, ([, letter = '']) => letter.toUpperCase());
  const named = new Set(Object.keys(settings).map(camelCase));
  const options = Object.entries(optionsFromEnvironment(settings)).filter(([name]) => named.has(name));
  const lines = options.map(
    ([name, value]) =>
      `  ${name}: ${lists.includes(name) && value.length === 1 ? `[${literal(value)}]` : literal(value)},`,
  );
  return `const guard = createGuard({\n${lines.join('\n')}\n});`;
}

const table = (rows: readonly (readonly string[])[]) => {
  const [head = '', ...body] = rows.map((cells) => `| ${cells.join(' | ')} |`);
  return [head, head.replaceAll(/[^|]+/g, '---'), ...body].join('\n');
};

const responseTo = ({ rejected, withoutScope }: IssuerToken) => {
  if (rejected) return `${rejections[rejected].status} \`${rejected}\``;
  return withoutScope ? '200, or 403 if the route requires a scope' : '200';
};

const settingsOf = ({ settings = {} }: IssuerToken) =>
  Object.entries(settings).map(([name, value]) => (value ? `\`${name}=${value}\`` : `no \`${name}\``));

function tokenTable({ tokens, others = {} }: Issuer): string {
  const isVaried = tokens.some(({ settings }) => settings);
  const row = (token: IssuerToken) => [
    token.name,
    responseTo(token),
    token.note ?? '',
    ...(isVaried ? [settingsOf(token).join('<br>')] : []),
  ];
  const head = ['Token', 'Response', 'Why, or what to do', ...(isVaried ? ['Other settings'] : [])];
  const accepted = Object.entries(others).flatMap(([kind, other]) => {
    const response = kind === 'anotherClient' ? '200' : '200, or 403 if the route requires a scope';
    const cells = [otherNames[kind as OtherKind], response, other?.note ?? '', ...(isVaried ? [''] : [])];
    return other?.note === undefined ? [] : [cells];
  });
  return table([head, ...tokens.map(row), ...accepted]);
}

const indexTable = () =>
  table([
    ['Issuer', '`ISSUER`'],
    ...issuers.map(({ slug, name, settings }) => [`[${name}](${slug}.md)`, `\`${settings.ISSUER}\``]),
  ]);

/** Returns each page of `docs/issuers` with its generated parts as they are now, by file name. */
export async function issuerPages(): Promise<ReadonlyMap<string, string>> {
  const parts = [
    { file: 'index.md', part: 'issuers', text: indexTable() },
    ...issuers.flatMap((issuer) => [
      {
        file: `${issuer.slug}.md`,
        part: 'settings',
        text: `\`\`\`dotenv\n${assignments(issuer.settings).join('\n')}\n\`\`\`\n\n\`\`\`ts fragment\n${code(issuer.settings)}\n\`\`\``,
      },
      { file: `${issuer.slug}.md`, part: 'tokens', text: tokenTable(issuer) },
    ]),
  ];
  // One call of the formatter for all parts, because each takes a tenth of a second.
  const separator = '\n\n<!-- next -->\n\n';
  const formatted = format('docs/issuers.md', parts.map(({ text }) => text).join(separator))
    .trim()
    .split(separator);
  const pages = new Map<string, string>();
  for (const [index, { file, part }] of parts.entries()) {
    const page = pages.get(file) ?? (await Bun.file(join(root, 'docs/issuers', file)).text());
    const marked = new RegExp(`(<!-- ${part}: [^\n]* -->\n\n).*?(\n\n<!-- end -->)`, 's');
    if (!marked.test(page)) throw new Error(`Cannot write ${file}: it has no part ${part}`);
    pages.set(
      file,
      page.replace(marked, (_, start, end) => `${start}${formatted[index]}${end}`),
    );
  }
  return pages;
}

if (import.meta.main)
  for (const [file, text] of await issuerPages()) await Bun.write(join(root, 'docs/issuers', file), text);
