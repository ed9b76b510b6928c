import type { Attempt, Instance, Question, Times } from './instance.ts';
import type { Issuer } from './issuer.ts';

/*
 * What an instance could know, and so what it may say: from what it fetched and asked, not from how it decides.
 */

/** A token that was checked. */
export interface Checked {
  readonly instance: Instance;
  readonly issuer: Issuer;
  readonly kid: string;
  /** Whether a key of the issuer signed it. */
  readonly isGenuine: boolean;
  readonly sentAt: number;
  readonly now: number;
  readonly outcome: string;
  readonly times: Times;
  readonly hasDirectory: boolean;
  /** Whether the application has known the issuer, and could tell, for long. */
  readonly isDirectoryCalm: boolean;
}

const last = <Each extends Attempt | Question>(
  all: readonly Each[],
  { issuer: { name }, now }: Checked,
  is: (each: Each) => boolean,
) =>
  all
    .filter((each) => each.issuer === name && each.endAt !== undefined && each.endAt <= now && is(each))
    .toSorted((a, b) => (a.endAt ?? 0) - (b.endAt ?? 0))
    .at(-1);

/**
 * After so long in calm, an instance knows everything: a failed attempt is repeated after the cooldown, with a tenth of
 * it added.
 */
export const calmAfterMs = ({ jwksCooldownSeconds, jwksTimeoutSeconds }: Times) =>
  1100 * jwksCooldownSeconds + 3000 * jwksTimeoutSeconds + 1000;

/** Returns which rules a result breaks. */
export function brokenBy(checked: Checked): readonly string[] {
  const { instance, issuer, kid, isGenuine, sentAt, now, outcome, times, hasDirectory } = checked;
  const boundMs = 1000 * (times.jwksMaxAgeSeconds + times.jwksMaxStaleSeconds);
  const timeoutMs = 1000 * times.jwksTimeoutSeconds;
  const fetched = last<Attempt>(instance.attempts, checked, ({ isGood }) => isGood);
  const ended = last<Attempt>(instance.attempts, checked, () => true);
  const answered = last<Question>(
    instance.questions,
    checked,
    ({ said, askedAt, endAt }) => said !== 'nothing' && (endAt ?? 0) - askedAt < timeoutMs,
  );
  const hasKey = fetched?.sent?.kids.has(kid) === true;
  // Otherwise keys expire while a request waits for them.
  const canBeCalm = boundMs >= 2000;
  const isCalm =
    canBeCalm &&
    [issuer.isCalmFor, instance.hasRunFor].every((has) => has(calmAfterMs(times))) &&
    checked.isDirectoryCalm;
  const since = issuer.publishedSince(kid);
  const rules: readonly (readonly [rule: string, isBroken: boolean])[] = [
    ['a token without a signature of the issuer is never accepted', outcome === 'accepted' && !isGenuine],
    ['a key is not trusted unless the last fetch had it', outcome === 'accepted' && !hasKey],
    ['a key is not trusted beyond its bound', outcome === 'accepted' && now - (fetched?.startAt ?? 0) >= boundMs],
    [
      'an issuer is not trusted unless the application said so last, and not beyond its bound',
      outcome === 'accepted' && hasDirectory && (answered?.said !== 'yes' || now - answered.askedAt >= boundMs),
    ],
    ['no 401 while the last fetch has failed', outcome === 'key_unknown' && !ended?.isGood],
    [
      'a published key is found unless a fetch began less than a cooldown ago',
      outcome === 'key_unknown' &&
        isCalm &&
        since !== undefined &&
        sentAt - (fetched?.startAt ?? 0) > 1000 * times.jwksCooldownSeconds + 2 * timeoutMs &&
        since <= sentAt,
    ],
    ['no 503 in calm', outcome.endsWith('_unavailable') && isCalm],
    [
      'a good token is accepted in calm',
      outcome !== 'accepted' && isGenuine && isCalm && since !== undefined && now - since > calmAfterMs(times),
    ],
    ['no request waits longer than for two fetches', now - sentAt > (hasDirectory ? 4 : 2) * timeoutMs],
  ];
  return rules.flatMap(([rule, isBroken]) => (isBroken ? [rule] : []));
}

/** Returns which limits an instance has broken by what it did. */
export function limitsBrokenBy(instance: Instance, times: Times, hasDirectory: boolean): readonly string[] {
  const { attempts, questions, reloads } = instance;
  const cooldownMs = 1000 * times.jwksCooldownSeconds;
  const wasReloaded = (from: number, to: number) => reloads.some((at) => at >= from - 10_000 && at <= to);
  const isTooOften = (starts: readonly number[], count: number, spanMs: number) =>
    starts.some((start, index) => {
      const later = starts[index + count];
      return later !== undefined && later - start < spanMs && !wasReloaded(start, later);
    });
  const byIssuer = Map.groupBy(attempts, ({ issuer }) => issuer);
  const isFetchedTooOften = [...byIssuer.values()].some((each) => {
    const first = each.findIndex(({ isGood }) => isGood);
    // Until the first success, attempts are closer to each other.
    const starts = each.slice(first < 0 ? each.length : first).map(({ startAt }) => startAt);
    return !hasDirectory && isTooOften(starts, 2, cooldownMs);
  });
  const isAskedTooOften = [...Map.groupBy(questions, ({ issuer }) => issuer).values()].some((each) =>
    isTooOften(
      each.map(({ askedAt }) => askedAt),
      1,
      // Its last answer may end sooner, which is another reason to ask.
      Math.min(2000, cooldownMs, 1000 * times.jwksMaxAgeSeconds, 1000 * times.jwksMaxStaleSeconds || 2000),
    ),
  );
  return [
    ...(isFetchedTooOften ? ['more than two fetches in a cooldown'] : []),
    ...(isAskedTooOften ? ['more than one question in two seconds'] : []),
    ...(instance.isSpinning() ? ['a timer spins'] : []),
  ];
}
