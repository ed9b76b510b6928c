import type { RejectionReason } from '../../src/auth/index.ts';
import { createMetrics } from '../../src/observe/metrics.ts';

/** Returns the metrics of a service that has no keys yet, a scrape of them, and the outcomes in it that are not 0. */
export function createTestMetrics(reasons: readonly RejectionReason[] = []) {
  const issuer = 'https://issuer.example.test/';
  const issuers = [{ issuer, keys: 0, ageMs: undefined, lastFailure: undefined, isFetching: false, nextAttemptMs: 0 }];
  const state = () => ({ issuers, cacheHits: 0, cacheEntries: 0 });
  const sources = { state, isStoreUp: () => true, droppedLogLines: () => 0 };
  const metrics = createMetrics(reasons, true);
  const scrape = async () => (await metrics.respond(new Request('http://localhost/metrics'), sources)).text();
  const outcomes = async () =>
    [...(await scrape()).matchAll(/outcome="(\w+)"\} ([1-9]\d*)$/gm)].map(([, name, count]) => [name, Number(count)]);
  return { metrics, scrape, outcomes, issuers };
}
