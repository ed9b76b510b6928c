import { firstParameter, tokenChallengesIn } from '../http/challenges.ts';
import { call } from '../requests/anonymous.ts';
import type { Answer, Finding, Trial } from '../row/row.ts';
import { finding, isScoped, requests } from '../row/topic.ts';
import { printable } from '../values/text.ts';
import { nowSeconds } from '../values/time.ts';
import { handleLines } from './mcp-handles.ts';

// What an MCP server makes of a good token: in a session, for a tool, and once it expires.

const rule = 'MCP, authorization';
/** As long as a stream may go on after its token: clocks differ by seconds. */
const [lifeSeconds, graceSeconds] = [3, 5];
const verdicts = { served: 'failed', rejected: 'passed', unclear: 'inconclusive' } as const;

/** Uses the session of one user with the token of another. */
async function otherUser(trial: Trial): Promise<Finding> {
  const begun = await trial.send({ token: {}, ...call('initialize') });
  const id = begun.headers.get('mcp-session-id');
  if (!id) return { verdict: 'passed', got: `${begun.words}, and no session` };
  const { headers = [], ...others } = call('tools/list');
  const inSession = { ...others, headers: [...headers, ['Mcp-Session-Id', id] as const] };
  const other = await trial.send({ ...inSession, token: { claims: { sub: 'probe-other', client_id: 'probe-other' } } });
  const own = await trial.send({ ...inSession, token: {} });
  await trial.send({ method: 'DELETE', headers: inSession.headers, token: {} });
  // A server that ends a session at once rejects everybody.
  if (own.outcome !== 'served') return { verdict: 'inconclusive', got: `${own.words} for its own user` };
  return { verdict: verdicts[other.outcome], got: other.words };
}

/** Whether a client learns from the rejection what it must ask the user for. */
function namesScope({ status, headers }: Answer, { base }: Trial): boolean {
  const challenges = tokenChallengesIn(headers.get('www-authenticate')) ?? [];
  const named = firstParameter(challenges, 'scope')?.split(' ') ?? [];
  const error = firstParameter(challenges, 'error');
  return (
    status === 403 && error === 'insufficient_scope' && base.scope.split(' ').every((each) => named.includes(each))
  );
}

/** Opens a stream with a token that expires soon. If the stream goes on, the token must still be good. */
async function untilExpiry(trial: Trial): Promise<Finding> {
  const token = { claims: { exp: nowSeconds() + lifeSeconds } };
  const headers = [['Accept', 'text/event-stream']] as const;
  const bodyMs = (lifeSeconds + graceSeconds) * 1000;
  const stream = await trial.send({ token, headers, method: 'GET', bodyMs });
  const isStream = stream.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (stream.outcome === 'unclear') return { verdict: 'inconclusive', got: stream.words };
  if (stream.outcome !== 'served' || !isStream) return { verdict: 'passed', got: `${stream.words}, no stream` };
  if (stream.isEnded === true) return { verdict: 'passed', got: 'a stream that ended' };
  const after = await trial.send({ token });
  const late = `a stream that was open ${graceSeconds} seconds after its token`;
  return after.outcome === 'rejected'
    ? { verdict: 'failed', got: late }
    : { verdict: 'inconclusive', got: `${late}, which still got ${after.words}` };
}

export const mcpTokenRows = requests(
  'mcp',
  { rule, needs: 'issuer', onlyIn: 'mcp', remedy: '' },
  {
    session: {
      sent: 'the ID of a session with the token of another user',
      ...finding('a rejection (404)', 4, otherUser),
      rule: 'MCP, security best practices, session hijacking',
      remedy:
        'Bind a session to the user who began it. No client fails without it, but who learns its ID acts as that user',
      ownCode: 'Keep issuer, subject and client of the token beside the ID, and answer 404 if they differ',
    },
    ...handleLines,
    'tool-scope': {
      sent: 'the body of the target with a token without its scope',
      ...finding('403 with insufficient_scope and the scope', 1, async (trial) => {
        const answer = await trial.send({ token: { claims: { scope: '' } } });
        const got = printable(
          `${answer.status} ${answer.headers.get('www-authenticate') ?? 'without WWW-Authenticate'}`,
        );
        if (answer.outcome === 'unclear') return { verdict: 'inconclusive', got };
        return { verdict: namesScope(answer, trial) ? 'passed' : 'failed', got };
      }),
      level: 'should',
      rule: 'MCP, authorization, scope challenge handling',
      skip: isScoped,
      remedy:
        'Return 403 with insufficient_scope and the scope: only then, TypeScript and Python SDKs ask the user for more',
      ownCode:
        'Read the name of the tool before the SDK does: an error that a tool returns is a 200, which ends the call',
    },
    'stream-end': {
      sent: 'GET for an event stream with a token that expires in three seconds',
      ...finding('the end of the stream, or no stream', 2, untilExpiry),
      level: 'should',
      skip: ({ isPatient }) => (isPatient ? undefined : 'It waits for eight seconds, once in a run over the network'),
      remedy: 'End a stream with its token. No client fails without it, but who has lost access goes on reading',
      ownCode: 'End the response in a timer at the exp of the token, and leave the responses of tools alone',
    },
  },
);
