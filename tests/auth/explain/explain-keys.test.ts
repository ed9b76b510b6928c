import { describe, expect, test } from 'bun:test';
import { explainToken } from '../../../src/auth/explain.ts';
import type { GuardOptions } from '../../../src/auth/index.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID, signingKeys, type TokenOverrides } from '../../support/mint.ts';

const origin = 'https://issuer.example.test';
const issuer = `${origin}/tenant`;
const openid = `${issuer}/.well-known/openid-configuration`;
const elsewhere = `${origin}/keys`;

/** Returns why a token is rejected: what is said of its key, and the advice. Any URL without a document is a 404. */
async function explain(
  documents: Readonly<Record<string, unknown>>,
  options: Partial<GuardOptions> = {},
  token: TokenOverrides = {},
) {
  const fetch = async (url: string) =>
    url in documents ? Response.json(documents[url]) : new Response(null, { status: 404 });
  const text = mintToken(String(options.issuer ?? issuer), token);
  const given = { issuer, audience: AUDIENCE, fetch, ...options };
  const { status, checks, advice } = await explainToken(text, given, { words: 'settings' });
  const { words = '' } = checks.find(({ name }) => name === 'key') ?? {};
  return { status, words, advice };
}

const published = (...keys: readonly object[]) => ({ [elsewhere]: { keys } });
const own = signingKeys()[0] ?? {};
const named = { jwksUri: elsewhere };
const good = publish(rsaKey('good'), 'good', { alg: 'RS256' });

const setting = `JWKS_URI is not the URL of the keys of ${issuer}: leave it out, or copy jwks_uri of the issuer's metadata`;
const repair = 'the issuer must repair its key set, because no setting can: ';

