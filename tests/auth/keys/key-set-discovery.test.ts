import { describe, expect, test } from 'bun:test';
import { createKeySetSource, type KeySetSourceOptions } from '../../../src/auth/keys/discovery.ts';
import { describeFault, type FetchError } from '../../../src/auth/keys/fetch/fault.ts';

const ORIGIN = 'https://issuer.example.test';
const ISSUER = `${ORIGIN}/tenant`;
const OPENID = `${ISSUER}/.well-known/openid-configuration`;
const OAUTH = `${ORIGIN}/.well-known/oauth-authorization-server/tenant`;
const INSERTED = `${ORIGIN}/.well-known/openid-configuration/tenant`;
const USUAL = `${ISSUER}/.well-known/jwks.json`;
const KEYS = `${ISSUER}//keys?version=2`;
const MOVED = `${ORIGIN}/moved`;

/** By URL: a document, a status or an error. Any other URL is a 404. */
type Documents = Readonly<Record<string, unknown>>;

const keys = { keys: [{ kid: 'a' }] };
const metadata = (overrides = {}) => ({ issuer: ISSUER, jwks_uri: KEYS, ...overrides });
const other = metadata({ issuer: 'https://other.example.test' });
const down = new TypeError('rejected');
const usually = { [OPENID]: metadata(), [KEYS]: keys };
const moved = { [OPENID]: metadata({ jwks_uri: MOVED }), [MOVED]: keys };

/** Returns a function that makes one attempt, and returns which URLs it fetched, and after those how it failed. */
function setUp(options: Partial<KeySetSourceOptions> = {}, issuer = ISSUER) {
  let documents: Documents = {};
  let asked: unknown[] = [];
  const fetch = async (url: string) => {
    asked.push(url);
    const document = documents[url] ?? 404;
    if (document instanceof Error) throw document;
    return typeof document === 'number' ? new Response('', { status: document }) : Response.json(document);
  };
  const source = createKeySetSource(issuer, { jwksUri: undefined, jwksAllowHttp: false, fetch, ...options });
  return async (published: Documents, isAnew?: boolean) => {
    documents = published;
    asked = [];
    try {
      expect(await source(new AbortController().signal, isAnew)).toEqual({ url: String(asked.at(-1)), ...keys });
      return asked;
    } catch (error) {
      return [...asked, (error as FetchError).fault.failure];
    }
  };
}

type Attempt = readonly [documents: Documents, asked: readonly string[], isAnew?: boolean];

const metadataUrls = [OPENID, OAUTH, INSERTED];

const attempts: Readonly<Record<string, readonly Attempt[]>> = {
  'finds the keys that its OpenID metadata name, and then requests only those': [
    [usually, [OPENID, KEYS]],
    [usually, [KEYS]],
    [usually, [KEYS]],
  ],
  'finds the keys that its RFC 8414 metadata name, and then requests only those': [
    [{ [OAUTH]: metadata(), [KEYS]: keys }, [OPENID, OAUTH, KEYS]],
    [usually, [KEYS]],
  ],
  'finds the keys that metadata name at the place of RFC 8414 for OpenID, the last of the metadata': [
    [{ [INSERTED]: metadata(), [KEYS]: keys }, [OPENID, OAUTH, INSERTED, KEYS]],
    [usually, [KEYS]],
  ],
  'finds the keys below an issuer without a slash that has no metadata, and then requests only those': [
    [{ [USUAL]: keys }, [...metadataUrls, USUAL]],
    [{ [USUAL]: keys }, [USUAL]],
    [{ ...usually, [USUAL]: 404 }, [USUAL, OPENID, KEYS]],
  ],
  'finds the keys below an issuer whose metadata name no key set': [
    [{ [OPENID]: metadata({ jwks_uri: undefined }), [USUAL]: keys }, [...metadataUrls, USUAL]],
  ],
  'prefers its RFC 8414 metadata to OpenID metadata of another issuer': [
    [{ [OPENID]: other, [OAUTH]: metadata(), [KEYS]: keys }, [OPENID, OAUTH, KEYS]],
  ],
  'follows a key set that moved within the attempt that finds it gone': [
    [usually, [OPENID, KEYS]],
    [moved, [KEYS, OPENID, MOVED]],
    [moved, [MOVED]],
  ],
  'looks again when the key set that the metadata name fails at first': [
    [{ ...usually, [KEYS]: 500 }, [OPENID, KEYS, 'status']],
    [usually, [OPENID, KEYS]],
  ],
  'looks up the URL again when it must forget where the keys were': [
    [usually, [OPENID, KEYS]],
    [moved, [OPENID, MOVED], true],
  ],
};

