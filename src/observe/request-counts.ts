import type { FetchFailure, RefusalReason } from 'protected-api/guard';
import type { StoreFailure } from '../redis/replay-store.ts';

/** Upper bounds of the duration buckets, from a cached token on an idle machine to a request that waits for the key set. */
export const durationBoundsSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];

const durationBoundsMs = durationBoundsSeconds.map((seconds) => seconds * 1000);

/** The label of all unknown paths. */
const unmatched = 'unmatched';

/** Requests to one route. */
export interface RouteCounts {
  /** The pattern of the route, or `unmatched` for all unknown paths. */
  readonly route: string;
  /** Indexed by status. */
  readonly statuses: Float64Array;
  /** Statuses that are reported before they are counted for the first time. */
  readonly expected: Set<number>;
  /** Indexed like {@link durationBoundsSeconds}. The last element counts durations above all bounds. */
  readonly durations: Float64Array;
  durationSumMs: number;
}

export type RequestCounts = ReturnType<typeof createRequestCounts>;

/** What came of an attempt to fetch a key set. */
export type FetchResult = 'success' | FetchFailure;

/** A route of Elysia. */
interface DeclaredRoute {
  readonly path: string;
  readonly hooks?: { readonly response?: object };
}

/** Rejections of requests whose token was accepted. */
const afterAcceptance: readonly RefusalReason[] = [
  'authentication_insufficient',
  'scope_insufficient',
  'access_denied',
];

/**
 * Returns the counts that metrics are rendered from. They are plain numbers in arrays, because a metrics library takes longer
 * to find a series by its labels than the service takes to respond. Routes come from the route table, so a client cannot
 * create a series. Every one of `reasons` starts at 0, so that a rate contains its first occurrence.
 */
export function createRequestCounts(reasons: readonly RefusalReason[]) {
  const routes = new Map<string, RouteCounts>();
  const refused: Record<string, number> = Object.fromEntries(reasons.map((reason) => [reason, 0]));
  const storeFailures: Record<string, number> = {};
  const fetches: Record<string, Record<string, number>> = {};
  let acceptedTokens = 0;

  function countsOf(route: string): RouteCounts {
    const known = routes.get(route);
    if (known) return known;
    const created = createRouteCounts(route);
    routes.set(route, created);
    return created;
  }

  return {
    /** Makes the statuses that these routes declare start at 0, and those that every route can have. */
    expect(declared: readonly DeclaredRoute[]): void {
      for (const { path, hooks } of declared) {
        const { expected } = countsOf(path);
        for (const status of [200, 500, ...Object.keys(hooks?.response ?? {}).map(Number)]) expected.add(status);
      }
      for (const status of [404, 500]) countsOf(unmatched).expected.add(status);
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
    countRefusal: (reason: RefusalReason) => increment(refused, reason),
    countStoreFailure: (failure: StoreFailure) => increment(storeFailures, failure),
    countFetch(issuer: string, result: FetchResult): void {
      fetches[issuer] ??= {};
      increment(fetches[issuer], result);
    },
    routes: () => [...routes.values()],
    storeFailures: () => storeFailures,
    /** By issuer and result. */
    fetches: () => fetches,
    /** One outcome per request. A token is accepted before the requirements of a route are checked, so that these are subtracted. */
    outcomes() {
      const rejectedLater = afterAcceptance.reduce((sum, reason) => sum + (refused[reason] ?? 0), 0);
      return { ...refused, accepted: acceptedTokens - rejectedLater };
    },
  };
}

function increment(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

function createRouteCounts(route: string): RouteCounts {
  return {
    route,
    statuses: new Float64Array(600),
    expected: new Set(),
    durations: new Float64Array(durationBoundsSeconds.length + 1),
    durationSumMs: 0,
  };
}
