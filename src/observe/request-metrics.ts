import { Counter, Histogram, type Registry } from 'prom-client';
import { durationBoundsSeconds, type RequestCounts, type RouteCounts } from './request-counts.ts';

/** Adds the number of requests and their durations, which are rendered from `counts` when they are scraped. */
export function addRequestMetrics(registers: Registry[], counts: RequestCounts): void {
  new Counter({
    name: 'http_requests_total',
    help: 'Requests answered, by route pattern and status.',
    labelNames: ['route', 'status'],
    registers,
    collect() {
      this.reset();
      for (const { route, statuses, expected } of counts.routes())
        for (const [status, count] of statuses.entries())
          if (count > 0 || expected.has(status)) this.inc({ route, status }, count);
    },
  });
  new CountedHistogram(
    'http_request_duration_seconds',
    'Time from a request to its answer, by route pattern.',
    registers,
    counts,
  );
}

/** Durations that were counted elsewhere: prom-client can only observe one at a time, and takes a microsecond for it. */
class CountedHistogram extends Histogram<'route'> {
  /** Replaces the method by which a registry reads a histogram (prom-client 15, `lib/registry.js`). */
  readonly getForPromString: () => object;

  constructor(name: string, help: string, registers: Registry[], counts: RequestCounts) {
    super({ name, help, labelNames: ['route'], registers });
    this.getForPromString = () => ({
      name,
      help,
      type: 'histogram',
      values: counts.routes().flatMap((route) => samplesOf(name, route)),
    });
  }
}

function samplesOf(name: string, { route, durations, durationSumMs }: RouteCounts) {
  let count = 0;
  const buckets = [...durations].map((observed, index) => {
    count += observed;
    return {
      metricName: `${name}_bucket`,
      labels: { le: durationBoundsSeconds[index] ?? '+Inf', route },
      value: count,
    };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: { route }, value: durationSumMs / 1000 },
    { metricName: `${name}_count`, labels: { route }, value: count },
  ];
}
