import { describe, expect, test } from 'bun:test';
import { createGuard, type GuardOptions, optionsFromEnvironment } from 'protected-api';
import { explainToken } from 'protected-api/explain';
import { site } from '../../docs/.vitepress/pages.ts';
import { type Issuer, type IssuerToken, issuerPages, issuers, pageOf } from '../../scripts/issuer-pages.ts';
import { otherApiOf } from '../../src/auth/explain/checks/explained.ts';
import { dependencies } from '../issuers/package.json';
import { realServers } from '../issuers/servers/real.ts';
import { publish, rsaKey, signingKey } from '../support/keys.ts';
import { bearer, mintToken, SCOPE } from '../support/mint.ts';
import { bound, proven } from '../support/proof.ts';
import { readText } from '../support/repository.ts';
import { otherTokens, type Signed } from './other-tokens.ts';

/** Returns the token with a real signature. */
function textOf(token: IssuerToken): string {
  if (token.text !== undefined) return token.text;
  const { header, claims } = token;
  const cnf = claims.cnf && { ...claims.cnf, ...bound };
  return mintToken('', {
    header: { typ: undefined, kid: undefined, ...header },
    claims: { aud: undefined, sub: undefined, scope: undefined, ...claims, cnf },
    signedAs: header.alg,
    key: signingKey(header.alg, token.signedBy ?? 'issuer'),
  });
}

/** Serves what the issuer publishes when it signs this token, and nothing else. */
function fetchFor({ published }: Issuer, token: IssuerToken) {
  const { alg, kid } = token.text === undefined ? token.header : { alg: 'RS256', kid: 'a key' };
  const encryption = publish(rsaKey('encryption'), 'encryption key', { use: 'enc', alg: 'RSA-OAEP' });
  const documents = new Map<string | undefined, unknown>();
  for (const { issuer, jwks_uri, metadata, key, encryption_key } of token.published ?? published) {
    const signing = publish(signingKey(alg, 'issuer'), String(kid ?? 'a key'), key?.alg ? { ...key, alg } : key);
    documents.set(jwks_uri, { keys: encryption_key ? [encryption, signing] : [signing] });
    documents.set(metadata, { issuer, jwks_uri });
  }
  return async (url: string) =>
    documents.has(url) ? Response.json(documents.get(url)) : new Response(null, { status: 404 });
}

describe.each(issuers)('$name', (issuer) => {
  test.each(issuer.tokens)('$name: $rejected', async (token) => {
    const settings = { ...issuer.settings, ...token.settings };
    const fetch = fetchFor(issuer, token);
    const text = textOf(token);
    const paths = ['/api/private', '/api/private-scoped'];
    const headersFor = (path: string) =>
      settings.DPOP === 'on' ? proven(text, `${settings.PUBLIC_URL}${path}`) : bearer(text);
    const scoped = token.rejected ?? (token.withoutScope ? 'scope_insufficient' : undefined);
    const expected = [token.rejected, scoped];

    const reasons: (string | undefined)[] = [];
    const guard = createGuard({
      ...optionsFromEnvironment(settings),
      fetch,
      onRejected: (_, reason) => void reasons.push(reason),
    });
    for (const [index, path] of paths.entries()) {
      const request = new Request(`https://api.example.com${path}`, { headers: headersFor(path) });
      const result = await guard.check(request, index === 0 ? {} : { scope: SCOPE });
      if (!(result instanceof Response)) reasons.push(undefined);
    }
    expect(reasons).toEqual(expected);
  });
});

/** Returns why a guard with these settings rejects a token whose key its issuer publishes, or undefined. */
async function reasonFor(settings: Readonly<Record<string, string>>, { header, claims }: Omit<Signed, 'name'>) {
  let reason: string | undefined;
  const { ISSUER = '', JWKS_URI: _, ...others } = settings;
  const { kid = 'a key', alg } = header;
  const key = publish(signingKey(alg, 'issuer'), String(kid));
  const issuer = { issuer: ISSUER, keys: { keys: [key] } };
  const options = optionsFromEnvironment({ ...others, ISSUER: 'https://issuer.invalid/' });
  const onRejected = (_request: object, rejected: string) => {
    reason = rejected;
  };
  const headers = bearer(textOf({ name: '', header: { kid, ...header }, claims }));
  await createGuard({ ...options, issuer: [issuer], onRejected }).check(
    new Request('https://api.example.com/', { headers }),
  );
  return reason;
}

test.each(issuers)('$name: each other token is rejected, or its page says so', async (issuer) => {
  const accepted = new Set<string>();
  for (const token of issuer.tokens) {
    const settings = { ...issuer.settings, ...token.settings };
    if (token.text !== undefined || token.rejected || settings.DPOP) continue;
    expect(await reasonFor(settings, token)).toBeUndefined();
    for (const { kind, ...other } of otherTokens(issuer, token, settings)) {
      const reason = await reasonFor(settings, other);
      if (reason === undefined) accepted.add(kind);
      else
        expect(reason, kind).toMatch(
          /^(?:audience|required_claim)_mismatch$|^(?:type_unsupported|scope_insufficient)$/,
        );
    }
  }
  if (issuer.tokens.some(({ withoutScope }) => withoutScope)) accepted.delete('withoutScope');
  const noted = Object.entries(issuer.others ?? {}).filter(([, other]) => other?.note !== undefined);
  expect([...accepted].toSorted()).toEqual(noted.map(([kind]) => kind).toSorted());
});

