import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { refusals } from '../../src/auth/refusals.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { createSilentService } from '../support/in-process.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { mintToken } from '../support/mint.ts';
import { signAs, signingKey } from '../support/signatures.ts';

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

interface Form {
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly answer: string;
  /** A string is no signed JWT. */
  token: Token | string | undefined;
}

const root = join(import.meta.dir, '../..');
const page = await Bun.file(join(root, 'docs/issuers.md')).text();
const sections = page.split(/^## /m).filter((section) => section.includes('```dotenv\n'));
const FORM_OR_BLOCK =
  /^\*\*(?<name>.+)\*\*: (?<answer>.+?)\. |^```(?<kind>dotenv|json|text)\n(?<text>[\s\S]*?)\n```$/gm;
const WITHOUT_SCOPE = '200 on `/api/private`, 403 on `/api/private-scoped`';
const ANSWERS: Readonly<Record<string, readonly [open: string, scoped: string]>> = {
  '200': ['200', '200'],
  [WITHOUT_SCOPE]: ['200', 'Unauthorized'],
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

/** Returns the forms of an issuer: what is bold, with the settings above it and the token below it. */
function formsOf(section: string): readonly Form[] {
  const forms: Form[] = [];
  let settings: Form['settings'] = {};
  let complete: Token | undefined;
  for (const { groups: { name, answer, kind, text = '' } = {} } of section.matchAll(FORM_OR_BLOCK)) {
    const form = forms.at(-1);
    if (name !== undefined && answer !== undefined) forms.push({ name, answer, settings, token: complete });
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
  const signer = signingKey(header.alg, 'issuer');
  return mintToken('', {
    header: { typ: undefined, kid: undefined, ...header },
    claims: { aud: undefined, sub: undefined, scope: undefined, ...claims },
    signWith: (input) => signAs(header.alg, signer, input),
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

async function hold({ settings, answer, token }: Form): Promise<void> {
  const service = createSilentService(settings, typeof token === 'object' ? fetchFor(token) : undefined);
  const headers = bearer(typeof token === 'object' ? mint(token) : String(token));
  try {
    for (const [index, path] of ['/api/private', '/api/private-scoped'].entries()) {
      const response = await service.fetch(new Request(`http://localhost${path}`, { headers }));
      const code = ANSWERS[answer]?.[index];
      const hint = typeof token === 'object' ? '' : token?.split('.').length === 5 ? 'encrypted' : 'opaque';
      expect(await response.clone().text()).toContain(hint);
      if (code === '200') await expectMessage(response);
      else await expectError(response, code === 'Unauthorized' ? 403 : 401, String(code));
    }
  } finally {
    service.stop();
  }
}

for (const { name: issuer, forms } of issuers) {
  describe(issuer, () => {
    for (const form of forms) test(`${form.name}: ${form.answer}`, () => hold(form));
  });
}

test('every form of the page is read, and each issuer has one that works', () => {
  for (const { name, section, forms } of issuers) {
    expect(section.match(/^\*\*|^ *- \*\*/gm)?.length, name).toBe(forms.length);
    const answers = forms.map(({ answer }) => answer);
    expect(Object.keys(ANSWERS), name).toEqual(expect.arrayContaining(answers));
    expect(answers, name).toContain(name === 'Kubernetes service accounts' ? WITHOUT_SCOPE : '200');
    expect(new Set(forms.map((form) => form.name)).size, name).toBe(forms.length);
    expect(page).toContain(`[${name}](#${name.toLowerCase().replaceAll(' ', '-')})`);
  }
});

test('each issuer says how much of it is known, and only what a test runs is a real server', async () => {
  const servers = await Bun.file(join(root, 'tests/issuers/real-servers.issuer.ts')).text();
  for (const { name, section } of issuers) {
    const server = servers.includes(`'${name}'`) ? 'a real server, and from ' : '';
    expect(section).toMatch(new RegExp(`^Known from ${server}documentation, read on 20\\d\\d-\\d\\d-\\d\\d: <`, 'm'));
  }
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
  const readme = await Bun.file(join(root, 'README.md')).text();
  const rows = [...readme.matchAll(/^\| *([^|]+?) *\|(.*`ISSUER=.*`AUDIENCE=.*)$/gm)];
  expect(rows.length).toBeGreaterThan(2);
  for (const [, name, cells = ''] of rows) {
    const pairs = [...cells.matchAll(/`([A-Z_]+)=([^`]*)`/g)].map(([, key, value]) => [key, value]);
    const accepted = issuers.find((issuer) => issuer.name === name)?.forms.filter(({ answer }) => answer === '200');
    expect(accepted).toContainEqual(expect.objectContaining({ settings: Object.fromEntries(pairs) }));
  }
});
