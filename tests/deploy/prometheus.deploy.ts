import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import dashboard from '../../deploy/grafana/dashboard.json';
import { type RunningProcess, run, until, untilProcess } from '../support/child-process.ts';
import { bearer } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';
import { root } from './settings.ts';

setDefaultTimeout(300_000);

const rules = join(root, 'deploy/prometheus/alerts.yaml');

/** Runs a command, and returns its exit status and everything that it says. */
function say(command: readonly string[], stdin = ''): { readonly exitCode: number; readonly output: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd: root, stdin: Buffer.from(stdin) });
  return { exitCode, output: `${stdout}${stderr}`.trim() };
}

test('each alert fires when its example in alerts.test.yaml says, and not before', () => {
  const { exitCode, output } = say(['promtool', 'test', 'rules', 'deploy/prometheus/alerts.test.yaml']);
  expect(exitCode, output).toBe(0);
});

test('every alert has an example', async () => {
  const named = async (file: string, key: string) =>
    [...(await Bun.file(file).text()).matchAll(new RegExp(`${key}: (\\w+)`, 'g'))].map(([, name]) => name);
  const examples = await named(rules.replace('.yaml', '.test.yaml'), 'alertname');
  expect(new Set(examples)).toEqual(new Set(await named(rules, 'alert')));
});

describe('the schema of Grafana', () => {
  const compile = async (json: string) => {
    await mkdir(join(root, 'dist'), { recursive: true });
    const folder = await mkdtemp(join(root, 'dist/dashboard-'));
    const source = `import type { Dashboard } from '@grafana/schema';\n(${json}) satisfies Dashboard;\n`;
    await Bun.write(join(folder, 'dashboard.ts'), source);
    await Bun.write(join(folder, 'tsconfig.json'), '{"extends":"../../tsconfig.json","include":["."]}');
    const { output } = say([process.execPath, 'x', 'tsc', '--project', folder]);
    await rm(folder, { recursive: true });
    return output;
  };

  test('allows the dashboard', async () => {
    expect(await compile(JSON.stringify(dashboard))).toBe('');
  });

  test('does not allow a misspelt field', async () => {
    expect(await compile(JSON.stringify(dashboard).replaceAll('"gridPos"', '"gridpos"'))).toMatch(/gridpos/);
  });
});

