import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap';
import type { IService } from 'kubernetes-models/v1/Service';
import { freePort, untilReachable } from '../support/child-process.ts';
import { runContainer } from '../support/container.ts';
import { bearer } from '../support/fixture.ts';
import { startIssuer } from '../support/issuer.ts';
import { mintToken } from '../support/mint.ts';
import { startRedis } from '../support/redis-server.ts';
import { expectTypes } from './schema.ts';
import { root, unknownSettings } from './settings.ts';

setDefaultTimeout(300_000);

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string };
}
interface Kinds {
  readonly ConfigMap: IConfigMap;
  readonly Deployment: IDeployment;
  readonly HorizontalPodAutoscaler: IHorizontalPodAutoscaler;
  readonly NetworkPolicy: INetworkPolicy;
  readonly PodDisruptionBudget: IPodDisruptionBudget;
  readonly Service: IService;
}

let plain: readonly Manifest[];
let withStore: readonly Manifest[];

/** Returns the manifests that `kubectl apply -k` would send. */
function render(folder: string): readonly Manifest[] {
  const { stdout, stderr, exitCode } = Bun.spawnSync(['kubectl', 'kustomize', folder]);
  expect(exitCode, `${stderr}`).toBe(0);
  return Bun.YAML.parse(stdout.toString()) as Manifest[];
}

/** Returns the first manifest of a kind whose name starts so. */
function find<Kind extends keyof Kinds>(kind: Kind, name = 'protected-api', all = plain): Kinds[Kind] {
  const found = all.find((manifest) => manifest.kind === kind && manifest.metadata?.name?.startsWith(name));
  if (!found) throw new Error(`There is no ${kind}`);
  return found as Kinds[Kind];
}
const template = (name?: string, all?: readonly Manifest[]) => find('Deployment', name, all).spec?.template;
const containerOf = (name?: string, all?: readonly Manifest[]) => template(name, all)?.spec?.containers[0];
const settingsOf = (all?: readonly Manifest[]) => find('ConfigMap', 'protected-api', all).data ?? {};

beforeAll(async () => {
  plain = render(join(root, 'deploy/kubernetes'));
  const overlay = await mkdtemp(join(tmpdir(), 'protected-api-overlay-'));
  const path = (folder: string) => relative(overlay, join(root, 'deploy', folder));
  const text = `resources: [${path('kubernetes')}]\ncomponents: [${path('kubernetes/replay-store')}]\n`;
  await Bun.write(join(overlay, 'kustomization.yaml'), text);
  withStore = render(overlay);
  await rm(overlay, { recursive: true });
});

