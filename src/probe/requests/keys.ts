import { type Forgery, strangersKey } from '../forge/forge.ts';
import type { IssuerMode, KeyServer } from '../issuer/served-issuer.ts';
import type { Answer, Finding, Trial } from '../row/row.ts';
import { finding, isServed, requests } from '../row/topic.ts';
import { renewalLines, tooSoon } from './rotation.ts';

// Which of the keys that an issuer publishes may verify a token, and what tokens make a server fetch.

const isIntrusive = (trial: Trial) =>
  isServed(trial) ?? (trial.isIntrusive ? undefined : 'Unknown kids in number, and huge responses: --intrusive');
const unknownKid: Forgery = () => ({ header: { kid: `unknown-${Math.random()}` } });

/** What came while the issuer responded in another way. */
interface Observed {
  /** The response to an attacker's token that was let in. */
  readonly letIn: Answer | undefined;
  readonly good: Answer;
  readonly isFetched: boolean;
}

/** Returns two rows about the time in which the issuer responds so: whether an attacker gets in, and a client does. */
function whileIssuer(fails: string, mode: IssuerMode, kid?: string) {
  const seen = new WeakMap<Trial, Promise<Observed>>();
  const observedBy = (trial: Trial, server: KeyServer) => {
    const observed = seen.get(trial) ?? observe(trial, server, mode, kid);
    seen.set(trial, observed);
    return observed;
  };
  const judging = (expected: string, judge: (observed: Observed) => Finding) =>
    finding(expected, 4, async (trial) =>
      trial.server ? judge(await observedBy(trial, trial.server)) : { verdict: 'skipped', got: '' },
    );
  const forged = judging('a rejection (4xx), or no keys (503)', ({ letIn, good, isFetched }) => {
    if (letIn) return { verdict: 'failed', got: letIn.words };
    return isFetched ? { verdict: 'passed', got: 'nothing was let in' } : notFetched(good);
  });
  const good = judging('success, as before', ({ good: answer, isFetched }) => {
    // After a change at the issuer, a server error is what the change does.
    if (answer.outcome === 'served') return isFetched ? { verdict: 'passed', got: answer.words } : notFetched(answer);
    return { verdict: 'failed', got: answer.words };
  });
  return {
    forged: { sent: `tokens that an attacker signed, ${fails}`, ...forged, ...closes, fetches: true },
    good: { sent: `a good token, ${fails}`, ...good, ...keeps, disturbs: true },
  };
}
const notFetched = ({ words }: Answer): Finding => ({ verdict: 'skipped', got: `${words}: ${tooSoon}` });

/** Observes an API until it has fetched, as far as there is patience. */
async function observe(trial: Trial, server: KeyServer, mode: IssuerMode, kid?: string): Promise<Observed> {
  const { fetches, mode: usual } = server;
  const hasFetched = () => server.fetches > fetches;
  server.mode = mode;
  let { letIn, good } = await sendBoth(trial, kid);
  if (!hasFetched())
    await trial.patience?.until(async () => {
      const later = await sendBoth(trial, kid);
      letIn ??= later.letIn;
      good = later.good;
      return hasFetched();
    });
  server.mode = usual;
  // In an outage, the keys are used without a fetch, too.
  return { letIn, good, isFetched: hasFetched() || mode.status === 500 };
}

/** Sends an attacker's tokens, by a new name, by that of the good key and by another, and then a good one. */
async function sendBoth(trial: Trial, kid: string | undefined) {
  let letIn: Answer | undefined;
  for (const name of [`unknown-${Math.random()}`, ...(kid === undefined ? [] : [kid]), trial.base.header.kid]) {
    const forged: Forgery = ({ header }) => ({ header: { kid: name }, key: strangersKey(header.alg) });
    const answer = await trial.send({ token: forged });
    if (answer.outcome === 'served') letIn ??= answer;
  }
  return { letIn, good: await trial.send({ token: {} }) };
}

/** Sends an unknown kid while the issuer hangs, so that the API fetches keys, and then a good token. */
const hanging = finding('a response within ten seconds', 2, async ({ server, send, patience }) => {
  if (!server) return { verdict: 'skipped', got: '' };
  const { fetches, mode: usual } = server;
  server.mode = { kind: 'hang' };
  const sendUnknown = () => send({ token: unknownKid });
  let unknown = await sendUnknown();
  const hasFetched = () => server.fetches > fetches;
  if (!hasFetched())
    await patience?.until(async () => {
      unknown = await sendUnknown();
      return hasFetched();
    });
  const good = await send({ token: {} });
  server.mode = usual;
  const silent = [unknown, good].find(({ status }) => status === 0);
  if (hasFetched()) return { verdict: silent ? 'failed' : 'passed', got: (silent ?? unknown).words };
  return notFetched(good);
});
/** Sends a good token once the keys are too old. An API that has none left says so with 503, not of the token. */
const aged = finding('success, or 503', 1, async ({ server, send, patience }) => {
  if (!server || !patience) return { verdict: 'skipped', got: 'It waits for eleven minutes: --patient' };
  const { mode: usual } = server;
  server.mode = { kind: 'response', status: 500 };
  await patience.age();
  const { outcome, status, words } = await send({ token: {} });
  server.mode = usual;
  return { verdict: outcome === 'served' || status === 503 ? 'passed' : 'failed', got: words };
});
const keeps = {
  level: 'should',
  rule: 'RFC 9111 §4.2.4',
  remedy: 'Give the client of the keys a cache and a timeout',
  ownCode: 'Keep the keys if a fetch fails, and limit the size and time of a fetch',
} as const;
const closes = {
  rule: 'RFC 8725 §3.3, §3.10; CWE-636',
  remedy: 'Reject each token whose key cannot be found, also if the keys cannot be fetched',
  ownCode: 'Let no failure of a fetch lead past the check of the signature, and follow no redirect',
} as const;
const outage = whileIssuer('while the issuer fails', { kind: 'response', status: 500 });
const malformed = whileIssuer('after a response that is not a key set', {
  kind: 'response',
  text: '{"keys":[null,{"kty":1}]}',
});
const redirect = whileIssuer(
  "after a redirect to an attacker's keys",
  { kind: 'response', status: 302, headers: { location: '/elsewhere' } },
  'redirected',
);
const huge = whileIssuer('after a response of 40 MB in place of the keys', { kind: 'huge' });

/** At the end of a run: after them, a server may not fetch for a while. */
export const fetchRows = [
  ...requests(
    'kid',
    {
      rule: 'CWE-400',
      needs: 'issuer',
      level: 'should',
      remedy: 'Limit how often an unknown kid makes the API fetch the keys',
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
      'outage-forged': outage.forged,
      outage: outage.good,
      hang: {
        sent: 'an unknown kid while the issuer takes connections and says nothing, and then a good token',
        ...hanging,
        ...keeps,
        rule: 'CWE-400; CWE-1088',
        fetches: true,
        disturbs: true,
      },
      'redirect-forged': {
        ...redirect.forged,
        remedy: 'Follow no redirect of the key set, and name the URL where the keys are',
      },
      redirect: redirect.good,
      huge: { ...huge.good, fetches: true, skip: isIntrusive },
      aged: { sent: 'a good token eleven minutes into an outage of the issuer', ...aged, ...keeps, disturbs: true },
      ...renewalLines,
      // Some keep it for minutes, so it comes last.
      'malformed-forged': malformed.forged,
      malformed: malformed.good,
    },
  ),
];
