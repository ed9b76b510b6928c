import { describe, expect, test } from 'bun:test';
import packageJson from '../../package.json' with { type: 'json' };
import { describeRejections } from '../../src/auth/guard.ts';
import type { DpopMode } from '../../src/auth/schemes.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { createRequestCounts, durationBoundsSeconds } from '../../src/observe/request-counts.ts';

const issuer = 'https://issuer.example.test/';
const held = { issuer, keys: 0, ageMs: undefined, lastFailure: undefined, nextAttemptMs: 0 };
const state = () => ({ issuers: [held], cacheHits: 0, cacheEntries: 0 });
const replayStore = { state: () => ({ isConnected: true }) };

const metricsOf = (counts: ReturnType<typeof createRequestCounts>, jwksUri?: string) =>
  createMetrics({ counts, state, replayStore, droppedLogLines: () => 0, settings: { jwksUri } });

async function scrape(...sources: Parameters<typeof metricsOf>): Promise<string> {
  const response = await metricsOf(...sources).fetch(new Request('http://localhost/metrics'));
  return response.text();
}

const reasonsWith = (dpop: DpopMode) =>
  describeRejections(
    { issuer: 'https://a.test/', audience: 'b', dpop, publicUrl: 'https://c.test' },
    { scope: 'd' },
  ).map(({ reason }) => reason);

/** The values of the last label of a metric before anything has happened, all of which are 0. */
async function initialValues(metric: string, dpop: DpopMode, jwksUri?: string): Promise<string[]> {
  const counts = createRequestCounts(reasonsWith(dpop));
  counts.expect([{ path: '/a', hooks: { response: { 200: {}, 401: {} } } }, { path: '/b' }]);
  const lines = (await scrape(counts, jwksUri)).split('\n').filter((line) => line.startsWith(`${metric}{`));
  return lines.map((line) => /"([^"]+)"\} 0$/.exec(line)?.[1] ?? `not 0: ${line}`);
}

describe('counters start at 0', () => {
  const always = ['success', 'timeout', 'network', 'redirect', 'status', 'encoded', 'too_large', 'malformed'];

  test('for the statuses that a route declares, those of every route, and those of unknown paths', async () => {
    const statuses = ['200', '401', '500', '200', '500', '404', '500'];
    expect(await initialValues('http_requests_total', 'off')).toEqual(statuses);
  });

  test('for the results of a fetch, of which some need metadata', async () => {
    const found = [...always, 'issuer_mismatch', 'insecure_address', 'no_usable_key'];
    expect(await initialValues('key_set_fetches_total', 'off')).toEqual(found);
    const configured = [...always, 'no_usable_key'];
    expect(await initialValues('key_set_fetches_total', 'off', `${issuer}keys`)).toEqual(configured);
  });

  test('for the failures of the replay store', async () => {
    const failures = ['connection', 'timeout', 'full', 'refused', 'overloaded', 'forgotten'];
    expect(await initialValues('replay_store_failures_total', 'on')).toEqual(failures);
  });

  for (const [dpop, occur, never] of [
    ['off', ['accepted', 'token_bound', 'scope_insufficient'], ['proof_replayed', 'dpop_required']],
    ['on', ['accepted', 'token_bound', 'proof_replayed'], ['dpop_required']],
    ['required', ['accepted', 'dpop_required', 'proof_replayed'], ['token_bound', 'scheme_unsupported']],
  ] as const) {
    test(`for the outcomes that can occur with DPOP=${dpop}`, async () => {
      const outcomes = await initialValues('access_token_outcomes_total', dpop);
      expect(outcomes).toEqual(expect.arrayContaining([...occur]));
      expect(outcomes.filter((outcome) => never.some((other) => other === outcome))).toEqual([]);
      expect(outcomes.filter((outcome) => outcome.startsWith('not 0'))).toEqual([]);
    });
  }
});

test('build_info names the version', async () => {
  expect(await scrape(createRequestCounts(reasonsWith('off')))).toContain(
    `\nbuild_info{version="${packageJson.version}"} 1\n`,
  );
});

describe('http_request_duration_seconds', () => {
  test('puts each duration of a run below the bounds that it does not exceed, the bound itself included', async () => {
    const counts = createRequestCounts(reasonsWith('off'));
    const spreadMs = Array.from({ length: 1000 }, (_, index) => 0.01 * 1.015 ** index);
    const durationsMs = [0, ...durationBoundsSeconds.map((seconds) => seconds * 1000), ...spreadMs];
    for (const durationMs of durationsMs) counts.countRequest('/a', 200, durationMs);

    const text = await scrape(counts);
    const lines = text.split('\n').filter((line) => line.startsWith('http_request_duration_seconds'));
    const atMost = (bound: number) => durationsMs.filter((durationMs) => durationMs <= bound * 1000).length;
    const sum = durationsMs.reduce((total, durationMs) => total + durationMs, 0) / 1000;
    expect(lines).toEqual([
      ...durationBoundsSeconds.map(
        (bound) => `http_request_duration_seconds_bucket{le="${bound}",route="/a"} ${atMost(bound)}`,
      ),
      `http_request_duration_seconds_bucket{le="+Inf",route="/a"} ${durationsMs.length}`,
      expect.stringMatching(/^http_request_duration_seconds_sum\{route="\/a"\} /),
      `http_request_duration_seconds_count{route="/a"} ${durationsMs.length}`,
    ]);
    expect(Number(lines.at(-2)?.split(' ')[1])).toBeCloseTo(sum, 6);
    expect(text).toContain('# TYPE http_request_duration_seconds histogram\n');
  });
});
