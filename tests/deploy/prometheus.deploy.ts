import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import dashboard from '../../deploy/grafana/dashboard.json';
import { type Environment, freePort, until } from '../support/child-process.ts';
import { serve } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, bearer, mintToken } from '../support/mint.ts';
import { readText, root } from '../support/repository.ts';
import { expectTypes } from './checks.ts';
import { startPrometheus } from './prometheus.ts';

const rules = 'deploy/prometheus/alerts.yaml';

test('each alert fires when its example in alerts.test.yaml says so, and not before', async () => {
  const examples = join(root, 'deploy/prometheus/alerts.test.yaml');
  const { exitCode, stdout, stderr } = await $`promtool test rules ${examples}`.nothrow().quiet();
  expect(exitCode, `${stdout}${stderr}`).toBe(0);
});

test('every alert has an example', async () => {
  const named = async (file: string, key: string) =>
    [...(await readText(file)).matchAll(new RegExp(`${key}: (\\w+)`, 'g'))].map(([, name]) => name);
  const examples = await named(rules.replace('.yaml', '.test.yaml'), 'alertname');
  expect(new Set(examples)).toEqual(new Set(await named(rules, 'alert')));
});

test('the dashboard has only fields of the schema of Grafana', () =>
  expectTypes([{ value: dashboard, type: 'Dashboard', from: '@grafana/schema' }]));

describe('a Prometheus that scrapes two instances, one of which cannot reach its issuer', async () => {
  async function startInstance(settings: Environment) {
    const port = String(await freePort());
    const service = await sourceForm.start({ AUDIENCE, METRICS_PORT: port, ...settings });
    return { ...service, target: `127.0.0.1:${port}` };
  }

  const issuer = await startIssuer();
  // Keys are fetched again after three seconds.
  const short = { JWKS_MAX_AGE_SECONDS: '1', JWKS_COOLDOWN_SECONDS: '3' };
  const reached = await startInstance({ ISSUER: issuer.url, ...short });
  // Nothing listens on port 1. One fetch is attempted, and no more within an hour.
  const unreached = await startInstance({
    ISSUER: 'http://127.0.0.1:1/',
    JWKS_COOLDOWN_SECONDS: '3600',
    DPOP: 'on',
    PUBLIC_URL: 'https://api.example.test',
    REDIS_URL: 'redis://127.0.0.1:1',
  });
  // Another service, with the names that libraries give by default.
  const names = ['build_info', 'http_requests_total', 'http_request_duration_seconds_bucket', 'process_open_fds'];
  const series = names.map((name) => `${name}{version="1",route="/api/a",status="500",le="+Inf"} 7\n`);
  const other = serve(() => new Response(series.join(''), { headers: { 'content-type': 'text/plain' } }));
  const configuration = {
    global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' },
    rule_files: [join(root, rules)],
    scrape_configs: [
      { job_name: 'protected-api', static_configs: [{ targets: [reached.target, unreached.target] }] },
      { job_name: 'other', static_configs: [{ targets: [other.url.host] }] },
    ],
  };
  const { query, close } = await startPrometheus(configuration);
  await until(async () => (await query('up == 1')).length === 3, 'all instances to be scraped');
  afterAll(async () => {
    await Promise.all([close(), reached.close(), unreached.close(), issuer.close(), other.stop(true)]);
  });
  const fires = async ({ target }: typeof reached, result: string) => {
    const labels = `alertname="ProtectedApiKeySetFetchFailed",instance="${target}",result=~"${result}"`;
    return (await query(`ALERTS{${labels},alertstate="firing"}`)).length > 0;
  };

  const targets = dashboard.panels.flatMap((panel) => ('targets' in panel ? (panel.targets ?? []) : []));

  test('alerts on failed fetches before any success', async () => {
    await until(() => fires(unreached, 'network'), 'the alert');
    expect(await fires(reached, '.*')).toBe(false);
  });

  test('alerts when an issuer fails after it has worked', async () => {
    issuer.mode = { kind: 'response', status: 500 };
    await until(() => fires(reached, 'status'), 'the alert');
    issuer.mode = { kind: 'keys' };
  });

  test('has a result for every query of the dashboard', async () => {
    const headers = bearer(mintToken(issuer.url));
    expect(targets.length).toBeGreaterThan(15);
    for (const { expr } of targets) {
      const expression = expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.+');
      const hasResult = async () => {
        await fetch(`${reached.origin}/api/private`, { headers });
        await fetch(`${reached.origin}/api/private`);
        return (await query(expression)).length > 0;
      };
      await until(hasResult, expression);
    }
  });

  test('has no result for another service', async () => {
    expect(await query(`{instance="${other.url.host}",status="500"}`)).toHaveLength(names.length);
    for (const { expr } of targets) {
      const expression = expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', other.url.host);
      expect({ expression, result: await query(expression) }).toEqual({ expression, result: [] });
    }
  });

  test('finds every metric that the alerts, the dashboard and the documentation name, and nothing to correct', async () => {
    const text = await (await fetch(`http://${unreached.target}/metrics`)).text();
    const { exitCode, stdout, stderr } = await $`promtool check metrics < ${new Response(text)}`.nothrow().quiet();
    expect({ exitCode, output: `${stdout}${stderr}` }).toEqual({ exitCode: 0, output: '' });
    for (const file of [rules, 'deploy/grafana/dashboard.json', 'docs/guides/observability.md']) {
      const names = (await readText(file)).match(/\b(?:protected_api|process)_\w+/g);
      const unknown = names?.filter((name) => !new RegExp(`^(?:# TYPE )?${name}[{ ]`, 'm').test(text));
      expect({ file, unknown }).toEqual({ file, unknown: [] });
    }
  });
});