const belowSlash: Readonly<Record<string, readonly Attempt[]>> = {
  'requests the usual place, even if there are metadata': [
    [{ ...usually, [USUAL]: keys }, [USUAL]],
    [{ ...usually, [USUAL]: keys }, [USUAL]],
  ],
  'looks for metadata within the attempt in which the usual place has no key set any more': [
    [{ [USUAL]: keys }, [USUAL]],
    [{ [USUAL]: 302, [OPENID]: metadata({ issuer: `${ISSUER}/` }), [KEYS]: keys }, [USUAL, OPENID, KEYS]],
  ],
  'forgets where metadata named the keys once the usual place has them': [
    [{ [OPENID]: metadata({ issuer: `${ISSUER}/` }), [KEYS]: keys }, [USUAL, OPENID, KEYS]],
    [{ ...usually, [USUAL]: keys }, [USUAL], true],
    [{ ...usually, [USUAL]: keys }, [USUAL]],
  ],
  'does not look for metadata while there is no connection': [[{ ...usually, [USUAL]: down }, [USUAL, 'network']]],
  ...Object.fromEntries(
    [404, 401, 403, 410, 503, 302, 'a page', {}, []].map((usual) => [
      `looks for metadata if the response of the usual place is ${JSON.stringify(usual)}`,
      [
        [{ [USUAL]: usual, [OPENID]: metadata({ issuer: `${ISSUER}/` }), [KEYS]: keys }, [USUAL, OPENID, KEYS]],
        [usually, [KEYS]],
      ] as const,
    ]),
  ),
  'reports the first fault if there are no metadata either': [[{ [USUAL]: 302 }, [USUAL, ...metadataUrls, 'redirect']]],
  'reports metadata of another issuer rather than what is at the usual place': [
    [{ [USUAL]: 'a page', [OPENID]: other }, [USUAL, ...metadataUrls, 'issuer_mismatch']],
  ],
  'reports the fault of the key set that metadata name rather than what is at the usual place': [
    [{ [USUAL]: 302, [OPENID]: metadata({ issuer: `${ISSUER}/` }), [KEYS]: 500 }, [USUAL, OPENID, KEYS, 'status']],
  ],
};

const all = [...metadataUrls, USUAL];

/**
 * How metadata can fail: the first two documents, and the requests. fetch-json.test.ts has the faults of a single
 * response.
 */
const faults: readonly (readonly [failure: string, first: unknown, second: unknown, asked?: readonly string[]])[] = [
  ['status', 404, 404],
  ['status', 500, 500],
  ['status', 500, other, metadataUrls],
  ['redirect', 302, 302],
  ['redirect', 302, 500],
  ['malformed', 'a page', 302],
  ['issuer_mismatch', other, other, metadataUrls],
  ['issuer_mismatch', metadata({ issuer: undefined }), 404, metadataUrls],
  ['issuer_mismatch', other, 404, metadataUrls],
  ['issuer_mismatch', 404, other, metadataUrls],
  ['malformed', [], []],
  ['malformed', 404, 'text'],
  ['malformed', metadata({ jwks_uri: undefined }), 404],
  ['malformed', metadata({ jwks_uri: [KEYS] }), 404],
  ['issuer_mismatch', other, down, [OPENID, OAUTH]],
  ['network', down, metadata(), [OPENID]],
];

/** Whether the metadata of an issuer may name a URL. */
const allowed: readonly (readonly [named: string, issuer?: string, allowHttp?: boolean])[] = [
  ...['keys', 'localhost', '0.0.0.0'].map((label) => [`https://${label}.example.test/`] as const),
  ['https://10.0.0.0/'],
  ['http://keys.example.test/', ORIGIN, true],
  ['http://127.0.0.1:81/keys', 'http://localhost:80'],
  ['http://localhost/keys', 'http://[::1]'],
];
const rejected: typeof allowed = [
  ...['https://keys;img-src.example.test/', 'https://*.example.test/', "https://a'b.test/", 'https://a,b.test/'].map(
    (named) => [named] as const,
  ),
  ...['http://keys.example.test/', '/keys', 'file:///etc/passwd'].map((named) => [named] as const),
  ['xhttp://keys.example.test/', ORIGIN, true],
  ...['127.0.0.1', '127.1', '2130706433', 'localhost:6379', 'localhost.', 'keys.localhost', '0.0.0.0'].flatMap(
    (host) => [[`http://${host}/keys`, ORIGIN, true] as const, [`https://${host}/`] as const],
  ),
  ...['[::1]', '[::]', '[::ffff:127.1.2.3]', '[::ffff:0.0.0.0]'].map((host) => [`https://${host}/keys`] as const),
  ...['127.0.0.1.test', '128.0.0.1', '[::2]'].map((host) => [`http://${host}/`, 'http://localhost'] as const),
];

