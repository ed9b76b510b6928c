import { describe, expect, test } from 'bun:test';
import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { freePort } from '../support/child-process.ts';
import { runContainer } from '../support/container.ts';
import { startService } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { bearer, mintToken } from '../support/mint.ts';
import { startRedis } from '../support/redis-server.ts';
import { readText } from '../support/repository.ts';
import { expectTypes, unknownSettings } from './checks.ts';
import { type Manifest, readManifests, typesOf } from './manifests.ts';

const components = ['replay-store', 'gateway', 'pod-monitor'] as const;
const set = { DPOP: 'required', PUBLIC_URL: 'https://api.example.org', AUDIENCE: 'https://api.example.org/' };
const literals = JSON.stringify(Object.entries(set).map(([name, value]) => `${name}=${value}`));
const overlay = `configMapGenerator: [{ name: protected-api, behavior: merge, literals: ${literals} }]`;
const manifests = await readManifests(components, overlay);

/** Returns the manifest of this kind whose name starts so: that of settings ends with a digest. */
function find(kind: string, name = 'protected-api'): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name.startsWith(name));
  if (!found) throw new Error(`There is no ${kind}`);
  return found;
}
const podOf = (name?: string) => (find('Deployment', name) as IDeployment).spec?.template.spec;
const containerOf = (name?: string) => podOf(name)?.containers[0];
const settings = () => (find('ConfigMap') as IConfigMap).data ?? {};
const labelsOf = (name: string) => ({ 'app.kubernetes.io/name': name });

