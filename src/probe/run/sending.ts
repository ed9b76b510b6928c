import { type Base, type Change, forge } from '../forge/forge.ts';
import { proofFor } from '../forge/proof.ts';
import type { Sent } from '../http/network.ts';
import type { Received, Sender } from '../http/sender.ts';
import type { Target } from '../options/options.ts';
import type { Answer, Attempt } from '../row/row.ts';

// Here an attempt becomes a request, and a response gets its meaning.

export interface State {
  /** The ID of the row that sends. */
  row: string;
  /** The newest nonce for proofs. */
  nonce: string | undefined;
  scheme: 'Bearer' | 'DPoP';
  /** The class of status of a good token. */
  class: number;
  /** The IDs of rows whose requests got no response twice, while a good token got one. */
  readonly closed: string[];
}

/** Returns functions that send requests to a target and say what became of them. */
export function sending(target: Target, base: () => Base, sender: Sender, state: State) {
  const judge = (received: Received): Answer => {
    const { status, headers } = received;
    const isServed = status === 101 || [2, state.class].includes(Math.floor(status / 100));
    const isUnclear = status === 0 || status === 429 || status >= 500;
    state.nonce = headers.get('dpop-nonce') ?? state.nonce;
    return { ...received, outcome: isServed ? 'served' : isUnclear ? 'unclear' : 'rejected' };
  };
  /**
   * Sends a request once more whose connection was closed, or whose gateway lost the server behind it: a worker may
   * have ended behind a master that goes on. If it did so twice, and a good token gets a response, the request is the
   * cause.
   */
  async function send(attempt: Attempt): Promise<Answer> {
    const lost = sender.lost();
    const isGone = (answer: Answer) => sender.lost() > lost || answer.status === 502;
    const answer = await sendOnce(attempt);
    if (!isGone(answer) || !isNoticed(attempt)) return answer;
    const before = sender.lost();
    const again = await sendOnce(attempt, true);
    if (sender.lost() === before && again.status !== 502) return again;
    const good = await sendOnce(base().key || base().token ? { token: {} } : {}, true);
    if (good.status === 0 || good.status >= 500) return again;
    state.closed.push(state.row);
    return { ...again, outcome: 'rejected', words: `${again.words}, twice` };
  }
  async function sendOnce(attempt: Attempt, isRepeat = false): Promise<Answer> {
    let good: string | undefined;
    const filled = (text: string) =>
      text.replaceAll('TOKEN', () => {
        good ??= forge(base());
        return good;
      });
    const token = attempt.token === undefined ? undefined : forge(base(), attempt.token);
    const once = async () =>
      judge(await sender.send({ id: state.row, isRepeat, ...requestOf(attempt, target, state, token, filled) }));
    const before = state.nonce;
    const answer = await once();
    // A client of RFC 9449 repeats a request with the nonce that it was given (§8, §9).
    return token !== undefined && state.nonce !== before && answer.status === 401 ? once() : answer;
  }
  const read = async (url: string) => judge(await sender.send({ id: state.row, method: 'GET', url, headers: [] }));
  return { send, read };
}

/** Whether a closed connection means something: a server may close one that it does not upgrade, or a long header. */
const isNoticed = ({ headers = [], token }: Attempt): boolean =>
  String(headers).length < 4096 && !headers.some(([name]) => name === 'Upgrade') && JSON.stringify(token) !== '{}';

type Fill = (text: string) => string;

/** Returns the request of an attempt, with the token that it presents. */
function requestOf(attempt: Attempt, target: Target, state: State, token: string | undefined, filled: Fill) {
  const { scheme = state.scheme, headers = [], method = target.method } = attempt;
  const { proofs = scheme === 'DPoP' ? [{}] : [] } = attempt;
  const url = changedUrl(target.url, attempt, filled);
  const hasNone = /^(?:GET|HEAD|DELETE)$/.test(attempt.method ?? '');
  const body = attempt.body === undefined ? (hasNone ? undefined : target.body) : filled(attempt.body);
  const proofOf = (change: Change) => proofFor({ method, url }, token ?? '', change, state.nonce);
  const credentials: Sent['headers'] =
    token === undefined
      ? []
      : [['Authorization', `${scheme} ${token}`], ...proofs.map((change) => ['DPoP', proofOf(change)] as const)];
  const others = headers.map(([name, value]) => [name, filled(value)] as const);
  return { method, url, headers: [...credentials, ...others], body, bodyMs: attempt.bodyMs };
}

/** Changes the URL as it is written: a parser would normalize its path. */
function changedUrl(url: string, { path = (same) => same, query }: Attempt, filled: Fill): string {
  const [, origin = '', at = '', rest = ''] = /^(https?:\/\/[^/?#]*)([^?#]*)(.*)$/s.exec(url) ?? [];
  const more = query === undefined ? '' : `${rest.includes('?') ? '&' : '?'}${filled(query)}`;
  return origin + path(at) + rest + more;
}