describe('createKeySetSource()', () => {
  for (const [slash, rows] of Object.entries({ '': attempts, '/': belowSlash }))
    for (const [name, steps] of Object.entries(rows))
      test(`${name}${slash && ', for an issuer with a slash'}`, async () => {
        const attempt = setUp({}, ISSUER + slash);
        for (const [documents, asked, isAnew] of steps) expect(await attempt(documents, isAnew)).toEqual([...asked]);
      });

  for (const [failure, first, second, asked = all] of faults)
    test(`fails with ${failure} for the metadata ${JSON.stringify([first, second])}, and recovers`, async () => {
      const attempt = setUp();
      expect(await attempt({ [OPENID]: first, [OAUTH]: second })).toEqual([...asked, failure]);
      expect(await attempt(usually)).toEqual([OPENID, KEYS]);
    });

  for (const [outcome, rows] of Object.entries({ fetches: allowed, insecure_address: rejected }))
    for (const [named, issuer = ORIGIN, allowHttp = false] of rows)
      test(`${outcome}: ${named} named by ${issuer}${allowHttp ? ', plain http allowed' : ''}`, async () => {
        const document = `${issuer}/.well-known/openid-configuration`;
        const attempt = setUp({ jwksAllowHttp: allowHttp }, issuer);
        expect(await attempt({ [document]: { issuer, jwks_uri: named }, [named]: keys })).toEqual([
          document,
          outcome === 'fetches' ? named : outcome,
        ]);
      });

  for (const [overrides, failure, found] of [
    [{ issuer: `\u202e~${'x'.repeat(300)}` }, 'issuer_mismatch', `\\u202e~${'x'.repeat(254)}`],
    [{ jwks_uri: 'http://user:secret@keys.example.test/a?b#c' }, 'insecure_address', 'http://keys.example.test/a'],
    [{ jwks_uri: '/keys?a\n' }, 'insecure_address', '/keys'],
  ] as const)
    test(`names the URL that was fetched, and what its metadata name, for ${failure}: ${found}`, async () => {
      const fetch = async (url: string) =>
        url === OPENID ? Response.json(metadata(overrides)) : new Response('', { status: 404 });
      const attempt = createKeySetSource(ISSUER, { jwksUri: undefined, jwksAllowHttp: false, fetch })(
        new AbortController().signal,
      );
      await expect(attempt).rejects.toMatchObject({ fault: { failure, address: OPENID, found } });
    });

  test('fetches only the configured URL, even while it is a 404', async () => {
    const attempt = setUp({ jwksUri: MOVED });
    expect(await attempt(usually)).toEqual([MOVED, 'status']);
    expect(await attempt(moved)).toEqual([MOVED]);
  });

  test.each([
    ['https://id.example.test:443/x/', 'https://id.example.test:443/.well-known/oauth-authorization-server/x'],
    ['https://[2001:DB8:0:0::1]:443/x', 'https://[2001:DB8:0:0::1]:443/.well-known/oauth-authorization-server/x'],
    ['http://[0:0:0:0:0:0:0:1]/', 'http://[0:0:0:0:0:0:0:1]/.well-known/oauth-authorization-server'],
    [
      'https://ID.example.test/X/.well-known',
      'https://ID.example.test/.well-known/oauth-authorization-server/X/.well-known',
    ],
  ])('puts the well-known part of RFC 8414 behind the host of %s as it is written', async (issuer, oauth) => {
    const attempt = setUp({}, issuer);
    const documents = { [oauth]: metadata({ issuer }), [KEYS]: keys };
    expect((await attempt(documents)).slice(-2)).toEqual([oauth, KEYS]);
  });

  /** What a server can do instead of a 404, and what is reported of it. */
  const answers: readonly (readonly [name: string, response: () => Response, reported: string])[] = [
    ['a 403', () => new Response('', { status: 403 }), 'returned the status 403'],
    ['a 406', () => new Response('', { status: 406 }), 'returned the status 406'],
    ['a 429', () => new Response('', { status: 429 }), 'returned the status 429'],
    ['a 500', () => new Response('', { status: 500 }), 'returned the status 500'],
    [
      'a redirect',
      () => Response.redirect(`${ORIGIN}/login`),
      'redirects (status 302), and redirects are not followed',
    ],
    [
      'a compressed response',
      () => new Response('{}', { headers: { 'content-encoding': 'gzip' } }),
      'returned a compressed response (Content-Encoding: gzip), although the request accepts only identity: turn compression off for it at the server, or at the proxy in front of it',
    ],
    ['a page', () => new Response('<!doctype html>'), 'is an HTML page, not JSON'],
  ];
  for (const slash of ['', '/'])
    test.each(answers)(
      `reports %s in place of metadata, and what was wrong with each URL, for an issuer with the end "${slash}"`,
      async (_, response, reported) => {
        const missing = (url: string) => `${url} returned the status 404`;
        const fetch = async (url: string) => (url === OPENID ? response() : new Response('', { status: 404 }));
        const source = createKeySetSource(ISSUER + slash, { jwksUri: undefined, jwksAllowHttp: false, fetch });
        const { fault } = (await source(new AbortController().signal).then(
          String,
          (error: FetchError) => error,
        )) as FetchError;
        const told = `${OPENID} ${reported}`;
        expect(describeFault(fault)).toBe(told);
        const metadata = [told, missing(OAUTH), missing(INSERTED)];
        expect(fault.tried).toEqual(slash ? [missing(USUAL), ...metadata] : [...metadata, missing(USUAL)]);
      },
    );
});
