import { type Forgery, strangersKey } from '../forge/forge.ts';
import { type IssuerMode, rotate, sideKey } from '../issuer/served-issuer.ts';
import type { Trial } from '../row/row.ts';
import { acceptedTokens, finding, isServed, requests } from '../row/topic.ts';

// Which of the keys that an issuer publishes may verify a token, and what tokens make a server fetch.

const isIntrusive = (trial: Trial) =>
  isServed(trial) ?? (trial.isIntrusive ? undefined : 'Unknown kids in number, and huge responses: --intrusive');
const tooSoon = 'The API did not fetch the keys again so soon';
const unknownKid: Forgery = () => ({ header: { kid: `unknown-${Math.random()}` } });
const verdictOf = { served: 'passed', refused: 'failed', unclear: 'inconclusive' } as const;

/** Fails if, after the API fetched this response in place of the keys, a good token is refused or a bad one is not. */
const afterFetching = (mode: IssuerMode, kid?: string) =>
  finding('success with a good token, and with no other', 2, async ({ server, send }) => {
    if (!server) return { verdict: 'skipped', got: '' };
    const { fetches, mode: usual } = server;
    server.mode = mode;
    const other = await send({
      token: ({ header }) => ({ header: { kid: kid ?? `unknown-${Math.random()}` }, key: strangersKey(header.alg) }),
    });
    const good = await send({ token: {} });
    server.mode = usual;
    if (other.outcome === 'served') return { verdict: 'failed', got: `${other.words} with the other` };
    // In an outage, the keys are used without a fetch, too.
    if (server.fetches === fetches && mode.status !== 500) return { verdict: 'skipped', got: tooSoon };
    return { verdict: verdictOf[good.outcome], got: good.words };
  });
const keeps = {
  level: 'should',
  rule: 'RFC 9111 §4.2.4',
  remedy: 'Give the client of the keys a cache and a timeout (cacheMaxAge and timeoutDuration in jose)',
  ownCode: 'Keep the keys if a fetch fails, follow no redirect, and limit the size and time of a fetch',
} as const;

/** At the beginning of a run: the API fetches the keys once more. */
export const rotationRows = requests(
  'key',
  {
    rule: 'OpenID Connect Core §10.1.1',
    needs: 'issuer',
    level: 'should',
    remedy: 'Let a client for JWK Sets fetch them (createRemoteJWKSet of jose, jwks-rsa, PyJWKClient)',
    ownCode: 'Fetch the keys again for an unknown kid, at most once in a while',
    skip: isServed,
  },
  {
    rotated: {
      sent: 'a token by a key that the issuer has just published',
      ...finding('success: the keys are fetched again', 1, async (trial) => {
        if (!trial.server) return { verdict: 'skipped', got: '' };
        const { fetches } = trial.server;
        rotate(trial.server);
        const found = await acceptedTokens(() => ({ header: { kid: 'probe-rotated' }, key: sideKey('rotated') })).run(
          trial,
        );
        return found.verdict === 'failed' && trial.server.fetches === fetches
          ? { verdict: 'skipped', got: tooSoon }
          : found;
      }),
    },
  },
);

/** At the end of a run: after them, a server may not fetch for a while. */
export const fetchRows = [
  ...requests(
    'kid',
    {
      rule: 'CWE-400',
      needs: 'issuer',
      level: 'should',
      remedy: 'Limit the fetches (cooldownDuration in jose, rateLimit in jwks-rsa)',
      ownCode: 'Fetch keys for an unknown kid at most once in a while',
    },
    {
      flood: {
        sent: 'ten tokens with unknown kids',
        ...finding('at most two fetches of the keys', 10, async ({ server, send }) => {
          const before = server?.fetches ?? 0;
          for (let sent = 0; sent < 10; sent += 1) await send({ token: unknownKid });
          const fetches = (server?.fetches ?? 0) - before;
          return { verdict: fetches > 2 ? 'failed' : 'passed', got: `${fetches} fetches` };
        }),
        skip: isIntrusive,
      },
    },
  ),
  ...requests(
    'fetch',
    {
      rule: 'RFC 8725 §3.10; CWE-918',
      needs: 'issuer',
      remedy: 'Name the URL of the keys, and turn off jku and x5u',
      ownCode: 'Never request a URL that a token names',
      skip: isServed,
    },
    {
      'token-urls': {
        sent: 'all tokens so far that name URLs of an attacker',
        ...finding('no request to these URLs (CVE-2025-59936, CVE-2024-21643)', 0, async ({ server }) => {
          const asked = server?.requests.filter((path) => path.includes('elsewhere')).length ?? 0;
          return { verdict: asked > 0 ? 'failed' : 'passed', got: `${asked} requests` };
        }),
      },
      outage: {
        sent: 'a good token while the issuer fails',
        ...afterFetching({ kind: 'response', status: 500 }),
        ...keeps,
      },
      malformed: {
        sent: 'a good token after a response that is not a key set',
        ...afterFetching({ kind: 'response', text: '{"keys":[null,{"kty":1}]}' }),
        ...keeps,
      },
      redirect: {
        sent: "a good token after a redirect to an attacker's keys, and one by these",
        ...afterFetching({ kind: 'response', status: 302, headers: { location: '/elsewhere' } }, 'redirected'),
        ...keeps,
      },
      huge: {
        sent: 'a good token after a response of 40 MB in place of the keys',
        ...afterFetching({ kind: 'huge' }),
        ...keeps,
        skip: isIntrusive,
      },
    },
  ),
];
