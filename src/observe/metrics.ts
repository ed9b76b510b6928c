import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { GuardState, KeySetState } from 'protected-api/guard';
import packageJson from '../../package.json' with { type: 'json' };
import type { StoreFailure } from '../redis/replay-store.ts';
import type { FetchResult, RequestCounts } from './request-counts.ts';
import { addRequestCounter, renderDurations } from './request-metrics.ts';

/** What metrics are read from when they are scraped, so that keeping them costs a request next to nothing. */
export interface MetricSources {
  readonly counts: RequestCounts;
  readonly state: () => GuardState;
  /** The store that is shared with other processes, where there is one. */
  readonly replayStore?: { state(): { readonly isConnected: boolean } } | undefined;
  readonly droppedLogLines: () => number;
  /** Without `jwksUri`, the URLs of key sets can come from metadata. */
  readonly settings: { readonly jwksUri: string | undefined };
}

/** The values of the label `result`, and whether they occur only with metadata. */
const fetchResults: Readonly<Record<FetchResult, boolean>> = {
  success: false,
  timeout: false,
  network: false,
  redirect: false,
  status: false,
  encoded: false,
  too_large: false,
  malformed: false,
  issuer_mismatch: true,
  insecure_address: true,
  no_usable_key: false,
};

/** The values of the label `failure` of the replay store. */
const storeFailures: Readonly<Record<StoreFailure, true>> = {
  connection: true,
  timeout: true,
  full: true,
  refused: true,
  overloaded: true,
  forgotten: true,
};

/** Metrics of prom-client that break the rules of Prometheus: gauges whose names end like those of counters. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/**
 * Returns the service's metrics. Label values come from the service's own tables and settings: a client cannot create one.
 * Counters start at 0 for every value that is known in advance, because Prometheus sees no increase from nothing to 1.
 */
export function createMetrics(sources: MetricSources) {
  const registry = new Registry();
  const registers = [registry];
  // The delay of the event loop is sampled each 100 ms: each 10 ms, as by default, takes half a percent of a core when idle.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  for (const name of misnamed) registry.removeSingleMetric(name);
  addBuildInfo(registers);
  addRequestCounter(registers, sources.counts);
  addTokenMetrics(registers, sources);
  addKeySetGauges(registers, sources);
  addReadCounter(registers, 'log_lines_dropped_total', 'Log lines that could not be written.', sources.droppedLogLines);
  addStoreMetrics(registers, sources);
  addFetchCounter(registers, sources);

  return {
    /** Responds to a scrape of `/metrics`. */
    async fetch(request: Request): Promise<Response> {
      if (new URL(request.url, 'http://localhost').pathname !== '/metrics') return new Response(null, { status: 404 });
      const text = `${await registry.metrics()}\n${renderDurations(sources.counts)}`;
      return new Response(text, { headers: { 'content-type': registry.contentType } });
    },
  };
}

function addBuildInfo(registers: Registry[]): void {
  const { version } = packageJson;
  new Gauge({ name: 'build_info', help: 'Always 1. Names the version.', labelNames: ['version'], registers }).set(
    { version },
    1,
  );
}

function addTokenMetrics(registers: Registry[], { counts, state }: MetricSources): void {
  new Counter({
    name: 'access_token_outcomes_total',
    help: 'Requests to protected routes, by outcome: accepted, or the reason for the rejection.',
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

function addStoreMetrics(registers: Registry[], { replayStore, counts }: MetricSources): void {
  if (replayStore === undefined) return;
  new Gauge({
    name: 'replay_store_up',
    help: '1 while the replay store can be written to, else 0.',
    registers,
    collect() {
      this.set(Number(replayStore.state().isConnected));
    },
  });
  new Counter({
    name: 'replay_store_failures_total',
    help: 'Failed attempts to connect to the replay store or to use it, by kind of failure.',
    labelNames: ['failure'],
    registers,
    collect() {
      this.reset();
      for (const failure of Object.keys(storeFailures)) this.inc({ failure }, counts.storeFailures()[failure] ?? 0);
    },
  });
}

function addFetchCounter(registers: Registry[], { counts, state, settings }: MetricSources): void {
  new Counter({
    name: 'key_set_fetches_total',
    help: 'Attempts to fetch the key set, by issuer and result: success, or the kind of failure.',
    labelNames: ['issuer', 'result'],
    registers,
    collect() {
      this.reset();
      for (const { issuer } of state().issuers)
        for (const [result, isOfMetadata] of Object.entries(fetchResults)) {
          const count = counts.fetches()[issuer]?.[result];
          if (settings.jwksUri === undefined || !isOfMetadata || count) this.inc({ issuer, result }, count ?? 0);
        }
    },
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
  gauge('key_set_keys', 'Number of trusted key IDs.', ({ keys }) => keys);
  gauge(
    'key_set_age_seconds',
    'Age of the cached keys; NaN if there are none.',
    ({ ageMs = Number.NaN }) => ageMs / 1000,
  );
  gauge(
    'key_set_next_attempt_seconds',
    'Time until the next scheduled fetch.',
    (issuer) => issuer.nextAttemptMs / 1000,
  );
}