describe('a Prometheus that scrapes two instances, of which one cannot reach its issuer', () => {
  const started: RunningProcess[] = [];
  let issuer: Issuer;
  let reached: Awaited<ReturnType<typeof startInstance>>;
  let unreached: Awaited<ReturnType<typeof startInstance>>;
  let origin: string;

  function start(...args: Parameters<typeof run>): RunningProcess {
    const child = run(...args);
    started.push(child);
    return child;
  }

  /** Starts the service on ports that it chooses itself. */
  async function startInstance(settings: Readonly<Record<string, string>>) {
    const ports = { HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '0' };
    const child = start(await sourceForm.command(), { AUDIENCE, ...ports, ...settings });
    await untilProcess(child, () => child.stdout().includes('"Listening"'), 'a service that listens');
    const line =
      child
        .stdout()
        .split('\n')
        .find((each) => each.includes('"Listening"')) ?? '';
    const { port, metricsPort } = JSON.parse(line) as { readonly port: number; readonly metricsPort: number };
    return { origin: `http://127.0.0.1:${port}`, target: `127.0.0.1:${metricsPort}` };
  }

  beforeAll(async () => {
    issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
    // Keys are fetched again after three seconds.
    const short = { JWKS_MAX_AGE_SECONDS: '1', JWKS_COOLDOWN_SECONDS: '3' };
    reached = await startInstance({ ISSUER: issuer.url, ...short });
    // Nothing listens on port 1. One fetch is attempted, and no more within an hour.
    unreached = await startInstance({
      ISSUER: 'http://127.0.0.1:1/',
      JWKS_COOLDOWN_SECONDS: '3600',
      DPOP: 'on',
      PUBLIC_URL: 'https://api.example.test',
      REDIS_URL: 'redis://127.0.0.1:1',
    });
    const configuration = {
      global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' },
      rule_files: [rules],
      scrape_configs: [
        { job_name: 'protected-api', static_configs: [{ targets: [reached.target, unreached.target] }] },
      ],
    };
    const prometheus = start(
      ['prometheus', '--config.file=prometheus.json', '--web.listen-address=127.0.0.1:0', '--storage.tsdb.path=data'],
      { PATH: process.env.PATH ?? '' },
      { 'prometheus.json': JSON.stringify(configuration) },
    );
    const address = () => /msg="Listening on" address=(\S+)/.exec(prometheus.stderr())?.[1];
    await untilProcess(prometheus, () => address() !== undefined, 'a Prometheus that listens');
    origin = `http://${address()}`;
    await until(async () => (await fetch(`${origin}/-/ready`)).ok, 'a Prometheus that is ready');
    await until(async () => (await query('up == 1')).length === 2, 'two instances that were scraped');
  });
  afterAll(async () => {
    for (const child of started) child.signal('SIGKILL');
    await Promise.all(started.map(({ finished }) => finished));
    await issuer.close();
  });

  type Labels = Readonly<Record<string, string>>;
  const ask = async (path: string) => {
    const response = await fetch(`${origin}/api/v1/${path}`);
    const { status, data, error } = (await response.json()) as { status: string; data: never; error?: string };
    expect({ path, status, error }).toEqual({ path, status: 'success', error: undefined });
    return data;
  };
  const query = async (expression: string): Promise<readonly { readonly metric: Labels }[]> => {
    const { result } = await ask(`query?query=${encodeURIComponent(expression)}`);
    return result;
  };
  const firing = async (): Promise<readonly Labels[]> => {
    const { alerts } = await ask('alerts');
    return (alerts as { readonly state: string; readonly labels: Labels }[])
      .filter(({ state }) => state === 'firing')
      .map(({ labels }) => labels);
  };
  const fires = async (wanted: Labels) =>
    (await firing()).some((labels) => Object.entries(wanted).every(([name, value]) => labels[name] === value));

  test('alerts on the first failed fetch', async () => {
    const wanted = { alertname: 'ProtectedApiKeySetFetchFailed', instance: unreached.target, result: 'network' };
    await until(() => fires(wanted), 'the alert');
    expect(await query(`key_set_fetches_total{instance="${unreached.target}"} == 1`)).toHaveLength(1);
    expect(await fires({ alertname: wanted.alertname, instance: reached.target })).toBe(false);
  });

  test('alerts when an issuer fails that has answered before', async () => {
    issuer.mode = { kind: 'answer', status: 500 };
    const wanted = { alertname: 'ProtectedApiKeySetFetchFailed', instance: reached.target, result: 'status' };
    await until(() => fires(wanted), 'the alert');
    issuer.mode = { kind: 'keys' };
  });

  test('can evaluate every rule', async () => {
    const { groups } = await ask('rules');
    const evaluated = (groups as { readonly rules: readonly { readonly name: string; readonly health: string }[] }[])
      .flatMap((group) => group.rules)
      .filter(({ health }) => health !== 'ok');
    expect(evaluated).toEqual([]);
  });

  test('has an answer to every query of the dashboard', async () => {
    const headers = bearer(mintToken(issuer.url));
    const targets = dashboard.panels.flatMap((panel) => ('targets' in panel ? (panel.targets ?? []) : []));
    expect(targets.length).toBeGreaterThan(15);
    for (const { expr } of targets) {
      const expression = expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.+');
      const hasAnswer = async () => {
        await fetch(`${reached.origin}/api/private`, { headers });
        await fetch(`${reached.origin}/api/private`);
        return (await query(expression)).length > 0;
      };
      await until(hasAnswer, expression);
    }
  });

  test('finds every metric that the alerts, the dashboard and the documentation name, and nothing to correct', async () => {
    const text = await (await fetch(`http://${unreached.target}/metrics`)).text();
    expect(say(['promtool', 'check', 'metrics'], text)).toEqual({ exitCode: 0, output: '' });
    for (const file of [rules, join(root, 'deploy/grafana/dashboard.json'), join(root, 'docs/operations.md')]) {
      const names = (await Bun.file(file).text()).match(
        /\b(?:access_token|build|http|key_set|log_lines|process|replay_store)_\w+/g,
      );
      expect({
        file,
        unknown: names?.filter((name) => !new RegExp(`^(?:# TYPE )?${name}[{ ]`, 'm').test(text)),
      }).toEqual({
        file,
        unknown: [],
      });
    }
  });
});