test.each(issuers)('$name: an audience that everybody has is warned of', ({ settings, tokens, others }) => {
  for (const token of tokens.filter(({ rejected }) => rejected === undefined)) {
    const { AUDIENCE = '' } = { ...settings, ...token.settings };
    if (AUDIENCE.split(',').some(otherApiOf))
      expect(`${token.note} ${others?.anotherClient?.note}`).toMatch(/\bEvery\b/);
  }
});

const restricted = issuers.flatMap((issuer) => {
  const [, name] = /`REQUIRED_CLAIMS=(\w+)=/.exec(issuer.others?.anotherClient?.note ?? '') ?? [];
  return name === undefined ? [] : [[issuer.name, name, issuer] as const];
});
test.each(restricted)('%s: %s tells its clients apart', async (_, name, issuer) => {
  const named = issuer.tokens.filter((token) => token.text === undefined && !token.rejected && name in token.claims);
  const [token] = named as Signed[];
  if (token === undefined) throw new Error(`No token has ${name}`);
  const settings = { ...issuer.settings, ...token.settings, REQUIRED_CLAIMS: `${name}=${token.claims[name]}` };
  const stranger = otherTokens(issuer, token, settings).find(({ kind }) => kind === 'anotherClient');
  expect(await reasonFor(settings, token)).toBeUndefined();
  expect(await reasonFor(settings, stranger ?? token)).toBeDefined();
});

/** Issuers whose keys no document names, so that explain cannot tell where they are. */
const withKeysElsewhere = 'google azure-b2c identity-proxies sap adfs nextcloud oracle'.split(' ');
test.each(issuers)('explainToken() suggests options, and settings, that accept a token of $name', async (issuer) => {
  const [token] = issuer.tokens;
  if (token === undefined) throw new Error('No token');
  const text = textOf(token);
  const { status, isAccepted, suggestion, render } = await explainToken(text, {}, { words: 'settings' });
  expect({ status, isAccepted }).toEqual({ status: undefined, isAccepted: false });
  const lines = render().split('\n');
  for (const [name, value] of Object.entries(suggestion?.settings ?? {}))
    expect(lines.filter((line) => [`${name}=${value}`, `${name}='${value}'`].includes(line))).toHaveLength(1);
  if (suggestion?.page !== undefined) expect(suggestion.page).toBe(site + pageOf(issuer.slug));
  expect(suggestion?.settings).not.toContainValue(expect.stringMatching(/\{\w+\}/));
  const fetch = fetchFor(issuer, token);
  const { JWKS_URI = '' } = withKeysElsewhere.includes(issuer.slug) ? issuer.settings : {};
  const suggested = { ...(suggestion?.options as GuardOptions), ...(JWKS_URI && { jwksUri: JWKS_URI }) };
  for (const options of [suggested, optionsFromEnvironment({ ...suggestion?.settings, JWKS_URI })])
    expect((await explainToken(text, { ...options, fetch })).status).toBe(200);
});

/** Formatting takes most of the time. */
const pages = [...(await issuerPages())];
test('`bun run docs` has written the facts of each page as it would now', async () => {
  for (const [path, text] of pages) expect(await readText(path), path).toBe(text);
});

test.each(issuers)(
  '$name has settings and options, and rows with an accepted token first, each once',
  async (issuer) => {
    const { slug, tokens, seen } = issuer;
    expect(tokens[0]?.rejected).toBeUndefined();
    expect(new Set(tokens.map((token) => token.name)).size).toBe(tokens.length);
    // Only what a test runs is a real server.
    const run =
      slug === 'better-auth' ? dependencies['better-auth'] : realServers.find(({ page }) => page === slug)?.version;
    expect(seen?.version).toBe(run);
    for (const [page = '', text] of pages) {
      if (!page.startsWith(`docs/${pageOf(slug).split('#')[0]}.`)) continue;
      const from = `generated from tests/docs/issuers/${slug}.json`;
      const blocks = new RegExp(
        `<!-- settings: ${from} -->\n\n\`\`\`dotenv\nISSUER=[^\`]*\`\`\`\n\n\`\`\`ts fragment\nconst guard`,
      );
      expect(text).toMatch(blocks);
      // The settings are wide, and would push the response off the screen.
      expect(text).toMatch(
        new RegExp(`<!-- tokens: ${from} -->\n\n\\| Token +\\| Response +\\| Why, or what to do +\\|`),
      );
    }
  },
);

test('the index names each real server with the version that is run', async () => {
  const index = await readText('docs/issuers/index.md');
  const rows = index.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  const named = rows.map(([, name = '', version = '']) => `${name.replace(/^\[(.*?)\].*/, '$1')} ${version}`);
  expect(named).toEqual(expect.arrayContaining(realServers.map(({ name, version }) => `${name} ${version}`)));
});
