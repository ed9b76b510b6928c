import { basename, join } from 'node:path';
import { moved } from '../docs/.vitepress/moved.ts';
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
  idTokenWithRoles: 'An ID token with roles',
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
  /** The day on which its documentation was read. */
  readonly read: string;
  /** The release that our tests run, and the day on which they first did. */
  readonly seen?: { readonly version: string; readonly on: string };
  readonly sources: readonly string[];
}

const root = join(import.meta.dir, '..');
const FIRST = ['auth0', 'entra', 'okta', 'keycloak', 'cognito'];
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

function sourceList({ name, read, seen, sources }: Issuer): string {
  const server = seen ? `${name.split(' and ')[0]} ${seen.version}, seen on ${seen.on} in our tests, and ` : '';
  const links = sources.map((url) => `- <${url}>`);
  return `<details><summary>From ${server}documentation, read on ${read}</summary>\n\n${links.join('\n')}\n\n</details>`;
}

/** The page of an issuer on the site, or its section of one. */
export const pageOf = (slug: string): string => moved[`issuers/${slug}`] ?? `issuers/${slug}`;

const indexTable = () =>
  table([
    ['Issuer', '`ISSUER`'],
    ...issuers
      .filter(({ slug }) => slug !== 'mcp-clients')
      .map(({ slug, name, settings }) => {
        const link = pageOf(slug).replace(/^issuers\/([^#]*)/, '$1.md');
        return [`[${name}](${link})`, `\`${settings.ISSUER}\``];
      }),
  ]);

/** Returns each page with generated parts about issuers, with these parts as they are now, by path. */
export async function issuerPages(): Promise<ReadonlyMap<string, string>> {
  const parts = [
    { mark: 'issuers: generated from tests/docs/issuers', text: indexTable() },
    ...issuers.flatMap((issuer) => {
      const from = `generated from tests/docs/issuers/${issuer.slug}.json`;
      const settings = assignments(issuer.settings).join('\n');
      const blocks = `\`\`\`dotenv\n${settings}\n\`\`\`\n\n\`\`\`ts fragment\n${code(issuer.settings)}\n\`\`\``;
      return [
        { mark: `settings: ${from}`, text: blocks },
        { mark: `tokens: ${from}`, text: `${tokenTable(issuer)}\n\n${sourceList(issuer)}` },
      ];
    }),
  ];
  // One call of the formatter for all parts, because each takes a tenth of a second.
  const separator = '\n\n<!-- next -->\n\n';
  const formatted = format('docs/issuers.md', parts.map(({ text }) => text).join(separator))
    .trim()
    .split(separator);
  const pages = new Map<string, string>();
  for (const path of [...new Bun.Glob('docs/{issuers,mcp}/*.md').scanSync(root)])
    pages.set(path, await Bun.file(join(root, path)).text());
  for (const [index, { mark }] of parts.entries()) {
    const path = [...pages.keys()].find((each) => pages.get(each)?.includes(`<!-- ${mark} -->`));
    if (path === undefined) throw new Error(`No page has a part ${mark}`);
    const marked = new RegExp(`(<!-- ${RegExp.escape(mark)} -->\n\n).*?(\n\n<!-- end -->)`, 's');
    const text = pages.get(path)?.replace(marked, (_, start, end) => `${start}${formatted[index]}${end}`);
    pages.set(path, text ?? '');
  }
  return pages;
}

if (import.meta.main) for (const [path, text] of await issuerPages()) await Bun.write(join(root, path), text);
