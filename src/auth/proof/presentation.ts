import { type Refusal, refuse } from '../refusals.ts';
import type { ReplayStore } from '../types.ts';
import { promised } from '../values/promises.ts';

/** What a request presents, as it was when the check began. */
export interface Presentation {
  readonly method: string;
  readonly url: string;
  readonly token: string;
  /** The `DPoP` header; null if there is none or DPoP is off. */
  readonly proof: string | null;
}

/** Whether two checks of one object are checks of one request. Anything else in the same object is another request. */
export function isSamePresentation(one: Presentation, other: Presentation): boolean {
  return one.token === other.token && one.proof === other.proof && one.url === other.url && one.method === other.method;
}

/** The use of a proof by a request, in each store: several guards can check one request. */
interface Uses {
  readonly presented: Presentation;
  readonly outcomes: Map<ReplayStore, Promise<Refusal | undefined>>;
}

const usesOf = new WeakMap<object, Uses>();

/**
 * Uses a proof for this request. Resolves to why the request is rejected, or to undefined if the proof was not used
 * before. All checks of the request share the outcome, unless it is unknown.
 * @param watch is told that the store could be used, or why not
 */
export function useProof(
  request: object,
  presented: Presentation,
  store: ReplayStore,
  mark: () => unknown,
  watch: (fault?: unknown) => void,
): Promise<Refusal | undefined> {
  const known = usesOf.get(request);
  const uses = known && isSamePresentation(known.presented, presented) ? known : { presented, outcomes: new Map() };
  usesOf.set(request, uses);
  const earlier = uses.outcomes.get(store);
  if (earlier !== undefined) return earlier;
  const outcome = markOnce(mark, watch).then((refusal) => {
    if (refusal?.reason === 'replay_unknown') uses.outcomes.delete(store);
    return refusal;
  });
  uses.outcomes.set(store, outcome);
  return outcome;
}

/** Never rejects. A store of the application may return anything. */
async function markOnce(mark: () => unknown, watch: (fault?: unknown) => void): Promise<Refusal | undefined> {
  try {
    const isFirst = await promised(mark());
    if (typeof isFirst !== 'boolean') throw new TypeError('markUsed must return a boolean');
    watch();
    return isFirst ? undefined : refuse('proof_replayed');
  } catch (fault) {
    watch(fault);
    return refuse('replay_unknown');
  }
}