describe('explainToken() says of keys', () => {
  test('each URL that was tried with its answer, and that JWKS_URI names them, if they are nowhere', async () => {
    const { status, words, advice } = await explain({});
    expect(status).toBe(503);
    const tried = [
      openid,
      `${origin}/.well-known/oauth-authorization-server/tenant`,
      `${origin}/.well-known/openid-configuration/tenant`,
      `${issuer}/.well-known/jwks.json`,
    ].map((url) => `${url} returned the status 404`);
    expect(words).toBe(`rejected: ${tried[0]}. Tried: ${tried.join('; ')}`);
    expect(advice).toBe(
      `${issuer} has no metadata. If this is the iss of the token, the documentation of the issuer names the URL of its key set: set JWKS_URI to it`,
    );
  });

  test.each([
    ['a slash more', `${issuer}/`, issuer],
    ['a slash less', issuer, `${issuer}/`],
  ])('to keep ISSUER if the token has it, and metadata have %s', async (_, inMetadata, configured) => {
    const documents = { [openid]: { issuer: inMetadata, jwks_uri: elsewhere }, ...published(own) };
    const { status, words, advice } = await explain(documents, { issuer: configured });
    expect(status).toBe(503);
    expect(words).toStartWith(
      `rejected: ${openid} names the issuer ${inMetadata}, but ISSUER is ${configured}. Tried: `,
    );
    expect(advice).toBe(`keep ISSUER, which is the iss of the token, and set JWKS_URI to the jwks_uri of ${openid}`);
    expect((await explain(documents, { issuer: configured, ...named })).status).toBe(200);
  });

  test.each<[name: string, document: unknown, words: string, advice: string]>([
    [
      'metadata',
      { issuer, jwks_uri: elsewhere },
      'is metadata, not a key set: leave JWKS_URI out',
      'leave JWKS_URI out: the keys are then found by ISSUER',
    ],
    ['a set without keys', { error: 'no' }, 'is an object without keys', setting],
    ['an empty set', { keys: [] }, 'is a key set without a key', `${repair}${elsewhere} is a key set without a key`],
    ['one key', own, 'is a single key, not a key set', setting],
    ['a list', [own], 'is a list, not a key set', setting],
    ['certificates', { k: '-----BEGIN CERTIFICATE-----' }, 'has PEM certificates by key ID', setting],
    [
      'keys that cannot be used',
      { keys: [{ ...own, kid: 'k1', use: 'enc' }, { ...own, kid: undefined }, publish(rsaKey('weak', 1024), 'k3')] },
      'has no usable key: k1: use is enc, key 2: no kid, k3: 1024 bits',
      `${repair}${elsewhere} has no usable key: k1: use is enc, key 2: no kid, k3: 1024 bits`,
    ],
  ])('what JWKS_URI names instead of a key set: %s', async (_, document, words, advice) => {
    const explained = await explain({ [elsewhere]: document }, named);
    expect(explained.status).toBe(503);
    expect(explained.words).toStartWith(`rejected: ${elsewhere} ${words}`);
    expect(explained.advice).toEndWith(advice);
  });

  const page = new Response('<html>', { headers: { 'content-type': 'text/html' } });
  test.each<[name: string, response: () => Response, advice: string]>([
    ['nothing', () => new Response(null, { status: 404 }), `${repair}${elsewhere} returned the status 404`],
    ['a rejection', () => new Response(null, { status: 403 }), `${repair}${elsewhere} returned the status 403`],
    ['a page', () => page.clone() as Response, `${repair}${elsewhere} is an HTML page, not JSON`],
    ['a redirect', () => Response.redirect(issuer), 'redirects (status 302), and redirects are not followed'],
    ['an empty set', () => Response.json({ keys: [] }), `${repair}${elsewhere} is a key set without a key`],
    ['one key', () => Response.json(own), 'is a single key, not a key set, which is {"keys":[...]}'],
    [
      'a weak key',
      () => Response.json({ keys: [publish(rsaKey('weak', 1024), 'k')] }),
      'has no usable key: k: 1024 bits',
    ],
    ['an error', () => new Response(null, { status: 500 }), `can be reached from here`],
    ['a limit of requests', () => new Response(null, { status: 429 }), `can be reached from here`],
  ])('that no setting helps if metadata lead to %s', async (name, respond, advice) => {
    const fetch = async (url: string) =>
      url === openid
        ? Response.json({ issuer, jwks_uri: elsewhere })
        : url === elsewhere
          ? respond()
          : new Response(null, { status: 404 });
    const explained = await explainToken(mintToken(issuer), { issuer, audience: AUDIENCE, fetch });
    expect(explained.status).toBe(503);
    expect(explained.advice).toStartWith(/^an? (?:error|limit)/.test(name) ? 'try again later' : repair);
    expect(explained.advice).toEndWith(advice);
    expect(explained.advice).not.toMatch(/algorithms|Check/);
  });

  const unused: readonly (readonly [name: string, key: object, advice: string, token?: TokenOverrides])[] = [
    ['is for encryption', { ...own, use: 'enc' }, `publishes the key ${SIGNING_KID}, but it is not used: use is enc`],
    [
      'has another algorithm',
      { ...own, alg: 'PS256' },
      `publishes the key ${SIGNING_KID}, but it is not used: alg is PS256`,
    ],
    ['is weak', publish(rsaKey('weak', 1024), SIGNING_KID), 'but it is not used: 1024 bits'],
    [
      'is weak, and for this issuer',
      publish(rsaKey('weak', 1024), SIGNING_KID, { issuer }),
      'but it is not used: 1024 bits',
    ],
    [
      'is for another issuer',
      { ...own, issuer: `${origin}/other` },
      `publishes the key ${SIGNING_KID}, but for the issuer ${origin}/other`,
    ],
    ['is not there', {}, `another server has signed the token. Check JWKS_URI, or leave it out`],
    [
      'has a number as kid',
      own,
      'configure the issuer to put kid into the header as text, not 7',
      { header: { kid: 7 } },
    ],
    ['has no kid', own, 'configure the issuer to put kid into the header', { header: { kid: undefined } }],
  ];
  for (const [name, key, advice, token] of unused)
    test(`why the one that signed the token is not used: it ${name}`, async () => {
      const explained = await explain(published(good, key), named, token);
      expect(explained.status).toBe(401);
      expect(explained.advice).toEndWith(advice);
    });
});
