import { changePart } from '../forge/forge.ts';
import { type Attempt, controlSubject } from '../row/row.ts';
import { finding, refuses, requests, response } from '../row/topic.ts';
import { nowSeconds } from '../values/time.ts';

// What caches around a target may keep.

const badSignature: Attempt = { token: changePart(2, () => 'AAAA') };
/** A good token, and then this. */
const after = (attempt: Attempt) =>
  finding('a refusal of the second', 2, async (trial) => {
    const { outcome, words } = await trial.send({ token: {} });
    return outcome === 'unclear' ? { verdict: 'inconclusive', got: words } : refuses(trial, attempt);
  });

export const cacheRows = requests(
  'cache',
  {
    rule: 'RFC 9111 §3.5; RFC 6750 §5.3',
    needs: 'token',
    remedy: 'Key no cache by the URL alone: Cache-Control: private or no-store, or Vary: Authorization',
  },
  {
    anonymous: { sent: 'a good token, and then no token', ...after({}) },
    'bad-token': { sent: 'a good token, and then one with another signature', ...after(badSignature) },
    subject: {
      sent: 'tokens of two subjects, one after the other',
      ...finding('no word of the first in the second', 2, async (trial) => {
        const [first = '', second = ''] = ['a', 'b'].map((name) => `probe-${nowSeconds()}-${name}`);
        const before = await trial.send({ token: { claims: { sub: first } } });
        const { text, words, outcome } = await trial.send({ token: { claims: { sub: second } } });
        if (before.outcome === 'unclear' || outcome === 'unclear') return { verdict: 'inconclusive', got: words };
        // An API may list those who called it.
        const isOther = (text.includes(first) || text.includes(controlSubject)) && !text.includes(second);
        return isOther
          ? { verdict: 'failed', got: `${words}, with the subject of the other token` }
          : { verdict: 'passed', got: words };
      }),
      needs: 'issuer',
    },
    header: {
      sent: 'a good token',
      ...response('no Cache-Control: public, and no s-maxage', { token: {} }, ({ headers: sent }) =>
        /public|s-maxage/.exec(sent.get('cache-control') ?? '')
          ? `Cache-Control: ${sent.get('cache-control')}`
          : undefined,
      ),
      level: 'should',
    },
  },
);
