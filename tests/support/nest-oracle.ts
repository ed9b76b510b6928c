import type { Bound, Global, Route } from '../runtimes/nest-marks.ts';

/*
 * What a route of nest-marks.ts responds with, by one rule: the strictest guard that is named wins, and a mark opens
 * only what is named less closely.
 */

export const tokens = ['no token', 'garbage', 'another issuer', 'no scope', 'the scope'] as const;
export type Token = (typeof tokens)[number];

/** From the one that lets everything pass to the strictest. */
const strictness = ['nothing', 'optional', 'A', 'B'] as const;

interface Place extends Bound {
  /** 0 for the application, 1 for a class, 2 for a method. */
  readonly closeness: number;
}

/** Returns the status, and who the handler knows. */
export function expected(global: Global, { kind, ofClass, ofMethod }: Route, token: Token) {
  const opens = { class: kind === 'own', method: kind !== 'overridden' };
  const places: readonly Place[] = [
    { closeness: 1, ...ofClass, ...(!opens.class && { mark: 'nothing' }) },
    // NestJS binds what `@UseGuards()` names to a method, and not to one that overrides it.
    ...(opens.method ? [{ closeness: 2, ...ofMethod }] : []),
  ];
  const opening = places.findLast(({ mark }) => mark !== 'nothing');
  const isOpened = (closeness: number) => opening !== undefined && closeness < opening.closeness;
  const named = [{ closeness: 0, guard: global }, ...places].filter(({ guard }) => guard !== 'nothing');
  const judging = named.filter(({ closeness }) => !(isOpened(closeness) && opening?.mark === 'public'));
  const isRequired = judging.some(({ closeness, guard }) => guard !== 'optional' && !isOpened(closeness));
  const strictest = strictness.findLast((each) => judging.some(({ guard }) => guard === each)) ?? 'nothing';
  if (strictest === 'nothing' || (token === 'no token' && !isRequired)) return { status: 200, who: 'anonymous' };
  if (token === 'no scope') return strictest === 'B' ? { status: 403, who: '' } : { status: 200, who: 'ada' };
  return token === 'the scope' ? { status: 200, who: 'ada' } : { status: 401, who: '' };
}

/** Whether a row of nest-mistakes.ts leaves no route open, and if it is good, serves a token. */
export const isClosed = (isGood: boolean, outcome: string) =>
  (isGood ? /^401 200(?: 401 200)?$/ : /^(?:(?:(?:401|500) \d+ ?)+|does not start)$/).test(outcome);
