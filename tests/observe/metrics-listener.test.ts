import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { freePort, until } from '../support/child-process.ts';
import { executableForm, type Service, sourceForm } from '../support/forms.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';

/** Returns the value of one series, or undefined; labels are in the order in which they are written. */
const sample = (text: string, series: string) => {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
};

for (const form of [sourceForm, executableForm]) {
  describe(`metrics of ${form.name}`, () => {
    let issuer: Issuer;
    let service: Service;
    let metricsOrigin: string;
    const scrape = async () => (await fetch(`${metricsOrigin}/metrics`)).text();
    const get = (path: string, token?: string) =>
      service.fetch(path, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });

    beforeAll(async () => {
      issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
      const port = await freePort();
      metricsOrigin = `http://127.0.0.1:${port}`;
      service = await form.start({ ISSUER: issuer.url, AUDIENCE, METRICS_PORT: String(port) });
      await until(async () => (await service.fetch('/readyz')).ok, 'keys are held');
    }, form.startTimeoutMs);
    afterAll(async () => {
      await service.close();
      await issuer.close();
    });

    test('are Prometheus text on a separate listener', async () => {
      const response = await fetch(`${metricsOrigin}/metrics`);
      expect(response.headers.get('content-type')).toStartWith('text/plain; version=0.0.4');
      expect((await service.fetch('/metrics')).status).toBe(404);
      expect((await fetch(`${metricsOrigin}/api/public`)).status).toBe(404);
    });

    test('count requests by route and status, tokens by outcome, and hits of the cache', async () => {
      const token = mintToken(issuer.url);
      const plain = mintToken(issuer.url, { claims: { scope: '' } });
      for (const [path, shown] of [
        ['/api/public'],
        ['/api/private', token],
        ['/api/private', token],
        ['/api/private', mintToken(issuer.url, { claims: { exp: 1 } })],
        ['/api/private'],
        ['/api/private-scoped', plain],
      ] as const) {
        await get(path, shown);
      }
      const text = await scrape();
      expect(sample(text, 'http_requests_total{route="/api/public",status="200"}')).toBe(1);
      expect(sample(text, 'http_requests_total{route="/api/private",status="200"}')).toBe(2);
      expect(sample(text, 'http_requests_total{route="/api/private",status="401"}')).toBe(2);
      expect(sample(text, 'http_requests_total{route="/api/private-scoped",status="403"}')).toBe(1);
      expect(sample(text, 'http_request_duration_seconds_count{route="/api/private"}')).toBe(4);
      expect(sample(text, 'access_token_outcomes_total{outcome="accepted"}')).toBe(2);
      expect(sample(text, 'access_token_outcomes_total{outcome="token_expired"}')).toBe(1);
      expect(sample(text, 'access_token_outcomes_total{outcome="credentials_missing"}')).toBe(1);
      expect(sample(text, 'access_token_outcomes_total{outcome="scope_insufficient"}')).toBe(1);
      expect(sample(text, 'access_token_cache_hits_total')).toBe(1);
      expect(sample(text, 'access_token_cache_entries')).toBe(2);
    });

    test('describe the keys of each issuer, and the process', async () => {
      const text = await scrape();
      const of = `issuer="${issuer.url}"`;
      expect(sample(text, `key_set_fetches_total{${of},result="success"}`)).toBe(1);
      expect(sample(text, `key_set_keys{${of}}`)).toBe(1);
      expect(sample(text, `key_set_age_seconds{${of}}`)).toBeGreaterThan(0);
      expect(sample(text, `key_set_next_attempt_seconds{${of}}`)).toBeGreaterThan(500);
      expect(sample(text, 'process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
      expect(sample(text, 'process_cpu_seconds_total')).toBeGreaterThan(0);
    });

    test('give a client no way to create a label value', async () => {
      const series = async () =>
        (await scrape()).split('\n').filter((line) => line.startsWith('http_requests_total')).length;
      await get('/nothing');
      const before = await series();
      for (const path of ['/a', '/b', '/api/private/c', '/%00', '/api/public?d', '/"e"']) await get(path);
      expect(await series()).toBe(before);
    });
  });
}
