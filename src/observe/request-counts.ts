import type { FetchFailure, RefusalReason } from 'protected-api/guard';
import { type StoreFailure, storeFailures } from '../redis/replay-store.ts';

/** Upper bounds of the duration buckets, from a cached token on an idle machine to a request that waits for the key set. */
export const durationBoundsSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];

const durationBoundsMs = durationBoundsSeconds.map((seconds) => seconds * 1000);

/** The label of all unknown paths. */
const unmatched = 'unmatched';

/** Requests to one route. */
export interface RouteCounts {
  /** The pattern of the route, or `unmatched` for all unknown paths. */
  readonly route: string;
  /** Indexed by status; those that are reported before they occur are 0. */
  readonly statuses: number[];
  /** Indexed like {@link durationBoundsSeconds}. The last element counts durations above all bounds. */
  readonly durations: Float64Array;
  durationSumMs: number;
}

export type RequestCounts = ReturnType<typeof createRequestCounts>;

/** The result of an attempt to fetch a key set. */
type FetchResult = 'success' | FetchFailure;

/** The counts of an issuer whose keys were never fetched. */
const noFetches: Readonly<Record<FetchResult, number>> = {
  success: 0,
  timeout: 0,
  network: 0,
  redirect: 0,
  status: 0,
  encoded: 0,
  too_large: 0,
  malformed: 0,
  issuer_mismatch: 0,
  insecure_address: 0,
  no_usable_key: 0,
};

/** Rejections of requests whose token was accepted. */
const denials: readonly RefusalReason[] = ['authentication_insufficient', 'scope_insufficient', 'access_denied'];

/**
 * Returns the counts that metrics are rendered from. They are plain numbers in arrays, because a metrics library takes longer
 * to find a series by its labels than the service takes to respond. Routes come from the route table, so a client cannot
 * create a series. Every one of `reasons` starts at 0, so that a rate contains its first occurrence.
 */
export function createRequestCounts(reasons: readonly RefusalReason[]) {
  const routes = new Map<string, RouteCounts>();
  const refused = zeros(reasons);
  const failures = zeros(storeFailures);
  const fetches = new Map<string, Record<FetchResult, number>>();
  let acceptedTokens = 0;

  function countsOf(route: string): RouteCounts {
    const known = routes.get(route);
    if (known) return known;
    const durations = new Float64Array(durationBoundsSeconds.length + 1);
    const created = { route, statuses: [], durations, durationSumMs: 0 };
    routes.set(route, created);
    return created;
  }

  return {
    /** Makes the statuses that these routes declare start at 0, and those that every route can have. */
    expect(declared: readonly { readonly path: string; readonly hooks?: { readonly response?: object } }[]): void {
      const start = (route: string, statuses: readonly number[]) => {
        for (const status of statuses) countsOf(route).statuses[status] ??= 0;
      };
      for (const { path, hooks } of declared)
        start(path, [200, 500, ...Object.keys(hooks?.response ?? {}).map(Number)]);
      start(unmatched, [404, 500]);
    },
    countRequest(route: string | undefined, status: number, durationMs: number): void {
      const counts = countsOf(route ?? unmatched);
      counts.statuses[status] = (counts.statuses[status] ?? 0) + 1;
      let bucket = 0;
      while (durationMs > (durationBoundsMs[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
      counts.durations[bucket] = (counts.durations[bucket] ?? 0) + 1;
      counts.durationSumMs += durationMs;
    },
    countAcceptedToken(): void {
      acceptedTokens += 1;
    },
    countRefusal(reason: RefusalReason): void {
      refused[reason] = (refused[reason] ?? 0) + 1;
    },
    countStoreFailure(failure: StoreFailure): void {
      failures[failure] += 1;
    },
    countFetch(issuer: string, result: FetchResult): void {
      const counts = fetches.get(issuer) ?? { ...noFetches };
      counts[result] += 1;
      fetches.set(issuer, counts);
    },
    routes: () => [...routes.values()],
    storeFailures: () => Object.entries(failures),
    fetchesOf: (issuer: string) => Object.entries(fetches.get(issuer) ?? noFetches),
    /** One outcome per request. A token is accepted before the requirements of a route are checked, so that these are subtracted. */
    outcomes() {
      const rejectedLater = denials.reduce((sum, reason) => sum + (refused[reason] ?? 0), 0);
      return Object.entries({ ...refused, accepted: acceptedTokens - rejectedLater });
    },
  };
}

const zeros = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