describe('the manifests', () => {
  test('have only fields of the schemas of Kubernetes, of the Gateway API and of the Prometheus Operator', () => {
    return expectTypes(manifests.map((value) => ({ value, type: `I${value.kind}`, from: typesOf(value) })));
  });

  test('of a network policy are valid with the lines that some clusters need, too', async () => {
    const text = await readText('deploy/kubernetes/network-policy.yaml');
    const value = Bun.YAML.parse(text.replaceAll(/^( +)# (?=-| {2})/gm, '$1')) as Manifest;
    const [issuer, dns] = (value as INetworkPolicy).spec?.egress ?? [];
    expect([issuer, dns].map((rule) => rule?.ports?.map(({ port }) => port))).toEqual([
      [443, 8443],
      [53, 53, 5353, 5353],
    ]);
    expect(dns?.to).toHaveLength(3);
    return expectTypes([
      { value, type: 'INetworkPolicy', from: 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy' },
    ]);
  });

  test('keep the settings of an overlay with every component', () => expect(settings()).toMatchObject(set));

  test('set nothing but settings of the service', async () => {
    expect(await unknownSettings(Object.keys(settings()))).toEqual([]);
    expect(containerOf()?.envFrom?.[0]?.configMapRef?.name).toBe(find('ConfigMap').metadata.name);
  });

  test('replace the image, whose name they share with compose and the README, by a placeholder', async () => {
    expect(containerOf()?.image).toMatch(/^registry\.example\.com\/protected-api:\d/);
    expect(await readText('deploy/compose.yaml')).toMatch(/^ {4}image: protected-api$/m);
    expect(await readText('README.md')).toContain('docker build -t protected-api .');
  });

  test('give a pod more time to stop than its shutdown takes', () => {
    const { SHUTDOWN_DELAY_SECONDS, SHUTDOWN_TIMEOUT_SECONDS } = settings();
    const shutdownSeconds = Number(SHUTDOWN_DELAY_SECONDS) + Number(SHUTDOWN_TIMEOUT_SECONDS);
    expect(podOf()?.terminationGracePeriodSeconds).toBeGreaterThan(shutdownSeconds);
  });

  test.each(['protected-api', 'replay-store'])('select the pods of %s by its name', (name) => {
    for (const [kind, path] of [
      ['Deployment', 'spec.template.metadata.labels'],
      ['Deployment', 'spec.selector.matchLabels'],
      ['Service', 'spec.selector'],
      ['NetworkPolicy', 'spec.podSelector.matchLabels'],
    ] as const)
      expect(find(kind, name)).toHaveProperty(path, labelsOf(name));
  });

  test('spread the pods, evict one at a time, and scale them', () => {
    const selector = { matchLabels: labelsOf('protected-api') };
    expect(podOf()?.topologySpreadConstraints?.map(({ labelSelector }) => labelSelector)).toEqual([selector, selector]);
    expect(find('PodDisruptionBudget')).toHaveProperty('spec.selector', selector);
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: find('Deployment').metadata.name };
    expect(find('HorizontalPodAutoscaler')).toHaveProperty('spec.scaleTargetRef', scaleTargetRef);
    expect(find('Deployment')).not.toHaveProperty('spec.replicas');
  });

  test('use the ports of the container', () => {
    const { ports, livenessProbe, readinessProbe } = containerOf() ?? {};
    const named = ports?.map(({ name, containerPort }) => `${name} ${containerPort}`);
    expect(named).toEqual(['http 3010', `metrics ${settings().METRICS_PORT}`]);
    for (const probe of [livenessProbe, readinessProbe]) expect(probe?.httpGet?.port).toBe('http');
    expect(find('Service')).toHaveProperty('spec.ports[0].targetPort', 'http');
    for (const [at, port] of ['http', 'metrics'].entries())
      expect(find('NetworkPolicy')).toHaveProperty(`spec.ingress[${at}].ports`, [{ port }]);
  });

  test('describe a container that starts, becomes ready and accepts tokens within these limits', async () => {
    const { runAsNonRoot, seccompProfile } = podOf()?.securityContext ?? {};
    const { securityContext, resources, livenessProbe, readinessProbe } = containerOf() ?? {};
    // The engine uses its default profile unless another is requested, as RuntimeDefault says.
    expect({ runAsNonRoot, seccomp: seccompProfile?.type }).toEqual({ runAsNonRoot: true, seccomp: 'RuntimeDefault' });
    const capabilities = { drop: ['ALL'] };
    expect(securityContext).toEqual({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities });

    await using issuer = await startIssuer();
    const METRICS_PORT = String(await freePort());
    // As a user that OpenShift chooses. Like every container of the tests, it is read-only, without privileges.
    const memory = String(resources?.limits?.memory).replace('i', '');
    const limits = ['--user=1000660000:0', `--memory=${memory}`];
    const here = { ISSUER: issuer.url, METRICS_PORT, REDIS_URL: '', DPOP: 'on', SHUTDOWN_DELAY_SECONDS: '0' };
    const { origin, close } = await startService(
      async (given) => (await runContainer(['--network=host', ...limits], { ...settings(), ...given })).process,
      here,
    );
    const headers = bearer(mintToken(issuer.url, { claims: { aud: settings().AUDIENCE } }));
    for (const url of [
      `${origin}${livenessProbe?.httpGet?.path}`,
      // A token makes it fetch its keys if it has none.
      `${origin}/api/private-scoped`,
      `${origin}${readinessProbe?.httpGet?.path}`,
      `http://127.0.0.1:${METRICS_PORT}/metrics`,
    ])
      expect([url, (await fetch(url, { headers })).status]).toEqual([url, 200]);
    expect(await close()).toBe(0);
  });
});

test('on OpenShift, which rejects a pod that names its user, none does', async () => {
  const [, patches = ''] =
    /^# On OpenShift.*?:\n#\n(.*?)^#$/ms.exec(await readText('deploy/kubernetes/replay-store/kustomization.yaml')) ??
    [];
  const built = await readManifests(['replay-store'], patches.replaceAll(/^# {3}/gm, ''));
  const contexts = built.flatMap((each) => (each as IDeployment).spec?.template?.spec?.securityContext ?? []);
  const context = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } } as const;
  expect(contexts).toEqual([context, context]);
});

describe('the replay store', () => {
  test('has the address that the service expects, and only the service can reach it', () => {
    const port = 6379;
    const pods = (name: string) => [{ podSelector: { matchLabels: labelsOf(name) } }];
    expect(settings().REDIS_URL).toBe(`redis://replay-store:${port}`);
    expect(containerOf('replay-store')?.ports).toEqual([{ name: 'redis', containerPort: port }]);
    expect(find('Service', 'replay-store')).toMatchObject({ spec: { ports: [{ port, targetPort: 'redis' }] } });
    const ingress = [{ from: pods('protected-api'), ports: [{ port: 'redis' }] }];
    expect(find('NetworkPolicy', 'replay-store')).toHaveProperty('spec.ingress', ingress);
    const egress = { to: pods('replay-store'), ports: [{ port, protocol: 'TCP' }] };
    expect(find('NetworkPolicy')).toHaveProperty('spec.egress', expect.arrayContaining([egress]));
  });

  test('runs once, with the options of the compose file, and deletes no used proof', async () => {
    // Two stores would accept a proof each.
    const alone = { replicas: 1, strategy: { type: 'Recreate' } };
    expect(find('Deployment', 'replay-store')).toMatchObject({ spec: alone });
    const compose = Bun.YAML.parse(await readText('deploy/compose.yaml')) as {
      readonly services: { readonly 'replay-store': { readonly command: readonly string[] } };
    };
    const [, ...args] = compose.services['replay-store'].command;
    expect(containerOf('replay-store')?.args).toEqual(args);
    const redis = await startRedis(args);
    expect(await redis.command('CONFIG', 'GET', 'maxmemory-policy')).toEqual({ 'maxmemory-policy': 'noeviction' });
    expect(await redis.command('CONFIG', 'GET', 'maxmemory')).not.toEqual({ maxmemory: '0' });
    await redis.kill();
  });
});
