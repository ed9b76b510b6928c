import { randomUUID } from 'node:crypto';
import type { Base } from '../forge/forge.ts';
import { thumbprintOf } from '../forge/proof.ts';
import { challengesIn, parameterOf } from '../http/challenges.ts';
import { readResourceMetadata } from '../http/resource-metadata.ts';
import type { Clock, Sender } from '../http/sender.ts';
import { haveSideKeys, type KeyServer } from '../issuer/served-issuer.ts';
import type { ProbeOptions, Target } from '../options/options.ts';
import type { Answer, Attempt, Trial } from '../row/row.ts';
import { printable } from '../values/text.ts';
import { isLoopbackHost } from '../values/url.ts';
import { contentOf, likenessTo } from './likeness.ts';
import { createPatience } from './patience.ts';
import { type State, sending } from './sending.ts';
import type { Source } from './source.ts';

// Here a target is made ready for its rows: its controls, what it says of itself, and how a response is judged.

/** Returns what a target says of itself: its metadata, and whether it takes proofs, or nothing else. */
async function describe(url: string, bare: Answer, read: (url: string) => Promise<Answer>) {
  const found = bare.outcome === 'rejected' ? await readResourceMetadata(url, bare.headers, read) : undefined;
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
  const { url, method, scope, body } = target;
  const state: State = { row: 'control', nonce: undefined, scheme: 'Bearer', class: 2, closed: [] };
  const base = () => boundIf(state.scheme === 'DPoP', source.baseFor(scope));
  const { send, read } = sending(target, base, sender, state);

  const bare = await send({});
  const { isBound, ...described } = await describe(url, bare, read);
  if (base().key && isBound) state.scheme = 'DPoP';
  const control = async () => (source.hasToken ? send({ token: {} }) : undefined);
  const isRedirect = ({ status }: Answer) => Math.floor(status / 100) === 3;
  const first = bare.outcome === 'rejected' ? await control() : undefined;
  if (first && isRedirect(first) && !isRedirect(bare)) state.class = 3;
  const second = first && (await control());
  const seenByGood = { first, second, bare };
  const likeness = likenessTo(seenByGood);
  let other: Answer | undefined;
  /** A server may respond so to any path, such as with the shell of a page. */
  async function isProtected(answer: Answer): Promise<boolean> {
    const found = likeness(answer);
    if (found !== 'form') return found !== undefined;
    other ??= await send({ path: (it) => `${it.replace(/\/$/, '')}-${randomUUID().slice(0, 8)}` });
    return likeness(other) === undefined;
  }
  const good = second && { ...first, outcome: second.status === first.status ? second.outcome : 'unclear' };

  const seen = new Map<Attempt, Answer>();
  async function sendOnce(attempt: Attempt): Promise<Answer> {
    const answer = seen.get(attempt) ?? (await send(attempt));
    if (answer.outcome !== 'unclear') seen.set(attempt, answer);
    return answer;
  }

  const canWait = options.fetch === undefined || clock !== undefined;
  const isOwn = options.fetch !== undefined || isLoopbackHost(new URL(url).hostname);
  const trial: Trial = {
    get base() {
      return base();
    },
    ...{ url, method, body, profile: options.profile, bare, good, send, sendOnce, read, scheme: state.scheme },
    ...{ ...described, nonce: () => state.nonce },
    ...{ isProtected, isShown: contentOf(seenByGood), canWait, isPatient: isFirst && canWait },
    wait: sender.pause,
    patience: options.patient && isFirst && canWait ? createPatience(sender.pause) : undefined,
    server,
    hasSideKeys: () => server !== undefined && haveSideKeys(server),
    isIntrusive: options.intrusive ?? isOwn,
  };
  return { trial, control, closed: state.closed, begin: (row: string) => void Object.assign(state, { row }) };
}

const boundIf = (isBound: boolean, base: Base): Base =>
  isBound ? { ...base, claims: () => ({ ...base.claims(), cnf: { jkt: thumbprintOf('client') } }) } : base;

/**
 * Says in words why a good token may have been rejected: `forged` is the response to the same token by another key, and
 * `again` to the good one once more.
 */
export function adviceOn(
  { status, outcome, headers, words, text }: Answer,
  source: Source,
  { forged, again }: { readonly forged?: Answer | undefined; readonly again?: Answer | undefined },
): string {
  const described = (of: Headers) => parameterOf(of.get('www-authenticate'), 'error_description');
  const description = described(headers);
  // What is as long as a part of a token could be one.
  const told = description === undefined ? '' : ` (${printable(description.replace(/[\w.-]{24,}/g, '…'), 200)})`;
  // Keys that an API has read wrongly may be kept for minutes.
  const left = status >= 500 && forged ? ': an earlier run may have left it so, start the API again' : '';
  if (outcome === 'unclear') return `${words}${told}${left}`;
  // A body that differs each time says nothing.
  const isSame = again === undefined || again.text === text;
  const differs = (other: Answer) =>
    other.status !== status || described(other.headers) !== description || (isSame && other.text !== text);
  const isTrusted = forged !== undefined && differs(forged);
  const advice =
    status === 403
      ? 'Name the scope that the target requires'
      : status < 400 || status === 401
        ? source.advice(isTrusted)
        : 'Name a URL, a method and a body that succeed with a good token';
  return `${words}${told}: ${advice}`;
}
