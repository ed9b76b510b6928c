import { describe, expect, test } from 'bun:test';
import { version } from '../../package.json' with { type: 'json' };
import { describeRejections } from '../../src/auth/index.ts';
import type { DpopMode } from '../../src/auth/types.ts';
import { durationBoundsSeconds } from '../../src/observe/request-counts.ts';
import { createTestMetrics } from '../support/test-metrics.ts';

const issuer = 'https://issuer.example.test/';

function metricsWith(dpop: DpopMode) {
  const options = { issuer, audience: 'b', dpop, publicUrl: 'https://c.test' };
  return createTestMetrics(describeRejections(options, { scope: 'd' }).map(({ reason }) => reason));
}

/** The values of the last label of a metric before anything has happened, all of which are 0. */
async function initialValues(metric: string, dpop: DpopMode): Promise<string[]> {
  const { metrics, scrape } = metricsWith(dpop);
  metrics.expect([{ path: '/a', hooks: { response: { 200: {}, 401: {} } } }, { path: '/b' }]);
  const lines = (await scrape()).split('\n').filter((line) => line.startsWith(`protected_api_${metric}{`));
  return lines.map((line) => /"([^"]+)"\} 0$/.exec(line)?.[1] ?? `not 0: ${line}`);
}

describe('counters start at 0', () => {
  const fetched = ['success', 'timeout', 'network', 'redirect', 'status', 'encoded', 'too_large', 'malformed'];
  const failures = ['connection', 'timeout', 'full', 'refused', 'overloaded', 'forgotten'];
  test.each([
    // Of each route, and of unknown paths.
    ['http_requests_total', '200 500 401 200 500 404 500'.split(' ')],
    ['key_set_fetches_total', [...fetched, 'issuer_mismatch', 'insecure_address', 'no_usable_key']],
    ['replay_store_failures_total', failures],
  ])('for each label of %s', async (metric, values) => expect(await initialValues(metric, 'on')).toEqual(values));

  test.each([
    ['off', ['accepted', 'token_bound', 'scope_insufficient'], ['proof_replayed', 'dpop_required']],
    ['on', ['accepted', 'token_bound', 'proof_replayed'], ['dpop_required']],
    ['required', ['accepted', 'dpop_required', 'proof_replayed'], ['token_bound', 'scheme_unsupported']],
  ] as const)('for the outcomes that can occur with DPOP=%s', async (dpop, occur, never) => {
    const outcomes = await initialValues('access_token_outcomes_total', dpop);
    expect(outcomes).toEqual(expect.arrayContaining([...occur]));
    expect(outcomes.filter((outcome) => never.some((other) => other === outcome))).toEqual([]);
    expect(outcomes.filter((outcome) => outcome.startsWith('not 0'))).toEqual([]);
  });
});

test('every metric has the prefix of this service, or describes the process with a value under Bun', async () => {
  const text = await metricsWith('off').scrape();
  const names = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name);
  const ofProcess = names.filter((name) => !name.startsWith('protected_api_'));
  expect(ofProcess).toEqual([
    'process_cpu_user_seconds_total',
    'process_cpu_system_seconds_total',
    'process_cpu_seconds_total',
    'process_start_time_seconds',
    'process_resident_memory_bytes',
    'process_open_fds',
    'process_max_fds',
  ]);
  for (const name of ofProcess.slice(2))
    expect(Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]), name).toBeGreaterThan(0);
  expect(text).toContain(`\nprotected_api_build_info{version="${version}"} 1\n`);
});

test('http_request_duration_seconds counts in seconds, up to the bounds of its buckets', async () => {
  const { metrics, scrape } = metricsWith('off');
  metrics.countRequest('/a', 200, 2.5);
  const name = 'protected_api_http_request_duration_seconds';
  const lines = (await scrape()).split('\n').filter((line) => line.startsWith(name));
  const counted = durationBoundsSeconds.map((bound) => `bucket{le="${bound}",route="/a"} ${bound < 0.0025 ? 0 : 1}`);
  const rest = ['bucket{le="+Inf",route="/a"} 1', 'sum{route="/a"} 0.0025', 'count{route="/a"} 1'];
  expect(lines).toEqual([...counted, ...rest].map((line) => `${name}_${line}`));
});

test('a scrape has what was counted before it, in whole numbers, each time', async () => {
  const { metrics, scrape } = metricsWith('off');
  const counted = async () =>
    [...(await scrape()).matchAll(/^protected_api_(?:http|access_token_out)\w+(?<!_bucket)\{.*[1-9]$/gm)].map(String);
  metrics.countRequest('/a', 200, 4000, 'accepted');
  expect(await counted()).toEqual([
    'protected_api_http_requests_total{route="/a",status="200"} 1',
    'protected_api_http_request_duration_seconds_sum{route="/a"} 4',
    'protected_api_http_request_duration_seconds_count{route="/a"} 1',
    'protected_api_access_token_outcomes_total{outcome="accepted"} 1',
  ]);
  metrics.countRequest('/a', 200, 1000, 'accepted');
  metrics.countRequest(undefined, 404, 0);
  expect((await counted()).map((line) => line.replace(/^protected_api_(\w+?)_(?:total|seconds)/, '$1'))).toEqual([
    'http_requests{route="/a",status="200"} 2',
    'http_requests{route="unmatched",status="404"} 1',
    'http_request_duration_sum{route="/a"} 5',
    'http_request_duration_count{route="/a"} 2',
    'http_request_duration_count{route="unmatched"} 1',
    'access_token_outcomes{outcome="accepted"} 2',
  ]);
});

test('a route with characters of the format is one line of it', async () => {
  const { metrics, scrape } = metricsWith('off');
  metrics.countRequest('/a"b\\c\nd', 200, 1);
  const lines = (await scrape()).split('\n').filter((line) => line.includes('/a'));
  expect(lines[0]).toBe(String.raw`protected_api_http_requests_total{route="/a\"b\\c\nd",status="200"} 1`);
  for (const line of lines) expect(line).toMatch(/^\w+\{(?:\w+="(?:[^"\\]|\\["\\n])*",?)+\} [\d.]+$/);
});

test('the metrics of keys have the issuers that are kept, and no other', async () => {
  const { scrape, issuers } = metricsWith('off');
  const count = async () => (await scrape()).match(/^protected_api_key_set_(?:keys|age|next)\w*\{/gm)?.length;
  expect([await count(), issuers.pop() && (await count())]).toEqual([3, undefined]);
});
