import { base64url, bytesOf, forge, strangersKey, withSignature } from '../forge/forge.ts';
import { expiring } from '../row/changes.ts';
import { type Answer, type Attempt, controlSubject } from '../row/row.ts';
import { finding, rejects, requests, response } from '../row/topic.ts';
import { nowSeconds } from '../values/time.ts';
import { garbage, none } from './challenges.ts';

// What caches around a target may keep.

/** A good token, and then something else with or without it. */
const after = (...next: readonly ((token: string) => Attempt)[]) =>
  finding('a rejection of the second', 1 + next.length, async (trial) => {
    const token = forge(trial.base);
    const { outcome, words } = await trial.send({ token: () => token });
    return outcome === 'unclear'
      ? { verdict: 'inconclusive', got: words }
      : rejects(trial, ...next.map((attempt) => attempt(token)));
  });
/** The same header and signature, and more claims. */
const withClaims = (token: string) => {
  const [header, payload = '', signature] = token.split('.');
  return [header, base64url(`${bytesOf(payload)}`.replace(/\}\s*$/, ',"admin":true}')), signature].join('.');
};
/** How long after its exp a token may be accepted: the allowances for clock skew that servers have. */
const leeways = [0, 5, 10, 30, 60];
const waitSeconds = 3;
const knowsSubjects = 'The API knows its subjects, and rejects others';
/** Whether responses may be stored (RFC 9111 §3, §4.2.1). */
const isStorable = (headers: Headers) => {
  const control = headers.get('cache-control') ?? '';
  if (/no-store|no-cache|private/.test(control)) return false;
  return /public|(?:s-maxage|max-age)="?0*[1-9]/.test(control) || Date.parse(headers.get('expires') ?? '') > Date.now();
};
/** Decides about rejections of requests without a token and with a bad one. */
const ofRejections = (expected: string, fault: (answer: Answer) => string | undefined) =>
  response(expected, [none, garbage], (answer) => (answer.outcome === 'rejected' ? fault(answer) : undefined));

