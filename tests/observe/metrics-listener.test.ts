import { describe, expect, test } from 'bun:test';
import { hosts } from '../adversary/wire-attacks.ts';
import { freePort, until } from '../support/child-process.ts';
import { fixtureFor } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { rawRequest } from '../support/raw-http.ts';

const METRICS_PORT = String(await freePort());
const METRICS_HOST = '127.0.0.2';
const scrape = (path = '/metrics', host = METRICS_HOST) => fetch(`http://${host}:${METRICS_PORT}${path}`);

describe.each([sourceForm, executableForm])('the metrics of $name', (form) => {
  const fixture = fixtureFor(form, { settings: { METRICS_PORT, METRICS_HOST } });

  test('are Prometheus text on a separate listener', async () => {
    expect((await scrape()).headers.get('content-type')).toStartWith('text/plain; version=0.0.4');
    expect((await scrape('/api/public')).status).toBe(404);
    await expect(scrape('/metrics', '127.0.0.1')).rejects.toThrow();
  });

  test('have a response without a fault for every Host, valid or not', async () => {
    for (const host of [...hosts, '[', 'a:99999']) {
      const lines = ['GET /metrics HTTP/1.1', `Host: ${host}`, 'Connection: close'];
      const { status } = await rawRequest(`http://${METRICS_HOST}:${METRICS_PORT}`, lines);
      expect([200, 400, 404], host).toContain(status);
    }
    expect(fixture().service.output()).not.toContain('Cannot respond to a request');
  });

  test('count requests and tokens, describe keys and the process, and have no series that a client chose', async () => {
    const { service, issuer, mint, get } = fixture();
    await until(async () => (await service.fetch('/readyz')).ok, 'keys are held');
    const token = mint();
    const paths = ['/api/public', '/api/public?d', '/api/private', '/metrics', '/a', '/api/private/c', '/%00', '/"e"'];
    for (const path of paths) await service.fetch(path);
    for (const shown of [token, token, mint({ claims: { exp: 1 } })]) await get('/api/private', shown);
    await get('/api/private-scoped', mint({ claims: { scope: '' } }));

    const lines = (await (await scrape()).text()).split('\n');
    const series = Object.fromEntries(lines.map((line) => [line.replace(/ \S+$/, ''), Number(line.split(' ').at(-1))]));
    const of = `issuer="${issuer.url}"`;
    expect(series).toMatchObject({
      'protected_api_http_requests_total{route="/api/public",status="200"}': 2,
      'protected_api_http_requests_total{route="/api/private",status="200"}': 2,
      'protected_api_http_requests_total{route="/api/private",status="401"}': 2,
      'protected_api_http_requests_total{route="/api/private-scoped",status="403"}': 1,
      'protected_api_http_request_duration_seconds_count{route="/api/private"}': 4,
      'protected_api_access_token_outcomes_total{outcome="accepted"}': 2,
      'protected_api_access_token_outcomes_total{outcome="token_expired"}': 1,
      'protected_api_access_token_outcomes_total{outcome="credentials_missing"}': 1,
      'protected_api_access_token_outcomes_total{outcome="scope_insufficient"}': 1,
      protected_api_access_token_cache_hits_total: 1,
      protected_api_access_token_cache_entries: 2,
      [`protected_api_key_set_fetches_total{${of},result="success"}`]: 1,
      [`protected_api_key_set_keys{${of}}`]: 1,
    });
    expect(series[`protected_api_key_set_age_seconds{${of}}`]).toBeGreaterThan(0);
    expect(series[`protected_api_key_set_next_attempt_seconds{${of}}`]).toBeGreaterThan(500);
    expect(series.process_resident_memory_bytes).toBeGreaterThan(10_000_000);
    expect(series.process_cpu_seconds_total).toBeGreaterThan(0);
    const unknown = lines.filter((line) => /^protected_api_http_requests_total{.*status="404"/.test(line));
    expect(unknown).toEqual(['protected_api_http_requests_total{route="unmatched",status="404"} 5']);
  });
});
