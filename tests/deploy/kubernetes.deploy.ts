import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap';
import type { IService } from 'kubernetes-models/v1/Service';
import { freePort, untilItAnswers } from '../support/child-process.ts';
import { runContainer } from '../support/container.ts';
import { startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { mintToken, SIGNING_KID } from '../support/mint.ts';
import { compile, type Manifest, modelPath, render } from './manifests.ts';
import { root, unknownSettings } from './settings.ts';

setDefaultTimeout(300_000);

let manifests: readonly Manifest[];

beforeAll(() => {
  manifests = render(join(root, 'deploy/kubernetes'));
});

function find<Kind extends Manifest>(kind: Kind['kind']): Kind {
  const found = manifests.find((manifest) => manifest.kind === kind);
  if (!found) throw new Error(`There is no ${kind}`);
  return found as Kind;
}

describe('the schema of Kubernetes', () => {
  test('knows every field that is set', async () => {
    expect(await compile(manifests)).toBe('');
  });

  test('does not know a misspelt one, at any depth', async () => {
    const misspelt = JSON.parse(
      JSON.stringify(manifests).replaceAll('"readOnlyRootFilesystem"', '"readonlyRootFilesystem"'),
    );
    expect(await compile(misspelt)).toMatch(/readonlyRootFilesystem.* does not exist in type/);
  });

  test('allows every value', async () => {
    for (const manifest of manifests) {
      const { [manifest.kind]: Model } = await import(modelPath(manifest));
      new Model(manifest).validate();
    }
  });
});

describe('the manifests', () => {
  const pod = () => find<IDeployment>('Deployment').spec?.template.spec;
  const podLabels = () => find<IDeployment>('Deployment').spec?.template.metadata?.labels;
  const container = () => pod()?.containers[0];
  const settings = () => find<IConfigMap>('ConfigMap').data ?? {};

  test('set nothing but settings of the service', async () => {
    expect(await unknownSettings(Object.keys(settings()))).toEqual([]);
    expect(container()?.envFrom?.[0]?.configMapRef?.name).toBe(find<IConfigMap>('ConfigMap').metadata?.name);
  });

  test('replace the image, whose name they share with compose and the README, by a placeholder', async () => {
    expect(container()?.image).toMatch(/^registry\.example\.com\/protected-api:\d/);
    expect(await Bun.file(join(root, 'deploy/compose.yaml')).text()).toMatch(/^ {4}image: protected-api$/m);
    expect(await Bun.file(join(root, 'README.md')).text()).toContain('docker build -t protected-api .');
  });

  test('give a pod more time to end than its shutdown takes', () => {
    const { SHUTDOWN_DELAY_SECONDS, SHUTDOWN_TIMEOUT_SECONDS } = settings();
    const shutdownSeconds = Number(SHUTDOWN_DELAY_SECONDS) + Number(SHUTDOWN_TIMEOUT_SECONDS);
    expect(pod()?.terminationGracePeriodSeconds).toBeGreaterThan(shutdownSeconds);
  });

  test('select the pods of the Deployment, by ports that they have', () => {
    const deployment = find<IDeployment>('Deployment').spec;
    const policy = find<INetworkPolicy>('NetworkPolicy').spec;
    const service = find<IService>('Service').spec;
    const selectors = [
      deployment?.selector.matchLabels,
      policy?.podSelector?.matchLabels,
      service?.selector,
      find<IPodDisruptionBudget>('PodDisruptionBudget').spec?.selector?.matchLabels,
      ...(pod()?.topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector?.matchLabels),
    ];
    for (const selector of selectors) expect(selector).toEqual(podLabels());

    const ports = new Map(container()?.ports?.map(({ name, containerPort }) => [String(name), containerPort]));
    expect(ports).toEqual(
      new Map([
        ['http', 3010],
        ['metrics', Number(settings().METRICS_PORT)],
      ]),
    );
    const used = [
      ...(policy?.ingress ?? []).flatMap(({ ports = [] }) => ports.map(({ port }) => port)),
      ...(service?.ports ?? []).map(({ targetPort }) => targetPort),
      container()?.livenessProbe?.httpGet?.port,
      container()?.readinessProbe?.httpGet?.port,
    ];
    for (const port of used) expect(ports.has(String(port))).toBe(true);

    const { apiVersion, kind, metadata } = find<IDeployment>('Deployment');
    const scaled = find<IHorizontalPodAutoscaler>('HorizontalPodAutoscaler').spec?.scaleTargetRef;
    expect<object | undefined>(scaled).toEqual({ apiVersion, kind, name: metadata?.name });
    expect(deployment?.replicas).toBeUndefined();
  });

  test('describe a container that starts, becomes ready and accepts tokens within these limits', async () => {
    const { securityContext, resources, livenessProbe, readinessProbe } = container() ?? {};
    const { runAsUser, runAsGroup, runAsNonRoot, seccompProfile } = pod()?.securityContext ?? {};
    expect(runAsNonRoot).toBe(true);
    // The engine's own default profile is in force unless another is asked for, as RuntimeDefault says.
    expect(seccompProfile?.type).toBe('RuntimeDefault');
    const limits = [
      `--user=${runAsUser}:${runAsGroup}`,
      ...(securityContext?.readOnlyRootFilesystem ? ['--read-only'] : []),
      ...(securityContext?.allowPrivilegeEscalation === false ? ['--security-opt=no-new-privileges'] : []),
      ...(securityContext?.capabilities?.drop ?? []).map((capability) => `--cap-drop=${capability}`),
      `--memory=${String(resources?.limits?.memory).replace('Mi', 'm')}`,
    ];
    expect(limits).toHaveLength(5);

    const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
    const [port, metricsPort] = [await freePort(), await freePort()];
    const origin = `http://127.0.0.1:${port}`;
    const running = await runContainer(['--network=host', ...limits], {
      ...settings(),
      ISSUER: issuer.url,
      HOST: '127.0.0.1',
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      SHUTDOWN_DELAY_SECONDS: '0',
    });
    await untilItAnswers(origin, running.process);
    expect((await fetch(`${origin}${livenessProbe?.httpGet?.path}`)).status).toBe(200);
    const token = mintToken(issuer.url, { claims: { aud: settings().AUDIENCE } });
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${origin}/api/private-scoped`, { headers })).status).toBe(200);
    expect((await fetch(`${origin}${readinessProbe?.httpGet?.path}`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).status).toBe(200);
    expect((await running.stop()).status).toBe(0);
    await issuer.close();
  });
});
