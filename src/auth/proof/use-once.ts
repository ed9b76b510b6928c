import { Rejected } from '../rejections.ts';
import type { ReplayStore } from '../types.ts';
import { isSamePresentation, type Presentation } from './presentation.ts';

/** Shares what `find` resolves to for a key. A rejection is not kept: time passes, and outages end. */
export function shareAccepted<Key extends object, Found>(
  shared: WeakMap<Key, Promise<Found | Rejected>>,
  key: Key,
  find: () => Promise<Found | Rejected>,
): Promise<Found | Rejected> {
  const known = shared.get(key);
  if (known) return known;
  const found = find();
  shared.set(key, found);
  const forget = () => shared.delete(key);
  found.then((result) => result instanceof Rejected && forget(), forget);
  return found;
}

type Use = Promise<Rejected | undefined>;

/** The use of a proof by a request, in each store: several guards can check one request. */
const usesOf = new WeakMap<object, { readonly presented: Presentation; readonly byStore: WeakMap<ReplayStore, Use> }>();

/** Uses a proof for this request, unless another check of the request, by any guard, has used it or is using it. */
export function useOnce(request: object, presented: Presentation, store: ReplayStore, use: () => Use): Use {
  let uses = usesOf.get(request);
  if (!uses || !isSamePresentation(uses.presented, presented)) {
    uses = { presented, byStore: new WeakMap() };
    usesOf.set(request, uses);
  }
  return shareAccepted(uses.byStore, store, use);
}