export const cacheRows = requests(
  'cache',
  {
    rule: 'RFC 9111 §3.5; RFC 6750 §5.3',
    needs: 'token',
    remedy: 'Key no cache by the URL alone: Cache-Control: private or no-store, or Vary: Authorization',
    ownCode: 'Store no response to a request with Authorization, unless the whole token is part of the key',
  },
  {
    anonymous: { sent: 'a good token, and then no token', ...after(() => ({})) },
    'bad-token': {
      sent: 'a good token, and then the same with another signature, or with other claims',
      ...after(
        (token) => ({ token: () => withSignature(token, 'A'.repeat(342)) }),
        (token) => ({ token: () => withClaims(token) }),
      ),
      remedy: 'Turn off the cache of verified tokens, or key it by the whole token',
      ownCode: 'Key a cache of verified tokens by the whole token or its SHA-256',
    },
    lockout: {
      sent: 'a token that an attacker signed in the name of a client, and then the good one of that client',
      ...finding('success with the good one', 3, async (trial) => {
        const claims = { sub: `probe-${nowSeconds()}-c`, jti: crypto.randomUUID() };
        const forged = await trial.send({ token: ({ header }) => ({ claims, key: strangersKey(header.alg) }) });
        const { outcome, words } = await trial.send({ token: { claims } });
        if (forged.outcome !== 'rejected' || outcome === 'unclear')
          return { verdict: 'inconclusive', got: `${forged.words}, then ${words}` };
        if (outcome === 'served') return { verdict: 'passed', got: words };
        const other = await trial.send({ token: { claims: { sub: `probe-${nowSeconds()}-d` } } });
        return other.outcome === 'served'
          ? { verdict: 'failed', got: words }
          : { verdict: 'skipped', got: knowsSubjects };
      }),
      needs: 'issuer',
      level: 'should',
      rule: 'CWE-645',
      remedy: 'Count or remember failures by the address of the client, not by what a token says of itself',
      ownCode: 'Remember nothing of a token whose signature is wrong, but the whole token',
    },
    subject: {
      sent: 'tokens of two subjects, one after the other',
      ...finding('no word of the first in the second', 2, async (trial) => {
        const [first = '', second = ''] = ['a', 'b'].map((name) => `probe-${nowSeconds()}-${name}`);
        const before = await trial.send({ token: { claims: { sub: first } } });
        const { text, words, outcome } = await trial.send({ token: { claims: { sub: second } } });
        if (before.outcome === 'unclear' || outcome === 'unclear') return { verdict: 'inconclusive', got: words };
        if (before.outcome === 'rejected') return { verdict: 'skipped', got: knowsSubjects };
        // An API may list those who called it.
        const isOther = (text.includes(first) || text.includes(controlSubject)) && !text.includes(second);
        return isOther
          ? { verdict: 'failed', got: `${words}, with the subject of the other token` }
          : { verdict: 'passed', got: words };
      }),
      needs: 'issuer',
    },
    expired: {
      sent: 'a good token, and the same again once it has expired',
      ...finding('a rejection of the second', 2 * leeways.length, async (trial) => {
        for (const leeway of leeways) {
          const { outcome, words } = await trial.send({ token: () => expiring(-leeway - 1) });
          if (outcome === 'unclear') return { verdict: 'inconclusive', got: words };
          if (outcome === 'served') continue;
          const token = forge(trial.base, expiring(2 - leeway));
          if ((await trial.send({ token: () => token })).outcome !== 'served') continue;
          await trial.wait(waitSeconds * 1000);
          return rejects(trial, { token: () => token });
        }
        return { verdict: 'skipped', got: 'The API accepts tokens that expired a minute ago' };
      }),
      needs: 'issuer',
      rule: 'RFC 7519 §4.1.4',
      remedy: 'Turn off the cache of verified tokens, or update the library',
      ownCode: 'Check exp at each request, also of a token that was verified before',
      skip: ({ isPatient }) => (isPatient ? undefined : 'It waits for three seconds, once in a run over the network'),
    },
    condition: {
      sent: 'the conditions that a stored good response meets, without a token',
      ...finding('a rejection, and not 304', 1, async ({ good, send }) => {
        const conditions = [['If-None-Match', 'etag'] as const, ['If-Modified-Since', 'last-modified'] as const];
        const headers = conditions.flatMap(([name, from]) => {
          const value = good?.headers.get(from);
          return value ? [[name, value] as const] : [];
        });
        if (headers.length === 0)
          return { verdict: 'skipped', got: 'A good response has neither ETag nor Last-Modified' };
        const { status, outcome, words } = await send({ headers });
        const isFault = status === 304 || outcome === 'served';
        return { verdict: isFault ? 'failed' : outcome === 'unclear' ? 'inconclusive' : 'passed', got: words };
      }),
      rule: 'RFC 9110 §13.2.1',
    },
    refusal: {
      sent: 'no token, and text that is not a token',
      ...ofRejections('a rejection that no cache may keep', ({ headers }) =>
        isStorable(headers)
          ? `Cache-Control: ${headers.get('cache-control')}, Expires: ${headers.get('expires')}`
          : undefined,
      ),
      needs: 'nothing',
      level: 'should',
      rule: 'RFC 9111 §3; RFC 6750 §5.3',
      remedy: 'Send Cache-Control: no-store with a rejection',
    },
    header: {
      sent: 'a good token',
      ...response('no Cache-Control by which a shared cache may keep it', { token: {} }, ({ headers }) => {
        const control = headers.get('cache-control') ?? '';
        const isShared = /public|s-maxage|must-revalidate.*max-age=[1-9]|max-age=[1-9].*must-revalidate/.test(control);
        return isShared && !/no-store|private/.test(control) ? `Cache-Control: ${control}` : undefined;
      }),
      level: 'should',
    },
  },
);
