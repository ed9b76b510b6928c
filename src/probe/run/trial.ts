import { type Base, type Change, forge } from '../forge/forge.ts';
import { proofFor, thumbprintOf } from '../forge/proof.ts';
import { challengesIn, parameterOf } from '../http/challenges.ts';
import type { Sent } from '../http/network.ts';
import { readResourceMetadata } from '../http/resource-metadata.ts';
import type { Clock, Received, Sender } from '../http/sender.ts';
import { haveSideKeys, type KeyServer } from '../issuer/served-issuer.ts';
import type { Answer, Attempt, Trial } from '../row/row.ts';
import { printable } from '../values/text.ts';
import { isLoopbackHost } from '../values/url.ts';
import { likenessTo } from './likeness.ts';
import type { ProbeOptions, Target } from './options.ts';
import type { Source } from './source.ts';

// Here a target is made ready for its rows: its controls, what it says of itself, and how a response is judged.

interface State {
  /** The ID of the row that sends. */
  row: string;
  /** The newest nonce for proofs. */
  nonce: string | undefined;
  scheme: 'Bearer' | 'DPoP';
  /** The class of status of a good token. */
  class: number;
}

/** Returns functions that send requests to a target and say what became of them. */
function sending(target: Target, base: () => Base, sender: Sender, state: State) {
  const judge = (received: Received): Answer => {
    const { status, headers } = received;
    const isServed = status === 101 || [2, state.class].includes(Math.floor(status / 100));
    const isUnclear = status === 0 || status === 429 || status >= 500;
    state.nonce = headers.get('dpop-nonce') ?? state.nonce;
    return { ...received, outcome: isServed ? 'served' : isUnclear ? 'unclear' : 'refused' };
  };
  async function send(attempt: Attempt): Promise<Answer> {
    let good: string | undefined;
    const filled = (text: string) =>
      text.replaceAll('TOKEN', () => {
        good ??= forge(base());
        return good;
      });
    const token = attempt.token === undefined ? undefined : forge(base(), attempt.token);
    const once = async () =>
      judge(await sender.send({ id: state.row, ...requestOf(attempt, target, state, token, filled) }));
    const before = state.nonce;
    const answer = await once();
    // A client of RFC 9449 repeats a request with the nonce that it was given (§8, §9).
    return token !== undefined && state.nonce !== before && answer.status === 401 ? once() : answer;
  }
  const read = async (url: string) => judge(await sender.send({ id: state.row, method: 'GET', url, headers: [] }));
  return { send, read };
}

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

/** Returns what a target says of itself: its metadata, and whether it takes proofs, or nothing else. */
async function describe(url: string, bare: Answer, read: (url: string) => Promise<Answer>) {
  const found = bare.outcome === 'refused' ? await readResourceMetadata(url, bare.headers, read) : undefined;
  const { metadata, metadataUrl } = found ?? {};
  const schemes = challengesIn(bare.headers.get('www-authenticate'))?.map(({ scheme }) => scheme.toLowerCase()) ?? [];
  const isNamed = schemes.includes('dpop');
  return {
    ...{ metadata, metadataUrl, hasDpop: isNamed || metadata?.dpop_signing_alg_values_supported !== undefined },
    isBound: metadata?.dpop_bound_access_tokens_required === true || (isNamed && !schemes.includes('bearer')),
  };
}

interface Parts {
  readonly source: Source;
  readonly sender: Sender;
  readonly server: KeyServer | undefined;
  readonly clock: Clock | undefined;
  readonly isFirst: boolean;
  readonly options: ProbeOptions;
}

/** Sends the controls to a target, reads its metadata, and returns what rows need. */
export async function createTrial(target: Target, { source, sender, server, clock, isFirst, options }: Parts) {
  const { url, method, scope } = target;
  const state: State = { row: 'control', nonce: undefined, scheme: 'Bearer', class: 2 };
  const base = () => boundIf(state.scheme === 'DPoP', source.baseFor(scope));
  const { send, read } = sending(target, base, sender, state);

  const bare = await send({});
  const { isBound, ...described } = await describe(url, bare, read);
  if (base().key && isBound) state.scheme = 'DPoP';
  const control = async () => (source.hasToken ? send({ token: {} }) : undefined);
  const isRedirect = ({ status }: Answer) => Math.floor(status / 100) === 3;
  const first = bare.outcome === 'refused' ? await control() : undefined;
  if (first && isRedirect(first) && !isRedirect(bare)) state.class = 3;
  const second = first && (await control());
  const isProtected = likenessTo(first, second);
  const good = second && { ...first, outcome: second.status === first.status ? second.outcome : 'unclear' };

  const seen = new Map<Attempt, Answer>();
  async function sendOnce(attempt: Attempt): Promise<Answer> {
    const answer = seen.get(attempt) ?? (await send(attempt));
    if (answer.outcome !== 'unclear') seen.set(attempt, answer);
    return answer;
  }

  const isOwn = options.fetch !== undefined || isLoopbackHost(new URL(url).hostname);
  const trial: Trial = {
    get base() {
      return base();
    },
    ...{ url, method, profile: options.profile, bare, good, send, sendOnce, read, scheme: state.scheme },
    ...{ ...described, nonce: () => state.nonce },
    isProtected,
    isPatient: isFirst && (options.fetch === undefined || clock !== undefined),
    wait: sender.pause,
    server,
    hasSideKeys: () => server !== undefined && haveSideKeys(server),
    isIntrusive: options.intrusive ?? isOwn,
  };
  return { trial, control, begin: (row: string) => void Object.assign(state, { row }) };
}

const boundIf = (isBound: boolean, base: Base): Base =>
  isBound ? { ...base, claims: () => ({ ...base.claims(), cnf: { jkt: thumbprintOf('client') } }) } : base;

/** Says in words why a good token may have been refused: `forged` is the response to the same token by another key. */
export function adviceOn(
  { status, outcome, headers, words }: Answer,
  source: Source,
  forged: Answer | undefined,
): string {
  const described = (of: Headers) => parameterOf(of.get('www-authenticate'), 'error_description');
  const description = described(headers);
  // What is as long as a part of a token could be one.
  const told = description === undefined ? '' : ` (${printable(description.replace(/[\w.-]{24,}/g, '…'), 200)})`;
  if (outcome === 'unclear') return `${words}${told}`;
  const isTrusted = forged !== undefined && (forged.status !== status || described(forged.headers) !== description);
  const advice =
    status === 403
      ? 'Name the scope that the target requires'
      : status < 400 || status === 401
        ? source.advice(isTrusted)
        : 'Name a URL, a method and a body that succeed with a good token';
  return `${words}${told}: ${advice}`;
}
