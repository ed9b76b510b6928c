import { type KeyServer, publishNew, rotate, sideKey } from '../issuer/served-issuer.ts';
import type { Answer, Attempt, Finding, Trial } from '../row/row.ts';
import { acceptedTokens, finding, isServed, requests } from '../row/topic.ts';

// What becomes of an API when the issuer publishes keys, withdraws them, or has one that the API does not know.

export const tooSoon = 'The API did not fetch the keys again so soon (--patient waits for it)';
const oneKey = 'The API has one key, and looks none up';

/** At the beginning of a run: the API fetches the keys once more. */
export const rotationRows = requests(
  'key',
  {
    rule: 'OpenID Connect Core §10.1.1',
    needs: 'issuer',
    level: 'should',
    remedy: 'Let a client for JWK Sets fetch the keys again for a kid that it does not know',
    ownCode: 'Fetch the keys again for an unknown kid, at most once in a while',
    skip: isServed,
  },
  {
    rotated: {
      sent: 'a token by a key that the issuer has just published',
      ...finding('success: the keys are fetched again', 1, async (trial) => {
        const { server, patience } = trial;
        if (!server) return { verdict: 'skipped', got: '' };
        if (server.fetches === 0) return { verdict: 'skipped', got: oneKey };
        const { fetches } = server;
        rotate(server);
        const way = acceptedTokens(() => ({ header: { kid: 'probe-rotated' }, key: sideKey('rotated') }));
        let found = await way.run(trial);
        const isEarly = () => found.verdict === 'failed' && server.fetches === fetches;
        if (!isEarly()) return found;
        if (!patience) return { verdict: 'skipped', got: tooSoon };
        await patience.until(async () => {
          found = await way.run(trial);
          return !isEarly();
        });
        return isEarly() ? { verdict: 'failed', got: `${found.got}: not fetched again within ten minutes` } : found;
      }),
      fetches: true,
    },
  },
);

/** Sends a token by a key that is published now, until the API has fetched it, as far as there is patience. */
async function sendNew({ send, patience }: Trial, server: KeyServer): Promise<Answer> {
  const { kid, key } = publishNew(server);
  const { fetches } = server;
  const attempt: Attempt = { token: () => ({ header: { kid }, key }) };
  let answer = await send(attempt);
  if (server.fetches === fetches)
    await patience?.until(async () => {
      answer = await send(attempt);
      return server.fetches > fetches;
    });
  return answer;
}
/** Runs while the issuer publishes other keys. */
async function publishing(server: KeyServer, keys: readonly unknown[], run: () => Promise<Finding>) {
  const { keys: usual } = server;
  server.keys = keys;
  try {
    return await run();
  } finally {
    server.keys = usual;
  }
}
const unlessFetched = (before: number, server: KeyServer): Finding | undefined =>
  server.fetches === before ? { verdict: 'skipped', got: server.fetches === 0 ? oneKey : tooSoon } : undefined;
const kidOf = (jwk: unknown) => Object(jwk).kid as unknown;
const retiring: Attempt = { token: () => ({ header: { kid: 'probe-retiring' }, key: sideKey('retiring') }) };

/** At the end of a run: an API may keep what it reads. */
export const renewalLines = {
  withdrawn: {
    sent: 'a token by a key that the issuer has withdrawn, once the API has fetched the keys again',
    ...finding('a rejection (4xx)', 3, async (trial) => {
      const { server, send } = trial;
      if (!server) return { verdict: 'skipped', got: '' };
      if ((await send(retiring)).outcome !== 'served')
        return { verdict: 'skipped', got: 'The API has not fetched that key' };
      const left = server.keys.filter((jwk) => kidOf(jwk) !== 'probe-retiring');
      return publishing(server, left, async () => {
        const { fetches } = server;
        await sendNew(trial, server);
        const skipped = unlessFetched(fetches, server);
        if (skipped) return skipped;
        const { outcome, words } = await send(retiring);
        return {
          verdict: outcome === 'served' ? 'failed' : outcome === 'unclear' ? 'inconclusive' : 'passed',
          got: words,
        };
      });
    }),
    level: 'should',
    rule: 'OpenID Connect Core §10.1.1; NIST SP 800-57 §5.3.6',
    remedy: 'Let each fetch replace all keys: what the issuer no longer publishes is not trusted',
    ownCode: 'Replace the keys by those of a fetch, and forget what tokens the old ones have verified',
    fetches: true,
  },
  'unknown-type': {
    sent: 'a good token, after a key of an unknown type beside the good ones',
    ...finding('success, as before', 2, async (trial) => {
      const { server, send } = trial;
      if (!server) return { verdict: 'skipped', got: '' };
      const unknown = { kty: 'AKP', alg: 'ML-DSA-44', use: 'sig', kid: 'probe-unknown-type', pub: 'AAAA' };
      return publishing(server, [unknown, ...server.keys], async () => {
        const { fetches } = server;
        const fresh = await sendNew(trial, server);
        const skipped = unlessFetched(fetches, server);
        if (skipped) return skipped;
        const good = await send({ token: {} });
        const fault = [fresh, good].find(({ outcome }) => outcome !== 'served');
        return { verdict: fault ? 'failed' : 'passed', got: (fault ?? good).words };
      });
    }),
    level: 'should',
    rule: 'RFC 7517 §5',
    remedy: 'Update the library of the keys, or let the issuer publish keys of other types at another URL',
    ownCode: 'Skip a JWK that you cannot read, and use the others',
    fetches: true,
    disturbs: true,
  },
} as const;
