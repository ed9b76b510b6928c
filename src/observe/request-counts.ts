import type { Metric, Registry } from 'prom-client';

/** Upper bounds of the duration buckets, from a cached token to a request that waits for the key set. */
export const durationBoundsSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];

/** What was counted for one route. */
interface RouteCounts {
  readonly byStatus: Map<number, number>;
  /** Requests by the first bound that is not below their duration; the last element is for those above every bound. */
  readonly buckets: number[];
  sumSeconds: number;
}

const increase = <Key>(counts: Map<Key, number>, key: Key, by = 1) => counts.set(key, (counts.get(key) ?? 0) + by);

/**
 * Counts what happens once a request, in plain numbers: prom-client hashes labels each time, a sixth of a request.
 * @param register gets the three metrics, whose values it reads at a scrape
 */
export function createRequestCounts(register: Registry) {
  const routes = new Map<string, RouteCounts>();
  const outcomes = new Map<string, number>();

  function countsOf(route: string): RouteCounts {
    const known = routes.get(route);
    if (known) return known;
    const counts = { byStatus: new Map(), buckets: [...durationBoundsSeconds, 0].fill(0), sumSeconds: 0 };
    routes.set(route, counts);
    return counts;
  }

  const add = (name: string, help: string, type: string, read: (name: string) => object[]) =>
    // All that a registry reads of a metric.
    register.registerMetric({ name, get: () => ({ name, help, type, values: read(name) }) } as unknown as Metric);
  add('protected_api_http_requests_total', 'Requests, by route pattern and status.', 'counter', () =>
    [...routes].flatMap(([route, { byStatus }]) =>
      Array.from(byStatus, ([status, value]) => ({ labels: { route, status }, value })),
    ),
  );
  const timed = 'Time from request to response, by route pattern.';
  add('protected_api_http_request_duration_seconds', timed, 'histogram', (name) =>
    [...routes].flatMap(([route, counts]) => histogramValues(name, route, counts)),
  );
  const ended = 'Requests to protected routes, by outcome: accepted, or the reason for the rejection.';
  add('protected_api_access_token_outcomes_total', ended, 'counter', () =>
    Array.from(outcomes, ([outcome, value]) => ({ labels: { outcome }, value })),
  );

  return {
    /** Makes a status of a route start at 0. */
    expectStatus: (route: string, status: number) => void increase(countsOf(route).byStatus, status, 0),
    /** Makes an outcome start at 0. */
    expectOutcome: (outcome: string) => void increase(outcomes, outcome, 0),
    count(route: string, status: number, seconds: number, outcome: string | undefined): void {
      const counts = countsOf(route);
      increase(counts.byStatus, status);
      counts.sumSeconds += seconds;
      let bucket = 0;
      while (seconds > (durationBoundsSeconds[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
      counts.buckets[bucket] = (counts.buckets[bucket] ?? 0) + 1;
      if (outcome !== undefined) increase(outcomes, outcome);
    },
  };
}

/** Each bucket of the format includes all smaller ones. */
function histogramValues(name: string, route: string, { buckets, sumSeconds }: RouteCounts) {
  let value = 0;
  const cumulated = [...durationBoundsSeconds, '+Inf'].map((le, index) => {
    value += buckets[index] ?? 0;
    return { labels: { le, route }, value, metricName: `${name}_bucket` };
  });
  const labels = { route };
  const sum = { labels, value: sumSeconds, metricName: `${name}_sum` };
  return [...cumulated, sum, { labels, value, metricName: `${name}_count` }];
}
