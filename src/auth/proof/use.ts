import { type Refusal, refuse } from '../refusals.ts';
import type { ReplayStore } from './replay-store.ts';

/** One use of a proof by a request. */
interface Use {
  readonly store: ReplayStore;
  readonly key: string;
  readonly outcome: Promise<Refusal | undefined>;
}

/** Several guards can judge one request: it uses its proof once in each store. */
const usesOf = new WeakMap<object, readonly Use[]>();

/** Marks a proof as used by this request. Resolves to why the request is rejected, or to undefined if the proof was not used before. */
export function useProof(
  request: object,
  store: ReplayStore,
  key: string,
  lifetimeMs: number,
): Promise<Refusal | undefined> {
  const uses = usesOf.get(request) ?? [];
  const earlier = uses.find((use) => use.store === store && use.key === key);
  if (earlier) return earlier.outcome;
  const outcome = mark(store, key, lifetimeMs);
  usesOf.set(request, [...uses, { store, key, outcome }]);
  return outcome;
}

/** Never rejects. A store of the application may return anything. */
async function mark(store: ReplayStore, key: string, lifetimeMs: number): Promise<Refusal | undefined> {
  try {
    const isFirst: unknown = await store.markUsed(key, lifetimeMs);
    if (isFirst === true) return undefined;
    return refuse(isFirst === false ? 'proof_replayed' : 'replay_unknown');
  } catch {
    return refuse('replay_unknown');
  }
}
