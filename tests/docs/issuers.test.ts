import { describe, expect, test } from 'bun:test';
import { refusals } from '../../src/auth/refusals.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { createServiceInProcess } from '../support/in-process.ts';
import { publish, rsaKey, signingKey } from '../support/keys.ts';
import { bearer, mintToken } from '../support/mint.ts';
import { bound, proven } from '../support/proof.ts';
import { readText } from '../support/repository.ts';

type Members = Readonly<Record<string, unknown>>;

/** What a `json` block shows: both parts of a token, and what its issuer serves. */
interface Token {
  readonly header: Members & { readonly alg: string };
  readonly claims: Members;
  readonly published: {
    readonly jwks_uri: string;
    readonly metadata?: string;
    readonly key?: Members;
    readonly encryption_key?: boolean;
  };
}

/** An entry in bold, with the settings above it and the token below it. A token that is a string is not a signed JWT. */
interface Form {
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly outcome: string;
  token: Token | string | undefined;
}

const page = (await readText('docs/issuers.md')).replaceAll('THUMBPRINT_OF_THE_CLIENT', bound.jkt);
const sections = page.split(/^## /m).filter((section) => section.includes('```dotenv\n'));
const FORM_OR_BLOCK =
  /^\*\*(?<name>.+)\*\*: (?<outcome>.+?)\. |^```(?<kind>dotenv|json|text)\n(?<text>[\s\S]*?)\n```$/gm;
const WITHOUT_SCOPE = '200 on `/api/private`, 403 on `/api/private-scoped`';
/** Workloads get tokens without scopes. */
const accounts = ['Google service accounts', 'Kubernetes service accounts'];
const withoutScopes = new Set(['GitHub Actions', 'GitLab CI', 'SPIRE', ...accounts]);
/** The codes on both paths, none for a message. */
const CODES: Readonly<Record<string, readonly (string | undefined)[]>> = {
  '200': [],
  [WITHOUT_SCOPE]: [undefined, 'Unauthorized'],
  '401 `invalid_header`': ['invalid_header', 'invalid_header'],
  '401 `invalid_claims`': ['invalid_claims', 'invalid_claims'],
};

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7396 */
const merge = (target: unknown, patch: Members): Members => {
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete merged[name];
    else merged[name] = isObject(value) ? merge(merged[name], value) : value;
  return merged;
};

function formsOf(section: string): readonly Form[] {
  const forms: Form[] = [];
  let settings: Form['settings'] = {};
  let complete: Token | undefined;
  for (const { groups: { name, outcome, kind, text = '' } = {} } of section.matchAll(FORM_OR_BLOCK)) {
    const form = forms.at(-1);
    if (name !== undefined && outcome !== undefined) forms.push({ name, outcome, settings, token: complete });
    else if (kind === 'dotenv') settings = Object.fromEntries(text.split('\n').map((line) => line.split(/=(.*)/, 2)));
    else if (form === undefined) throw new TypeError(`A token without a form: ${text}`);
    else if (kind === 'text') form.token = text;
    else {
      const shown: Partial<Token> = JSON.parse(text);
      form.token = merge(complete, { ...shown }) as unknown as Token;
      if (shown.header?.alg && shown.claims?.iss) complete = form.token = shown as Token;
    }
  }
  return forms;
}

const issuers = sections.map((section) => ({ name: section.split('\n')[0] ?? '', section, forms: formsOf(section) }));

function mint({ header, claims }: Token): string {
  return mintToken('', {
    header: { typ: undefined, kid: undefined, ...header },
    claims: { aud: undefined, sub: undefined, scope: undefined, ...claims },
    signedAs: header.alg,
    key: signingKey(header.alg, 'issuer'),
  });
}

/** Serves what the issuer of this token publishes, and nothing else. */
function fetchFor({ header, claims, published: { jwks_uri, metadata, key, encryption_key } }: Token) {
  const signing = publish(signingKey(header.alg, 'issuer'), String(header.kid ?? 'a key'), key);
  const encryption = publish(rsaKey('encryption'), 'encryption key', { use: 'enc', alg: 'RSA-OAEP' });
  const documents = new Map<string | undefined, unknown>([
    [metadata, { issuer: claims.iss, jwks_uri }],
    [jwks_uri, { keys: encryption_key ? [encryption, signing] : [signing] }],
  ]);
  return async (url: string) =>
    documents.has(url) ? Response.json(documents.get(url)) : new Response(null, { status: 404 });
}

async function hold({ settings, outcome, token = '' }: Form): Promise<void> {
  const isSigned = typeof token === 'object';
  const { get, stop } = createServiceInProcess(settings, isSigned ? fetchFor(token) : undefined);
  const text = isSigned ? mint(token) : token;
  const hint = isSigned ? '' : token.split('.').length === 5 ? 'encrypted' : 'opaque';
  for (const [index, path] of ['/api/private', '/api/private-scoped'].entries()) {
    const headers = settings.DPOP === 'on' ? proven(text, `${settings.PUBLIC_URL}${path}`) : bearer(text);
    const response = await get(path, { headers });
    const code = CODES[outcome]?.[index];
    expect(await response.clone().text()).toContain(hint);
    if (code === undefined) await expectMessage(response);
    else await expectError(response, code === 'Unauthorized' ? 403 : 401, code);
  }
  stop();
}

describe.each(issuers)('$name', ({ forms }) => {
  test.each(forms)('$name: $outcome', hold);
});

test.each(issuers)('every form of $name is read, one works, and the page says how much is known', async (issuer) => {
  const { name, section, forms } = issuer;
  expect(section.match(/^\*\*|^ *- \*\*/gm)?.length).toBe(forms.length);
  const outcomes = forms.map(({ outcome }) => outcome);
  expect(Object.keys(CODES)).toEqual(expect.arrayContaining(outcomes));
  expect(outcomes).toContain(withoutScopes.has(name) ? WITHOUT_SCOPE : '200');
  expect(new Set(forms.map((form) => form.name)).size).toBe(forms.length);
  expect(page).toContain(`[${name}](#${name.toLowerCase().replaceAll(' ', '-')})`);
  // Only what a test runs is a real server.
  const isRun = (await readText('tests/issuers/real-servers.issuer.ts')).includes(`'${name}'`);
  const known = `Known from ${isRun ? 'a real server, and from ' : ''}documentation, read on `;
  expect(section).toMatch(new RegExp(`^${known}20\\d\\d-\\d\\d-\\d\\d: <`, 'm'));
});

test('the table of first rejections has the descriptions that clients get', () => {
  const rows = [...page.matchAll(/^\| (\d{3}) `(\w+)` *\| (.+?) *\|/gm)];
  expect(rows.length).toBe(11);
  for (const [, status, code, description] of rows)
    expect(Object.values(refusals)).toContainEqual(
      expect.objectContaining({ status: Number(status), code, description }),
    );
});

test('each issuer in the README has settings of a form that is accepted', async () => {
  const readme = await readText('README.md');
  const rows = [...readme.matchAll(/^\| *([^|]+?) *\|(.*`ISSUER=.*`AUDIENCE=.*)$/gm)];
  expect(rows.length).toBeGreaterThan(2);
  for (const [, name, cells = ''] of rows) {
    const pairs = [...cells.matchAll(/`([A-Z_]+)=([^`]*)`/g)].map(([, key, value]) => [key, value]);
    const accepted = issuers.find((issuer) => issuer.name === name)?.forms.filter(({ outcome }) => outcome === '200');
    expect(accepted).toContainEqual(expect.objectContaining({ settings: Object.fromEntries(pairs) }));
  }
});
