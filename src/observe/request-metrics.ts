import { Counter, type Registry } from 'prom-client';
import { durationBoundsSeconds, type RequestCounts } from './request-counts.ts';

/** Adds the number of requests, which is read from `counts` when it is scraped. */
export function addRequestCounter(registers: Registry[], counts: RequestCounts): void {
  new Counter({
    name: 'http_requests_total',
    help: 'Requests, by route pattern and status.',
    labelNames: ['route', 'status'],
    registers,
    collect() {
      this.reset();
      for (const { route, statuses, expected } of counts.routes())
        for (const [status, count] of statuses.entries())
          if (count > 0 || expected.has(status)) this.inc({ route, status }, count);
    },
  });
}

/**
 * Returns the durations of requests in the text format of Prometheus, whose labels are escaped as strings of JSON are. A
 * histogram of prom-client can only observe one duration at a time, and takes a microsecond for it.
 */
export function renderDurations(counts: RequestCounts): string {
  const name = 'http_request_duration_seconds';
  const series = counts.routes().flatMap(({ route, durations, durationSumMs }) => {
    const label = `route=${JSON.stringify(route)}`;
    let count = 0;
    const buckets = [...durations].map((observed, index) => {
      count += observed;
      return `${name}_bucket{le="${durationBoundsSeconds[index] ?? '+Inf'}",${label}} ${count}`;
    });
    return [...buckets, `${name}_sum{${label}} ${durationSumMs / 1000}`, `${name}_count{${label}} ${count}`];
  });
  const help = `# HELP ${name} Time from a request to its response, by route pattern.`;
  return [help, `# TYPE ${name} histogram`, ...series, ''].join('\n');
}
