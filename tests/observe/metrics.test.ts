import { describe, expect, test } from 'bun:test';
import { version } from '../../package.json' with { type: 'json' };
import { describeRejections } from '../../src/auth/guard.ts';
import type { DpopMode } from '../../src/auth/schemes.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { createRequestCounts, durationBoundsSeconds } from '../../src/observe/request-counts.ts';

const issuer = 'https://issuer.example.test/';

function countsWith(dpop: DpopMode) {
  const options = { issuer, audience: 'b', dpop, publicUrl: 'https://c.test' };
  return createRequestCounts(describeRejections(options, { scope: 'd' }).map(({ reason }) => reason));
}

async function scrape(counts: ReturnType<typeof createRequestCounts>): Promise<string> {
  const held = { issuer, keys: 0, ageMs: undefined, lastFailure: undefined, nextAttemptMs: 0 };
  const metrics = createMetrics({
    counts,
    state: () => ({ issuers: [held], cacheHits: 0, cacheEntries: 0 }),
    replayStore: { state: () => ({ isConnected: true }) },
    droppedLogLines: () => 0,
  });
  return (await metrics(new Request('http://localhost/metrics'))).text();
}

/** The values of the last label of a metric before anything has happened, all of which are 0. */
async function initialValues(metric: string, dpop: DpopMode): Promise<string[]> {
  const counts = countsWith(dpop);
  counts.expect([{ path: '/a', hooks: { response: { 200: {}, 401: {} } } }, { path: '/b' }]);
  const lines = (await scrape(counts)).split('\n').filter((line) => line.startsWith(`${metric}{`));
  return lines.map((line) => /"([^"]+)"\} 0$/.exec(line)?.[1] ?? `not 0: ${line}`);
}

describe('counters start at 0', () => {
  const fetched = ['success', 'timeout', 'network', 'redirect', 'status', 'encoded', 'too_large', 'malformed'];
  const failures = ['connection', 'timeout', 'full', 'refused', 'overloaded', 'forgotten'];
  test.each([
    // Of each route, and of unknown paths.
    ['http_requests_total', '200 401 500 200 500 404 500'.split(' ')],
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

test('build_info names the version', async () =>
  expect(await scrape(countsWith('off'))).toContain(`\nbuild_info{version="${version}"} 1\n`));

test('http_request_duration_seconds puts each duration below the bounds that it does not exceed, the bound itself included', async () => {
  const counts = countsWith('off');
  const spreadMs = Array.from({ length: 1000 }, (_, index) => 0.01 * 1.015 ** index);
  const durationsMs = [0, ...durationBoundsSeconds.map((seconds) => seconds * 1000), ...spreadMs];
  for (const durationMs of durationsMs) counts.countRequest('/a', 200, durationMs);

  const text = await scrape(counts);
  const name = 'http_request_duration_seconds';
  const lines = text.split('\n').filter((line) => line.startsWith(name));
  const atMost = (bound: number) => durationsMs.filter((durationMs) => durationMs <= bound * 1000).length;
  const sum = durationsMs.reduce((total, durationMs) => total + durationMs, 0) / 1000;
  expect(lines).toEqual([
    ...durationBoundsSeconds.map((bound) => `${name}_bucket{le="${bound}",route="/a"} ${atMost(bound)}`),
    `${name}_bucket{le="+Inf",route="/a"} ${durationsMs.length}`,
    expect.stringContaining(`${name}_sum{route="/a"} `),
    `${name}_count{route="/a"} ${durationsMs.length}`,
  ]);
  expect(Number(lines.at(-2)?.split(' ')[1])).toBeCloseTo(sum, 6);
  expect(text).toContain(`# TYPE ${name} histogram\n`);
});
