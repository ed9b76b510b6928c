import { createHmac } from 'node:crypto';
import { type Forgery, strangersKey } from '../forge.ts';
import { acceptedTokens, finding, headers, type Row, type Trial, topic } from '../row.ts';
import { haveSideKeys, type IssuerMode, publishedSecret, rotate, sideKey } from '../served-issuer.ts';

// Which of the keys that an issuer publishes may verify a token, and what tokens make a server fetch.

const by =
  (name: string, kid: string): Forgery =>
  () => ({ header: { kid: `probe-${kid}` }, key: sideKey(name) });

const isServed = ({ server }: Trial) => (server ? undefined : 'The issuer publishes its keys in memory: --serve-issuer');
const isFetched = (trial: Trial) => isServed(trial) ?? (trial.server && haveSideKeys(trial.server) ? undefined : 'The API has not fetched the keys of these rows');
const isIntrusive = (trial: Trial) => isServed(trial) ?? (trial.isIntrusive ? undefined : 'Unknown kids in number, and huge responses: --intrusive');
const tooSoon = 'The API did not fetch the keys again so soon';
const unknownKid: Forgery = () => ({ header: { kid: `unknown-${Math.random()}` } });
const verdictOf = { served: 'passed', refused: 'failed', unclear: 'inconclusive' } as const;

/** Fails if a good token is refused after the API has fetched a response of this kind in place of the keys, or another token is not. */
const afterFetching = (mode: IssuerMode, kid?: string) =>
  finding('success with a good token, and with no other', async ({ server, send }) => {
    if (!server) return { verdict: 'skipped', got: '' };
    const { fetches, mode: usual } = server;
    server.mode = mode;
    const other = await send({ token: ({ header }) => ({ header: { kid: kid ?? `unknown-${Math.random()}` }, key: strangersKey(header.alg) }) });
    const good = await send({ token: {} });
    server.mode = usual;
    if (other.outcome === 'served') return { verdict: 'failed', got: `${other.words} with the other` };
    // In an outage, the keys are used without a fetch, too.
    if (server.fetches === fetches && mode.status !== 500) return { verdict: 'skipped', got: tooSoon };
    return { verdict: verdictOf[good.outcome], got: good.words };
  });
const keeps = { level: 'should', rule: 'RFC 9111 §4.2.4', remedy: 'Keep the keys, follow no redirect, and limit the size and time of a fetch' } as const;

/** Rows at the beginning of a run: the API fetches the keys once more. */
// biome-ignore format: a row is a line.
export const keyRows: readonly Row[] = topic('key', { rule: 'RFC 7517 §4; RFC 8725 §3.1', needs: 'issuer', remedy: 'Use a key only as its use, key_ops and alg say, and RSA keys from 2,048 bits on', skip: isFetched }, {
  rotated: ['a token by a key that the issuer has just published', finding('success: the keys are fetched again', async (trial) => {
    if (!trial.server) return { verdict: 'skipped', got: '' };
    const { fetches } = trial.server;
    rotate(trial.server);
    const found = await acceptedTokens(by('rotated', 'rotated')).run(trial);
    return found.verdict === 'failed' && trial.server.fetches === fetches ? { verdict: 'skipped', got: tooSoon } : found;
  }), { level: 'should', rule: 'OpenID Connect Core §10.1.1', remedy: 'Fetch the keys again for an unknown kid, at most once in a while', skip: isServed }],
  twins: ['tokens by either of two keys under one kid', acceptedTokens(by('first twin', 'twins'), by('second twin', 'twins')), { level: 'should', rule: 'RFC 7517 §4.5' }],
  'neither-twin': ['a token by neither of two keys under one kid', by('rotated', 'twins')],
  other: ['a token by one published key that names another', [by('first twin', 'rotated'), ({ header }) => ({ header: { kid: header.kid }, key: sideKey('rotated') })]],
  weak: ['a token by a key of 1,024 bits (CVE-2022-23539)', by('weak', 'weak'), { rule: 'RFC 7518 §3.3' }],
  encrypting: ['a token by a key for encryption (GHSA-29f5-h73v-w8j9)', by('rotated', 'encrypting'), { level: 'should', rule: 'RFC 7517 §4.2' }],
  wrapping: ['a token by a key whose key_ops lack verify', by('rotated', 'wrapping'), { level: 'should', rule: 'RFC 7517 §4.3' }],
  'other-alg': ['a token by a key for PS256', by('rotated', 'for-ps256')],
  symmetric: ['an HMAC with a secret that the issuer published', () => ({ header: { alg: 'HS256', kid: 'probe-symmetric' }, signWith: (input) => createHmac('sha256', publishedSecret).update(input).digest() })],
});

/** Rows at the end of a run: after them, a server may not fetch for a while. */
// biome-ignore format: a row is a line.
export const lastRows: readonly Row[] = [
  ...topic('kid', { rule: 'RFC 8725 §3.10; RFC 7515 §4.1.4', needs: 'issuer', level: 'should', remedy: 'Look a kid up among the keys of the issuer, as a string and exactly' }, {
    unknown: ['a kid that the issuer never published', headers('kid', 'never-published')],
    path: ['a kid that is a path or a query', headers('kid', '../../../../dev/null', 'file:///dev/null', "' UNION SELECT 'secret' -- ")],
    members: ['a kid that is the name of a member of every object (CVE-2024-34273)', headers('kid', '__proto__', 'constructor', 'hasOwnProperty', 'length', '0')],
    similar: ['a kid that is similar to the right one', ['\0', ' '].map((more): Forgery => ({ header }) => ({ header: { kid: `${header.kid}${more}` } }))],
    type: ['a kid that is not a string', [...headers('kid', 0, true, null, {}), ({ header }) => ({ header: { kid: [header.kid] } })]],
    'unknown-expired': ['an unknown kid, expired', { claims: { exp: 1 }, header: { kid: 'never-published' } }, { level: 'must' }],
    flood: ['ten tokens with unknown kids', finding('at most two fetches of the keys', async ({ server, send }) => {
      const before = server?.fetches ?? 0;
      for (let sent = 0; sent < 10; sent += 1) await send({ token: unknownKid });
      const fetches = (server?.fetches ?? 0) - before;
      return { verdict: fetches > 2 ? 'failed' : 'passed', got: `${fetches} fetches` };
    }), { rule: 'CWE-400', remedy: 'Fetch keys for an unknown kid at most once in a while', skip: isIntrusive }],
  }),
  ...topic('fetch', { rule: 'RFC 8725 §3.10; CWE-918', needs: 'issuer', remedy: 'Never request a URL that a token names', skip: isServed }, {
    'token-urls': ['all tokens so far that name URLs of an attacker', finding('no request to these URLs (CVE-2025-59936, CVE-2024-21643)', async ({ server }) => { const asked = server?.requests.filter((path) => path.includes('elsewhere')).length ?? 0; return { verdict: asked > 0 ? 'failed' : 'passed', got: `${asked} requests` }; })],
    outage: ['a good token while the issuer fails', afterFetching({ kind: 'response', status: 500 }), keeps],
    malformed: ['a good token after a response that is not a key set', afterFetching({ kind: 'response', text: '{"keys":[null,{"kty":1}]}' }), keeps],
    redirect: ["a good token after a redirect to an attacker's keys, and one by these", afterFetching({ kind: 'response', status: 302, headers: { location: '/elsewhere' } }, 'redirected'), keeps],
    huge: ['a good token after a response of 40 MB in place of the keys', afterFetching({ kind: 'huge' }), { ...keeps, skip: isIntrusive }],
  }),
];
