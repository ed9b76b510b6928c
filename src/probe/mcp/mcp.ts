import { garbage, none } from '../requests/challenges.ts';
import { at } from '../row/changes.ts';
import type { Answer, Attempt, Finding } from '../row/row.ts';
import { finding, requests } from '../row/topic.ts';
import { printable } from '../values/text.ts';

// The rules by which MCP clients read a server. Each remedy names the clients that fail.

const page = 'https://page.invalid';
const said = (answer: Answer, ...names: readonly string[]) =>
  printable([answer.status, ...names.map((name) => `${name}: ${answer.headers.get(name) ?? 'none'}`)].join(', '), 300);
export const isSilent = ({ status }: Answer) => status === 0 || status === 429;
export const judged = (answer: Answer, isRight: boolean, ...names: readonly string[]): Finding => {
  if (isSilent(answer)) return { verdict: 'inconclusive', got: answer.words };
  return { verdict: isRight ? 'passed' : 'failed', got: said(answer, ...names) };
};
/** Sends a request, and shows these headers of the response. */
const sending = (
  expected: string,
  attempt: Attempt,
  isRight: (answer: Answer) => boolean,
  ...names: readonly string[]
) =>
  finding(expected, 1, async (trial) => {
    const answer = await trial.send(attempt);
    return judged(answer, isRight(answer), ...names);
  });

export const challenge = 'www-authenticate';
const isChallenged = ({ status, headers }: Answer) =>
  status === 401 && /\bbearer\b/i.test(headers.get(challenge) ?? '');
const isChallengedOrNone = (answer: Answer) => answer.status === 405 || isChallenged(answer);
/** As the SDKs read it: by an expression, from a header that begins with the scheme. */
const isReadable = ({ status, headers }: Answer) =>
  status !== 401 || /^Bearer .*\bresource_metadata="https?:[^"]+"/i.test(headers.get(challenge) ?? '');
const has = ({ headers }: Answer, name: string, value: string) =>
  headers
    .get(name)
    ?.toLowerCase()
    .split(/\s*,\s*/)
    .includes(value) === true;

export const mcpRows = requests(
  'mcp',
  { rule: 'MCP, authorization', needs: 'nothing', onlyIn: 'mcp', remedy: '' },
  {
    'challenge-post': {
      sent: 'POST without a token',
      ...sending('401 with the scheme Bearer', { method: 'POST' }, isChallenged, challenge),
      remedy: 'Return 401 with WWW-Authenticate: all clients begin their login at it',
    },
    'challenge-get': {
      sent: 'GET without a token',
      ...sending('401 with the scheme Bearer, or 405', { method: 'GET' }, isChallengedOrNone, challenge),
      remedy: 'Guard GET as POST: clients that begin with GET, as for the older transport SSE, find no login',
    },
    'challenge-delete': {
      sent: 'DELETE without a token',
      ...sending('401 with the scheme Bearer, or 405', { method: 'DELETE' }, isChallengedOrNone, challenge),
      remedy: 'Guard DELETE as POST, or anyone who knows the ID of a session ends it; clients of both SDKs send it',
    },
    'challenge-readable': {
      sent: 'no token',
      ...sending('a challenge that begins with Bearer, with resource_metadata="URL"', none, isReadable, challenge),
      remedy: 'Write Bearer first: SDK 1.x reads no other scheme. Write resource_metadata in quotes (RFC 9110 §11.2)',
    },
    'bad-token': {
      sent: 'text that is not a token',
      ...sending('401', garbage, ({ status }) => status === 401),
      remedy: 'Return 401: clients of the TypeScript and Python SDKs log in again for it, and stop at 400, 403 or 500',
    },
    'expired-token': {
      sent: 'a token that has expired',
      ...sending('401', { token: at('exp', -3600)[0] ?? {} }, ({ status }) => status === 401),
      needs: 'issuer',
      remedy:
        'Return 401: for it, TypeScript SDKs refresh their token, and that of Python logs in. All stop at 400, 403 and 500',
    },
    stream: {
      sent: 'GET with a good token for an event stream',
      ...sending(
        '405, text/event-stream, or 400 if it needs a session',
        { token: {}, method: 'GET', headers: [['Accept', 'text/event-stream']] },
        ({ status, headers }) =>
          [400, 405].includes(status) ||
          (status === 200 && headers.get('content-type')?.startsWith('text/event-stream') === true),
        'content-type',
      ),
      rule: 'MCP, Streamable HTTP',
      needs: 'token',
      remedy:
        'Return 405 if there is no stream: both TypeScript SDKs report an error for anything else, and VS Code tries again',
    },
    origin: {
      sent: 'a good token from a page of an origin that nobody knows',
      ...sending(
        'a rejection (403)',
        { token: {}, headers: [['Origin', page]] },
        ({ outcome }) => outcome === 'rejected',
      ),
      rule: 'MCP, Streamable HTTP, security warning',
      needs: 'token',
      remedy:
        'Reject origins that are not listed. No client fails without it, but a page can reach a server on this machine',
    },
    host: {
      sent: 'a good token for another host',
      ...sending(
        'a rejection',
        { token: {}, headers: [['Host', 'attacker.invalid']] },
        ({ outcome }) => outcome === 'rejected',
      ),
      rule: 'MCP, Streamable HTTP, security warning',
      needs: 'token',
      level: 'should',
      remedy:
        'Reject other values of Host. No client fails without it, but a name that is bound anew reaches the server',
    },
    preflight: {
      sent: 'the preflight of a page',
      ...sending(
        'success, with Authorization and MCP-Protocol-Version allowed',
        {
          method: 'OPTIONS',
          headers: [
            ['Origin', page],
            ['Access-Control-Request-Method', 'POST'],
            ['Access-Control-Request-Headers', 'authorization,content-type,mcp-protocol-version'],
          ],
        },
        (answer) =>
          answer.status === 403 ||
          (answer.outcome === 'served' &&
            ['authorization', 'mcp-protocol-version'].every((name) =>
              has(answer, 'access-control-allow-headers', name),
            )),
        'access-control-allow-headers',
      ),
      rule: 'Fetch §4.8',
      level: 'should',
      remedy: 'Respond to preflights before the guard, or clients in a page, such as the Inspector, cannot connect',
    },
    exposed: {
      sent: 'no token, from a page',
      ...sending(
        'WWW-Authenticate among Access-Control-Expose-Headers',
        { headers: [['Origin', page]] },
        (answer) => answer.status === 403 || has(answer, 'access-control-expose-headers', challenge),
        'access-control-expose-headers',
      ),
      rule: 'Fetch §3.3.4',
      level: 'should',
      remedy:
        'Expose WWW-Authenticate and Mcp-Session-Id, or clients in a page, such as the Inspector, cannot read them',
    },
  },
);
