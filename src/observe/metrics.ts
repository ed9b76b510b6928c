import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

/** What is read when someone asks, so that keeping it costs a request nothing. */
export interface MetricSources {
  readonly keySet: {
    state(): { readonly keys: number; readonly ageMs: number | undefined; readonly nextAttemptMs: number };
  };
  readonly verifier: { state(): { readonly cacheHits: number; readonly cacheEntries: number } };
}

/** From a remembered token on an idle machine to a request that waited for the key set. */
const durationBucketsSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];

/** Returns the service's metrics. Label values come from the service's own tables: a client cannot create one. */
export function createMetrics({ keySet, verifier }: MetricSources) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Requests answered, by route pattern and status.',
    labelNames: ['route', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from a request to its answer, by route pattern.',
    labelNames: ['route'],
    buckets: durationBucketsSeconds,
    registers,
  });
  const outcomes = new Counter({
    name: 'access_token_outcomes_total',
    help: 'Outcomes of checking requests to protected routes: accepted tokens, and refusals by reason. A token that lacks a scope counts as accepted too.',
    labelNames: ['outcome'],
    registers,
  });
  const fetches = new Counter({
    name: 'key_set_fetches_total',
    help: 'Attempts to fetch the key set, by result: success, or the kind of failure.',
    labelNames: ['result'],
    registers,
  });
  addGauges(registers, { keySet, verifier });

  const seriesOf = createSeriesCache(requests, durations);
  return {
    /** Answers a scrape of `/metrics`. */
    async fetch(request: Request): Promise<Response> {
      if (new URL(request.url, 'http://localhost').pathname !== '/metrics') return new Response(null, { status: 404 });
      return new Response(await registry.metrics(), { headers: { 'content-type': registry.contentType } });
    },
    countRequest(route: string, status: number, durationSeconds: number) {
      const series = seriesOf(route, status);
      series.requests.inc();
      series.durations.observe(durationSeconds);
    },
    countOutcome: (outcome: string) => outcomes.inc({ outcome }),
    countFetch: (result: string) => fetches.inc({ result }),
  };
}

/** Finding a series by its labels costs more than counting in it; routes and statuses are few. */
function createSeriesCache(requests: Counter, durations: Histogram) {
  const cache = new Map<string, { requests: Counter.Internal; durations: Histogram.Internal<'route'> }>();
  return (route: string, status: number) => {
    const key = `${status} ${route}`;
    let series = cache.get(key);
    if (!series) {
      series = { requests: requests.labels(route, String(status)), durations: durations.labels(route) };
      cache.set(key, series);
    }
    return series;
  };
}

function addGauges(registers: Registry[], { keySet, verifier }: MetricSources): void {
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge('key_set_keys', 'Key identifiers held and trusted.', () => keySet.state().keys);
  gauge(
    'key_set_age_seconds',
    'Age of the keys held; NaN when none are.',
    () => (keySet.state().ageMs ?? Number.NaN) / 1000,
  );
  gauge(
    'key_set_next_attempt_seconds',
    'Time until the key set is fetched again.',
    () => keySet.state().nextAttemptMs / 1000,
  );
  gauge('access_token_cache_entries', 'Verified tokens remembered.', () => verifier.state().cacheEntries);
  new Counter({
    name: 'access_token_cache_hits_total',
    help: 'Tokens answered from memory.',
    registers,
    collect() {
      this.reset();
      this.inc(verifier.state().cacheHits);
    },
  });
}
