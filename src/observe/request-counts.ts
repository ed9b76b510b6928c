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
  /** Indexed like {@link durationBoundsSeconds}. The last element counts durations above all bounds. */
  readonly durations: Float64Array;
  durationSumMs: number;
}

export type RequestCounts = ReturnType<typeof createRequestCounts>;

/**
 * Returns the counts that metrics are rendered from. They are plain numbers in arrays, because a metrics library takes longer
 * to find a series by its labels than the service takes to respond. Routes come from the route table, so a client cannot
 * create a series.
 */
export function createRequestCounts() {
  const routes = new Map<string, RouteCounts>();
  const refusals: Record<string, number> = {};
  let acceptedTokens = 0;

  return {
    countRequest(route: string | undefined, status: number, durationMs: number): void {
      let counts = routes.get(route ?? unmatched);
      if (counts === undefined) {
        counts = createRouteCounts(route ?? unmatched);
        routes.set(counts.route, counts);
      }
      counts.statuses[status] = (counts.statuses[status] ?? 0) + 1;
      let bucket = 0;
      while (durationMs > (durationBoundsMs[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
      counts.durations[bucket] = (counts.durations[bucket] ?? 0) + 1;
      counts.durationSumMs += durationMs;
    },
    countAcceptedToken(): void {
      acceptedTokens += 1;
    },
    countRefusal(reason: string): void {
      refusals[reason] = (refusals[reason] ?? 0) + 1;
    },
    routes: () => [...routes.values()],
    /** One outcome per request. A token without the scope was accepted before the scope was checked, so it is subtracted here. */
    outcomes: () => ({ ...refusals, accepted: acceptedTokens - (refusals.scope_insufficient ?? 0) }),
  };
}

function createRouteCounts(route: string): RouteCounts {
  return {
    route,
    statuses: new Float64Array(600),
    durations: new Float64Array(durationBoundsSeconds.length + 1),
    durationSumMs: 0,
  };
}
