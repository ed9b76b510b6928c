import { collectDefaultMetrics, Registry } from 'prom-client';
import type { GuardState, KeySetState } from 'protected-api/guard';
import packageJson from '../../package.json' with { type: 'json' };
import { durationBoundsSeconds, type RequestCounts, type RouteCounts } from './request-counts.ts';

/** The sources from which metrics are read at a scrape, so that they cost a request almost nothing. */
export interface MetricSources {
  readonly counts: RequestCounts;
  readonly state: () => GuardState;
  /** The store that is shared with other processes, where there is one. */
  readonly replayStore?: { state(): { readonly isConnected: boolean } } | undefined;
  readonly droppedLogLines: () => number;
}

/** Metrics of prom-client that break the rules of Prometheus: gauges whose names end like those of counters. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/**
 * Returns a function that responds to a scrape of `/metrics` with the service's metrics: those of the process by prom-client, and
 * its own, which are counted elsewhere. Label values come from the service's own tables and settings: a client cannot create one.
 * Counters start at 0 for every value that is known in advance, because Prometheus sees no increase from nothing to 1.
 */
export function createMetrics(sources: MetricSources) {
  const register = new Registry();
  // The delay of the event loop is sampled each 100 ms: each 10 ms, as by default, takes half a percent of a core when idle.
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 100 });
  for (const name of misnamed) register.removeSingleMetric(name);
  return async (request: Request): Promise<Response> => {
    if (new URL(request.url, 'http://localhost').pathname !== '/metrics') return new Response(null, { status: 404 });
    const text = [await register.metrics(), ...readMetrics(sources).map(render)].join('\n');
    return new Response(text, { headers: { 'content-type': register.contentType } });
  };
}

type Sample = readonly [labels: Readonly<Record<string, string | number>>, value: number, suffix?: string];

type Metric = readonly [
  type: 'counter' | 'gauge' | 'histogram',
  name: string,
  help: string,
  samples: readonly Sample[],
];

/** Returns a metric in the text format of Prometheus, in which labels are escaped as strings of JSON are. */
function render([type, name, help, samples]: Metric): string {
  const lines = samples.map(([labels, value, suffix = '']) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(String(text))}`);
    return `${name}${suffix}${pairs.length > 0 ? `{${pairs}}` : ''} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

/** Returns a sample for each entry, which is named by this label. */
const samplesBy = (label: string, entries: readonly (readonly [string, number])[], others = {}) =>
  entries.map(([name, value]): Sample => [{ ...others, [label]: name }, value]);

function durationSamples({ route, durations, durationSumMs }: RouteCounts): Sample[] {
  let count = 0;
  const buckets = [...durations].map((observed, index): Sample => {
    count += observed;
    return [{ le: durationBoundsSeconds[index] ?? '+Inf', route }, count, '_bucket'];
  });
  return [...buckets, [{ route }, durationSumMs / 1000, '_sum'], [{ route }, count, '_count']];
}

function readMetrics({ counts, state, replayStore, droppedLogLines }: MetricSources): readonly Metric[] {
  const { issuers, cacheHits, cacheEntries } = state();
  const byRoute = (read: (route: RouteCounts) => Sample[]) => counts.routes().flatMap(read);
  const byIssuer = (read: (held: KeySetState) => number) =>
    issuers.map((held): Sample => [{ issuer: held.issuer }, read(held)]);
  const requests = byRoute(({ route, statuses }) => samplesBy('status', Object.entries(statuses), { route }));
  const fetches = issuers.flatMap(({ issuer }) => samplesBy('result', counts.fetchesOf(issuer), { issuer }));
  const ages = byIssuer(({ ageMs = Number.NaN }) => ageMs / 1000);
  const attempts = byIssuer(({ nextAttemptMs }) => nextAttemptMs / 1000);
  const outcomes = 'Requests to protected routes, by outcome: accepted, or the reason for the rejection.';
  const results = 'Attempts to fetch the key set, by issuer and result: success, or the kind of failure.';
  const kinds = 'Failed attempts to connect to the replay store or to use it, by kind of failure.';
  const ofProcess: readonly Metric[] = [
    ['gauge', 'build_info', 'Always 1. Names the version.', [[{ version: packageJson.version }, 1]]],
    ['counter', 'http_requests_total', 'Requests, by route pattern and status.', requests],
    [
      'histogram',
      'http_request_duration_seconds',
      'Time from request to response, by route pattern.',
      byRoute(durationSamples),
    ],
    ['counter', 'access_token_outcomes_total', outcomes, samplesBy('outcome', counts.outcomes())],
    ['counter', 'access_token_cache_hits_total', 'Tokens found in the cache of verified tokens.', [[{}, cacheHits]]],
    ['gauge', 'access_token_cache_entries', 'Verified tokens in the cache.', [[{}, cacheEntries]]],
    ['counter', 'log_lines_dropped_total', 'Log lines that could not be written.', [[{}, droppedLogLines()]]],
    ['gauge', 'key_set_keys', 'Number of trusted key IDs.', byIssuer(({ keys }) => keys)],
    ['gauge', 'key_set_age_seconds', 'Age of the cached keys; NaN if there are none.', ages],
    ['gauge', 'key_set_next_attempt_seconds', 'Time until the next scheduled fetch.', attempts],
    ['counter', 'key_set_fetches_total', results, fetches],
  ];
  if (replayStore === undefined) return ofProcess;
  const isUp = Number(replayStore.state().isConnected);
  return [
    ...ofProcess,
    ['gauge', 'replay_store_up', '1 while the replay store can be written to, else 0.', [[{}, isUp]]],
    ['counter', 'replay_store_failures_total', kinds, samplesBy('failure', counts.storeFailures())],
  ];
}
