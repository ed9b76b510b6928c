import { afterAll, describe, expect, test } from 'bun:test';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import type { IPodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor';
import type { IPrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { $ } from 'bun';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { freePort, until } from '../support/child-process.ts';
import { serve } from '../support/fixture.ts';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { expectTypes } from './checks.ts';
import { type Manifest, readManifests, typesOf, yamlBlocks } from './manifests.ts';
import { startPrometheus } from './prometheus.ts';

const [release = '', scrape = '', policy = ''] = await yamlBlocks('Metrics and alerts');
const namespace = 'apis';
const rules = join(root, 'deploy/prometheus/alerts.yaml');

async function find<Kind>(kind: string, overlay?: string) {
  const found = (await readManifests(['pod-monitor'], overlay)).find((each) => each.kind === kind);
  return found as Kind & Manifest;
}

interface Job {
  readonly job_name: string;
  readonly kubernetes_sd_configs: readonly object[];
  readonly relabel_configs: readonly object[];
}

/** Returns the job that the Prometheus Operator makes of a PodMonitor, of which it renames the fields. */
async function operatorJob(): Promise<Job> {
  const { spec } = await find<IPodMonitor>('PodMonitor');
  const [endpoint] = spec?.podMetricsEndpoints ?? [];
  const labels = Object.entries(spec?.selector.matchLabels ?? {});
  const label = (name: string) => `__meta_kubernetes_pod_label_${name.replaceAll(/\W/g, '_')}`;
  const keep = (source: string, regex = '') => ({ source_labels: [source], regex, action: 'keep' });
  return {
    job_name: 'podMonitor/apis/protected-api/0',
    kubernetes_sd_configs: [{ role: 'pod', namespaces: { names: [namespace] } }],
    relabel_configs: [
      ...labels.map(([name, value]) => keep(label(name), value)),
      keep('__meta_kubernetes_pod_container_port_name', endpoint?.port),
      // By default (filterRunning).
      { source_labels: ['__meta_kubernetes_pod_phase'], regex: '(Failed|Succeeded)', action: 'drop' },
      { target_label: 'job', replacement: `${namespace}/protected-api` },
      ...(endpoint?.relabelings ?? []).map(({ targetLabel, replacement, ...others }) => {
        expect(others).toEqual({});
        return { target_label: targetLabel, replacement };
      }),
    ],
  };
}

const pageJob = () => (Bun.YAML.parse(scrape) as { scrape_configs: readonly [Job] }).scrape_configs[0];

/**
 * Returns what discovery finds in a pod with this label: a target for each port, with the labels that Prometheus
 * documents. Debian's Prometheus is built without the discovery itself.
 */
function targetsOf(pod: string, port: number, app: string, phase = 'Running') {
  const meta = (labels: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(labels).map(([name, value]) => [`__meta_kubernetes_${name}`, value]));
  const ports = { http: 3010, metrics: port };
  return Object.entries(ports).map(([name, number]) => ({
    targets: [`127.0.0.1:${number}`],
    labels: meta({
      namespace,
      pod_name: pod,
      pod_phase: phase,
      pod_container_port_name: name,
      pod_label_app_kubernetes_io_name: app,
    }),
  }));
}

describe.each([
  ['the PodMonitor', operatorJob],
  ['the scrape job of the page', pageJob],
])('%s', async (_name, jobOf) => {
  const metrics = serve(() => new Response('protected_api_build_info{version="1"} 1\n'));
  const [up, down] = [Number(metrics.url.port), await freePort()];
  const static_configs = [
    ...targetsOf('up', up, 'protected-api'),
    ...targetsOf('down', down, 'protected-api'),
    ...targetsOf('other', up, 'other'),
    ...targetsOf('evicted', 1, 'protected-api', 'Failed'),
    ...targetsOf('ended', 2, 'protected-api', 'Succeeded'),
  ];
  const { kubernetes_sd_configs, ...job } = await jobOf();
  const global = { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' };
  const scrape_configs = [{ ...job, static_configs }];
  const { query, close } = await startPrometheus({ global, rule_files: [rules], scrape_configs });
  afterAll(async () => {
    await Promise.all([close(), metrics.stop(true)]);
  });

  test('discovers pods', () => expect(kubernetes_sd_configs).toMatchObject([{ role: 'pod' }]));

  test('scrapes the port for metrics of these pods only, in the job of the alerts, which fire', async () => {
    await until(async () => (await query('up')).length === 2, 'two targets');
    const instances = [`127.0.0.1:${up}`, `127.0.0.1:${down}`];
    const found = (await query('up{job="protected-api"}')).map(({ metric }) => metric.instance);
    expect(found.toSorted()).toEqual(instances.toSorted());
    const alerts = () => query('ALERTS{alertname="ProtectedApiDown"}');
    await until(async () => (await alerts()).length > 0, 'the alert');
    expect((await alerts()).map(({ metric }) => metric.instance)).toEqual(instances.slice(1));
    expect(await query('ALERTS{alertname="ProtectedApiNotScraped"}')).toEqual([]);
  });
});

test('promtool has nothing to correct in the configuration of the page', async () => {
  const folder = temporaryFolder();
  await cp(rules, join(folder, 'alerts.yaml'));
  const known = scrape.replace('kubernetes_sd_configs: [{ role: pod }]', 'static_configs: [{ targets: [a] }]');
  await Bun.write(join(folder, 'prometheus.yaml'), known);
  const { exitCode, stdout, stderr } = await $`promtool check config ${folder}/prometheus.yaml`.nothrow().quiet();
  expect(exitCode, `${stdout}${stderr}`).toBe(0);
});

test('the command of the page makes a PrometheusRule of the alerts', async () => {
  const [, command = ''] = /^```sh\n(\{.*?)^```$/ms.exec(await readText('docs/kubernetes.md')) ?? [];
  const folder = temporaryFolder();
  await cp(rules, join(folder, 'alerts.yaml'));
  await $`sh -c ${command}`.cwd(folder);
  const rule = Bun.YAML.parse(await Bun.file(join(folder, 'prometheus-rule.yaml')).text()) as IPrometheusRule &
    Manifest;
  expect(rule.spec as unknown).toEqual(Bun.YAML.parse(await Bun.file(rules).text()));
  await expectTypes([{ value: rule, type: 'IPrometheusRule', from: typesOf(rule) }]);
});

test('the label of kube-prometheus-stack reaches the PodMonitor, and no selector', async () => {
  const monitor = await find<IPodMonitor>('PodMonitor', release);
  expect(monitor.metadata).toHaveProperty('labels.release', 'kube-prometheus-stack');
  expect(monitor.spec?.selector).toEqual({ matchLabels: { 'app.kubernetes.io/name': 'protected-api' } });
});

test.each([
  ['as it is', '', 'monitoring'],
  ['with the overlay of the page', policy, 'observability'],
])('the NetworkPolicy %s lets only one namespace reach the metrics', async (_name, overlay, from) => {
  const [http, metrics, ...others] = (await find<INetworkPolicy>('NetworkPolicy', overlay)).spec?.ingress ?? [];
  expect(http).toEqual({ ports: [{ port: 'http' }] });
  const matchLabels = { 'kubernetes.io/metadata.name': from };
  expect(metrics).toEqual({ from: [{ namespaceSelector: { matchLabels } }], ports: [{ port: 'metrics' }] });
  expect(others).toEqual([]);
});
