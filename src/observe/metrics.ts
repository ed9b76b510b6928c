import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { GuardState } from '../auth/elysia/resource-server.ts';
import type { KeySetState } from '../auth/keys/key-set.ts';
import { durationBoundsSeconds, type RequestCounts, type RouteCounts } from './request-counts.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** What metrics are read from when they are scraped, so that keeping them costs a request next to nothing. */
export interface MetricSources {
  readonly counts: RequestCounts;
  readonly state: () => GuardState;
  /** The store that is shared with other processes, where there is one. */
  readonly replayStore?: { state(): { readonly isConnected: boolean } } | undefined;
  readonly droppedLogLines: () => number;
}

/** Returns the service's metrics. Label values come from the service's own tables and settings: a client cannot create one. */
export function createMetrics(sources: MetricSources) {
  const registry = new Registry();
  const registers = [registry];
  // The delay of the event loop is sampled each 100 ms: each 10 ms, as by default, takes half a percent of a core when idle.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  addRequestMetrics(registers, sources.counts);
  addTokenMetrics(registers, sources);
  addKeySetGauges(registers, sources);
  addReadCounter(registers, 'log_lines_dropped_total', 'Log lines that could not be written.', sources.droppedLogLines);
  const storeFailures = sources.replayStore && addStoreMetrics(registers, sources.replayStore);
  const fetches = new Counter({
    name: 'key_set_fetches_total',
    help: 'Attempts to fetch the key set, by issuer and result: success, or the kind of failure.',
    labelNames: ['issuer', 'result'],
    registers,
  });

  return {
    /** Answers a scrape of `/metrics`. */
    async fetch(request: Request): Promise<Response> {
      if (new URL(request.url, 'http://localhost').pathname !== '/metrics') return new Response(null, { status: 404 });
      return new Response(await registry.metrics(), { headers: { 'content-type': registry.contentType } });
    },
    countStoreFailure: (failure: string) => storeFailures?.inc({ failure }),
    countFetch: (issuer: string, result: string) => fetches.inc({ issuer, result }),
  };
}

function addRequestMetrics(registers: Registry[], counts: RequestCounts): void {
  new Counter({
    name: 'http_requests_total',
    help: 'Requests answered, by route pattern and status.',
    labelNames: ['route', 'status'],
    registers,
    collect() {
      this.reset();
      for (const { route, statuses } of counts.routes())
        for (const [status, count] of statuses.entries()) if (count > 0) this.inc({ route, status }, count);
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

function addTokenMetrics(registers: Registry[], { counts, state }: MetricSources): void {
  new Counter({
    name: 'access_token_outcomes_total',
    help: 'Requests to protected routes, by outcome: accepted, or the reason of the refusal.',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(counts.outcomes())) this.inc({ outcome }, count);
    },
  });
  const help = 'Tokens found in the cache of verified tokens.';
  addReadCounter(registers, 'access_token_cache_hits_total', help, () => state().cacheHits);
  new Gauge({
    name: 'access_token_cache_entries',
    help: 'Verified tokens in the cache.',
    registers,
    collect() {
      this.set(state().cacheEntries);
    },
  });
}

function addStoreMetrics(registers: Registry[], store: NonNullable<MetricSources['replayStore']>) {
  new Gauge({
    name: 'replay_store_up',
    help: '1 while the replay store can be written to, else 0.',
    registers,
    collect() {
      this.set(Number(store.state().isConnected));
    },
  });
  return new Counter({
    name: 'replay_store_failures_total',
    help: 'Failed attempts to connect to the replay store or to use it, by kind of failure.',
    labelNames: ['failure'],
    registers,
  });
}

/** A counter that is counted elsewhere. */
function addReadCounter(registers: Registry[], name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers,
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

function addKeySetGauges(registers: Registry[], { state }: MetricSources): void {
  const gauge = (name: string, help: string, read: (issuer: KeySetState) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['issuer'],
      registers,
      collect() {
        for (const held of state().issuers) this.set({ issuer: held.issuer }, read(held));
      },
    });
  gauge('key_set_keys', 'Key identifiers held and trusted.', ({ keys }) => keys);
  gauge('key_set_age_seconds', 'Age of the keys held; NaN without keys.', ({ ageMs = Number.NaN }) => ageMs / 1000);
  gauge(
    'key_set_next_attempt_seconds',
    'Time until the next scheduled fetch.',
    (issuer) => issuer.nextAttemptMs / 1000,
  );
}
