import { describe, expect, test } from 'bun:test';
import { createMetrics } from '../../src/observe/metrics.ts';
import { createRequestCounts, durationBoundsSeconds } from '../../src/observe/request-counts.ts';

const state = () => ({ issuers: [], cacheHits: 0, cacheEntries: 0 });

async function scrape(counts: ReturnType<typeof createRequestCounts>): Promise<string> {
  const response = await createMetrics({ counts, state, droppedLogLines: () => 0 }).fetch(
    new Request('http://localhost/metrics'),
  );
  return response.text();
}

describe('http_request_duration_seconds', () => {
  test('puts each duration of a run below the bounds that it does not exceed, the bound itself included', async () => {
    const counts = createRequestCounts();
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
