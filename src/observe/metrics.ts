import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { FetchFailure, GuardState, RejectionReason } from 'protected-api';
import packageJson from '../../package.json' with { type: 'json' };
import { sentPathOf } from '../http/route-table.ts';
import { type StoreFailure, storeFailures } from '../redis/store-failure.ts';
import { createRequestCounts } from './request-counts.ts';

/** What is read at a scrape. */
export interface MetricSources {
  readonly state: () => GuardState;
  /** Whether the store that is shared with other processes can be used. */
  readonly isStoreUp: () => boolean;
  readonly droppedLogLines: () => number;
}

/** How a request to a protected route ends: accepted, or the reason for the rejection. */
export type Outcome = 'accepted' | RejectionReason;

export type Metrics = ReturnType<typeof createMetrics>;

/** The label of all unknown paths. */
const unmatched = 'unmatched';

/** The result of an attempt to fetch a key set. */
type FetchResult = 'success' | FetchFailure;

const fetchResults: Readonly<Record<FetchResult, 0>> = {
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

/**
 * Returns the metrics of the service: functions that count, and `respond` for a scrape of `/metrics`. Label values come
 * from the service's own tables and settings, so a client cannot create a series. Counters start at 0 for every value
 * that is known in advance, because Prometheus sees no increase from nothing to 1.
 * @param reasons for which the service can reject a request
 * @param hasStore whether a store is shared with other processes
 */
export function createMetrics(reasons: readonly RejectionReason[], hasStore: boolean) {
  const register = createRegister();
  const { fetches, failures, ...read } = createSeries(register, hasStore);
  const counts = createRequestCounts(register);
  for (const outcome of ['accepted', ...reasons]) counts.expectOutcome(outcome);
  for (const failure of storeFailures) failures?.inc({ failure }, 0);

  function readSources({ state, isStoreUp, droppedLogLines }: MetricSources): void {
    const { issuers, cacheHits, cacheEntries } = state();
    read.cacheEntries.set(cacheEntries);
    for (const [counter, value] of [
      [read.cacheHits, cacheHits],
      [read.droppedLines, droppedLogLines()],
    ] as const) {
      counter.reset();
      counter.inc(value);
    }
    // An issuer may have left.
    for (const gauge of [read.keys, read.ages, read.attempts]) gauge.reset();
    for (const { issuer, keys, ageMs = Number.NaN, nextAttemptMs } of issuers) {
      for (const result of Object.keys(fetchResults)) fetches.inc({ issuer, result }, 0);
      read.keys.set({ issuer }, keys);
      read.ages.set({ issuer }, ageMs / 1000);
      read.attempts.set({ issuer }, nextAttemptMs / 1000);
    }
    read.isStoreUp?.set(Number(isStoreUp()));
  }

  return {
    /** Makes the statuses that these routes declare start at 0, and those that every route can have. */
    expect(routes: readonly { readonly path: string; readonly hooks?: { readonly response?: object } }[]): void {
      const declared = routes.map(
        ({ path, hooks }) => [path, [200, 500, ...Object.keys(hooks?.response ?? {})]] as const,
      );
      for (const [route, statuses] of [...declared, [unmatched, [404, 500]] as const])
        for (const status of statuses) counts.expectStatus(route, Number(status));
    },
    /** `outcome` is undefined if no guard has checked the request. */
    countRequest: (route = unmatched, status: number, durationMs: number, outcome?: Outcome) =>
      counts.count(route, status, durationMs / 1000, outcome),
    countStoreFailure: (failure: StoreFailure) => failures?.inc({ failure }),
    countFetch: (issuer: string, result: FetchResult) => fetches.inc({ issuer, result }),
    async respond({ url }: Request, sources: MetricSources): Promise<Response> {
      // Not by URL, which rejects some hosts.
      if (sentPathOf(url) !== '/metrics') return new Response(null, { status: 404 });
      readSources(sources);
      return new Response(await register.metrics(), { headers: { 'content-type': register.contentType } });
    },
  };
}

/** The metrics of prom-client that mean something under Bun. Others are always 0, or count reserved memory. */
const processMetrics =
  /^process_(?:cpu_(?:user_|system_)?seconds_total|start_time_seconds|resident_memory_bytes|(?:open|max)_fds)$/;

function createRegister(): Registry {
  const register = new Registry();
  // Samples the delay of the event loop as rarely as possible, because it is not used.
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 3_600_000 });
  for (const { name } of register.getMetricsAsArray())
    if (!processMetrics.test(name)) register.removeSingleMetric(name);
  return register;
}

function createSeries(register: Registry, hasStore: boolean) {
  const kept = (name: string, help: string, ...labelNames: string[]) => {
    return { name: `protected_api_${name}`, help, labelNames, registers: [register] };
  };
  const results = 'Attempts to fetch the key set, by issuer and result: success, or the kind of failure.';
  const kinds = 'Failed attempts to connect to the replay store or to use it, by kind of failure.';
  new Gauge(kept('build_info', 'Always 1. Names the version.', 'version')).set({ version: packageJson.version }, 1);
  return {
    cacheHits: new Counter(kept('access_token_cache_hits_total', 'Tokens found in the cache of verified tokens.')),
    cacheEntries: new Gauge(kept('access_token_cache_entries', 'Verified tokens in the cache.')),
    droppedLines: new Counter(kept('log_lines_dropped_total', 'Log lines that could not be written.')),
    keys: new Gauge(kept('key_set_keys', 'Number of trusted key IDs.', 'issuer')),
    ages: new Gauge(kept('key_set_age_seconds', 'Age of the cached keys; NaN if there are none.', 'issuer')),
    attempts: new Gauge(kept('key_set_next_attempt_seconds', 'Time until the next scheduled fetch.', 'issuer')),
    fetches: new Counter(kept('key_set_fetches_total', results, 'issuer', 'result')),
    ...(hasStore && {
      isStoreUp: new Gauge(kept('replay_store_up', '1 while the replay store can be written to, else 0.')),
      failures: new Counter(kept('replay_store_failures_total', kinds, 'failure')),
    }),
  };
}
