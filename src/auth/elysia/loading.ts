/*
 * What an instance had when it began to wait for a plugin. A guard that arrives while it waits may be that plugin: then
 * the routes that its chain has added in the meantime are not before the guard.
 */
import type { Instance } from './internals.ts';

/** A run of code without a break: what a promise brings arrives after it. */
let turn = { isOver: true };

/** Begins a turn, before the first promise of it has been asked for. */
export function beginTurn(): void {
  if (!turn.isOver) return;
  const begun = { isOver: false };
  turn = begun;
  queueMicrotask(() => {
    begun.isOver = true;
  });
}

const began = new WeakMap<Promise<unknown>, { readonly turn: typeof turn; readonly routes: number }>();

/** Remembers how many routes an instance has when it begins to wait for this plugin. */
export const beginLoading = ({ router }: Instance, plugin: Promise<unknown>): void =>
  void began.set(plugin, { turn, routes: router.history.length });

/** Returns how many routes of an instance were there before any plugin that may be arriving now. */
export function routesBeforeLoading({ promisedModules, router }: Instance): number {
  const arriving = promisedModules.promises.flatMap((plugin) => began.get(plugin) ?? []);
  return Math.min(router.history.length, ...arriving.filter((each) => each.turn.isOver).map(({ routes }) => routes));
}