describe('the manifests', () => {
  test('have only fields of the schema of Kubernetes', () =>
    expectTypes(
      withStore.map((value) => ({
        value,
        type: `I${value.kind}`,
        from: `kubernetes-models/${value.apiVersion}/${value.kind}`,
      })),
    ));

  test('set nothing but settings of the service', async () => {
    expect(await unknownSettings(Object.keys({ ...settingsOf(), ...settingsOf(withStore) }))).toEqual([]);
    expect(containerOf()?.envFrom?.[0]?.configMapRef?.name).toBe(find('ConfigMap').metadata?.name);
  });

  test('replace the image, whose name they share with compose and the README, by a placeholder', async () => {
    expect(containerOf()?.image).toMatch(/^registry\.example\.com\/protected-api:\d/);
    expect(await Bun.file(join(root, 'deploy/compose.yaml')).text()).toMatch(/^ {4}image: protected-api$/m);
    expect(await Bun.file(join(root, 'README.md')).text()).toContain('docker build -t protected-api .');
  });

  test('give a pod more time to end than its shutdown takes', () => {
    const { SHUTDOWN_DELAY_SECONDS, SHUTDOWN_TIMEOUT_SECONDS } = settingsOf();
    const shutdownSeconds = Number(SHUTDOWN_DELAY_SECONDS) + Number(SHUTDOWN_TIMEOUT_SECONDS);
    expect(template()?.spec?.terminationGracePeriodSeconds).toBeGreaterThan(shutdownSeconds);
  });

  test('select the pods of the Deployment, by ports that they have', () => {
    const { apiVersion, kind, metadata, spec: deployment } = find('Deployment');
    const policy = find('NetworkPolicy').spec;
    const service = find('Service').spec;
    const selectors = [
      deployment?.selector.matchLabels,
      policy?.podSelector?.matchLabels,
      service?.selector,
      find('PodDisruptionBudget').spec?.selector?.matchLabels,
      ...(template()?.spec?.topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector?.matchLabels),
    ];
    for (const selector of selectors) expect(selector).toEqual(template()?.metadata?.labels);

    const { ports, livenessProbe, readinessProbe } = containerOf() ?? {};
    const listening = ports?.map(({ name, containerPort }) => [name, containerPort]);
    expect(listening).toEqual([
      ['http', 3010],
      ['metrics', Number(settingsOf().METRICS_PORT)],
    ]);
    const used = [
      ...(policy?.ingress ?? []).flatMap(({ ports = [] }) => ports.map(({ port }) => port)),
      ...(service?.ports ?? []).map(({ targetPort }) => targetPort),
      livenessProbe?.httpGet?.port,
      readinessProbe?.httpGet?.port,
    ];
    for (const port of used) expect(['http', 'metrics']).toContain(String(port));

    const scaled = find('HorizontalPodAutoscaler').spec?.scaleTargetRef;
    expect<object | undefined>(scaled).toEqual({ apiVersion, kind, name: metadata?.name });
    expect(deployment?.replicas).toBeUndefined();
  });

  test('describe a container that starts, becomes ready and accepts tokens within these limits', async () => {
    const { securityContext, resources, livenessProbe, readinessProbe } = containerOf() ?? {};
    const { runAsUser, runAsGroup, runAsNonRoot, seccompProfile } = template()?.spec?.securityContext ?? {};
    // The engine's own default profile is in force unless another is asked for, as RuntimeDefault says.
    expect({ runAsNonRoot, seccomp: seccompProfile?.type }).toEqual({ runAsNonRoot: true, seccomp: 'RuntimeDefault' });
    expect(securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });

    const issuer = await startIssuer();
    const [port, metricsPort] = [await freePort(), await freePort()];
    const origin = `http://127.0.0.1:${port}`;
    // It is read-only and has no capabilities and no new privileges, as every container of the tests.
    const limits = [
      `--user=${runAsUser}:${runAsGroup}`,
      `--memory=${String(resources?.limits?.memory).replace('Mi', 'm')}`,
    ];
    const running = await runContainer(['--network=host', ...limits], {
      ...settingsOf(),
      ISSUER: issuer.url,
      HOST: '127.0.0.1',
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      SHUTDOWN_DELAY_SECONDS: '0',
    });
    await untilReachable(origin, running.process);
    const headers = bearer(mintToken(issuer.url, { claims: { aud: settingsOf().AUDIENCE } }));
    for (const url of [
      `${origin}${livenessProbe?.httpGet?.path}`,
      // A token makes it fetch its keys if it has none.
      `${origin}/api/private-scoped`,
      `${origin}${readinessProbe?.httpGet?.path}`,
      `http://127.0.0.1:${metricsPort}/metrics`,
    ])
      expect([url, (await fetch(url, { headers })).status]).toEqual([url, 200]);
    expect((await running.stop()).status).toBe(0);
    await issuer.close();
  });
});

describe('the manifests with the replay store', () => {
  test('point the service at the store, and let nothing else reach it', () => {
    const { hostname, port } = new URL(settingsOf(withStore).REDIS_URL ?? '');
    const { metadata: name, spec: service } = find('Service', hostname, withStore);
    expect(name?.name).toBe(hostname);
    expect<unknown>(service?.ports).toMatchObject([{ port: Number(port), targetPort: 'redis' }]);
    expect(containerOf('replay-store', withStore)?.ports).toEqual([{ name: 'redis', containerPort: 6379 }]);

    const store = find('Deployment', 'replay-store', withStore).spec;
    const { labels } = store?.template.metadata ?? {};
    const policy = find('NetworkPolicy', 'replay-store', withStore).spec;
    for (const selector of [store?.selector.matchLabels, service?.selector, policy?.podSelector?.matchLabels])
      expect(selector).toEqual(labels);
    const callers = template('protected-api', withStore)?.metadata?.labels;
    expect<unknown>(policy?.ingress?.map(({ from }) => from)).toEqual([[{ podSelector: { matchLabels: callers } }]]);
    expect<unknown>(find('NetworkPolicy', 'protected-api', withStore).spec?.egress).toContainEqual({
      to: [{ podSelector: { matchLabels: labels } }],
      ports: [{ port: Number(port), protocol: 'TCP' }],
    });
    // Two stores would accept a proof each.
    expect([store?.replicas, store?.strategy?.type]).toEqual([1, 'Recreate']);
  });

  test('start it with the options of the compose file, and it deletes no used proof', async () => {
    const compose = Bun.YAML.parse(await Bun.file(join(root, 'deploy/compose.yaml')).text()) as {
      readonly services: { readonly 'replay-store': { readonly command: readonly string[] } };
    };
    const [, ...args] = compose.services['replay-store'].command;
    expect(containerOf('replay-store', withStore)?.args).toEqual(args);
    const redis = await startRedis(args);
    expect(await redis.command('CONFIG', 'GET', 'maxmemory-policy')).toEqual({ 'maxmemory-policy': 'noeviction' });
    expect(await redis.command('CONFIG', 'GET', 'maxmemory')).not.toEqual({ maxmemory: '0' });
    await redis.kill();
  });
});
