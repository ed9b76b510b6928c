import { type Change, strangersKey } from '../forge/forge.ts';
import { claims, headers } from '../row/changes.ts';
import type { Attempt } from '../row/row.ts';
import { finding, requests, response } from '../row/topic.ts';

// Requests that a server must reject without falling over.

/**
 * Fails if a server error comes while a good token still works. A gateway responds with 502, 503 or 504. A server may
 * close the connection while a long header is still being sent, so that its 431 is lost.
 */
const noFault = (...attempts: readonly Attempt[]) =>
  finding('no 5xx', attempts.length + 1, async (trial) => {
    for (const attempt of attempts) {
      const { status, words, outcome } = await trial.send(attempt);
      // A connection that is closed again and again is a row of its own.
      if (outcome === 'rejected' || (status > 0 && status < 500)) continue;
      const again = await trial.send(trial.good ? { token: {} } : {});
      const isUp = again.status > 0 && again.status < 500;
      if (isUp && status === 0 && String(attempt.headers).length > 8192) continue;
      const isFault = isUp && status >= 500 && ![502, 503, 504].includes(status);
      return { verdict: isFault ? 'failed' : 'inconclusive', got: words };
    }
    return { verdict: 'passed', got: 'no 5xx' };
  });
const forged: Attempt = { token: ({ header }) => ({ key: strangersKey(header.alg) }) };
const withHeader = (...values: readonly string[]) =>
  noFault(...values.map((value): Attempt => ({ headers: [['Authorization', value]] })));
const withToken = (...texts: readonly string[]) => withHeader(...texts.map((text) => `Bearer ${text}`));
const withChanges = (...changes: readonly Change[]) => noFault(...changes.map((token) => ({ token })));

export const errorRows = requests(
  'error',
  {
    rule: 'RFC 6750 §3.1; RFC 9110 §15.6',
    needs: 'nothing',
    remedy: 'Map what the library throws to 401 in the error handler, or update the library',
    ownCode: 'Catch what decoding and verification throw, and reject the request',
  },
  {
    status: {
      sent: 'a token that another key signed',
      ...response('a status of 4xx with a rejection', forged, async (answer, { isProtected }) =>
        answer.outcome === 'served' && !(await isProtected(answer)) ? answer.words : undefined,
      ),
      needs: 'token',
      rule: 'RFC 6750 §3.1; RFC 9110 §15.5.2',
      remedy: 'Send a rejection with the status 401 or 403: an error in the body of a 200 is a success for clients',
      ownCode: 'Set the status of the response, not only a member of its body',
    },
    garbage: { sent: 'texts that are not tokens', ...withToken('x', '..', 'a.b.c', '__proto__', '%00') },
    header: {
      sent: 'an Authorization header of odd characters',
      ...withHeader('Bearer', 'Bearer \u00e9', 'a', '=', 'Basic', 'Digest x="'),
    },
    path: {
      sent: 'paths with a percent sign that encodes nothing',
      ...noFault(...['%', '%ff', '%00'].map((more): Attempt => ({ path: (it) => it + more }))),
      rule: 'RFC 3986 §2.1; RFC 9110 §15.6',
      remedy: 'Reject a path that cannot be decoded with 400',
    },
    json: {
      sent: 'a token whose parts are no JSON',
      ...withToken('eyJ.eyJ.AAAA', 'bm8.bm8.bm8', 'bnVsbA.bnVsbA.AAAA', 'W10.W10.AAAA'),
    },
    claims: {
      sent: 'claims of odd types, and such that are no object',
      ...withChanges(
        ...claims('aud', null),
        ...claims('exp', {}),
        ...claims('scope', { a: [] }),
        ...claims('iss', ['x']),
        ...claims('sub', 1, {}),
        ...['null', '[]', '1'].map((payloadText) => ({ payloadText })),
      ),
      needs: 'issuer',
    },
    algorithm: {
      sent: 'algorithms of odd types',
      ...withChanges(...headers('alg', ['RS256'], {}, null, 1, '__proto__')),
    },
    kid: {
      sent: 'odd key IDs',
      ...withChanges(...headers('kid', '', null, 0, {}, '__proto__', 'k'.repeat(2000))),
      needs: 'issuer',
    },
    long: { sent: 'a token of 7,000 characters', ...withToken(`e30.${'A'.repeat(7000)}.AA`) },
    huge: {
      sent: 'a token of 100,000 characters',
      ...withToken(`e30.${'A'.repeat(100_000)}.AA`),
      skip: ({ isIntrusive }) => (isIntrusive ? undefined : 'A header over 8 KiB: --intrusive'),
    },
  },
);
