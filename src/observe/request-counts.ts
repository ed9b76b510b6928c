import { AggregatorRegistry, type Registry } from 'prom-client';

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

/** Counts what happens once a request, in plain numbers: prom-client hashes labels each time, a sixth of a request. */
export function createRequestCounts() {
  const routes = new Map<string, RouteCounts>();
  const outcomes = new Map<string, number>();

  function countsOf(route: string): RouteCounts {
    const known = routes.get(route);
    if (known) return known;
    const counts = { byStatus: new Map(), buckets: [...durationBoundsSeconds, 0].fill(0), sumSeconds: 0 };
    routes.set(route, counts);
    return counts;
  }

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
    /** Returns a registry of three metrics with these names and texts. */
    toRegistry(described: Readonly<Record<'requests' | 'durations' | 'outcomes', { name: string; help: string }>>) {
      const { requests, durations } = described;
      const all = [...routes];
      const requestValues = all.flatMap(([route, { byStatus }]) =>
        Array.from(byStatus, ([status, value]) => ({ labels: { route, status }, value })),
      );
      const durationValues = all.flatMap(([route, counts]) => histogramValues(durations.name, route, counts));
      const outcomeValues = Array.from(outcomes, ([outcome, value]) => ({ labels: { outcome }, value }));
      const metrics = [
        { ...requests, type: 'counter', values: requestValues, aggregator: 'sum' },
        { ...durations, type: 'histogram', values: durationValues, aggregator: 'sum' },
        { ...described.outcomes, type: 'counter', values: outcomeValues, aggregator: 'sum' },
      ];
      return AggregatorRegistry.aggregate([metrics]) as Registry;
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
