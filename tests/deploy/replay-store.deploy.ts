import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap';
import type { IService } from 'kubernetes-models/v1/Service';
import { startRedis } from '../support/redis-server.ts';
import { compile, type Manifest, render } from './manifests.ts';
import { root, unknownSettings } from './settings.ts';

setDefaultTimeout(300_000);

const compose = Bun.YAML.parse(await Bun.file(join(root, 'deploy/compose.yaml')).text()) as {
  readonly services: { readonly 'replay-store': { readonly command: readonly string[] } };
};
let manifests: readonly Manifest[];
const find = <Kind extends Manifest>(kind: Kind['kind'], name: string) =>
  manifests.find((manifest) => manifest.kind === kind && manifest.metadata?.name?.startsWith(name)) as Kind;
const store = () => find<IDeployment>('Deployment', 'replay-store').spec;
const container = () => store()?.template.spec?.containers[0];

beforeAll(async () => {
  const overlay = await mkdtemp(join(tmpdir(), 'protected-api-overlay-'));
  const path = (folder: string) => relative(overlay, join(root, 'deploy', folder));
  const text = `resources: [${path('kubernetes')}]\ncomponents: [${path('kubernetes/replay-store')}]\n`;
  await Bun.write(join(overlay, 'kustomization.yaml'), text);
  manifests = render(overlay);
  await rm(overlay, { recursive: true });
});

describe('the manifests with the replay store', () => {
  test('have only fields and values of the schema of Kubernetes', async () => {
    expect(await compile(manifests)).toBe('');
  });

  test('point the service at the store, and let nothing else reach it', async () => {
    const settings = find<IConfigMap>('ConfigMap', 'protected-api').data ?? {};
    expect(await unknownSettings(Object.keys(settings))).toEqual([]);
    const { hostname, port } = new URL(settings.REDIS_URL ?? '');
    const service = find<IService>('Service', hostname);
    expect<unknown>(service.spec?.ports?.map((exposed) => [exposed.port, exposed.targetPort])).toEqual([
      [Number(port), 'redis'],
    ]);
    expect(container()?.ports).toEqual([{ name: 'redis', containerPort: 6379 }]);

    const labels = store()?.template.metadata?.labels;
    const policy = find<INetworkPolicy>('NetworkPolicy', 'replay-store').spec;
    for (const selector of [store()?.selector.matchLabels, service.spec?.selector, policy?.podSelector?.matchLabels])
      expect(selector).toEqual(labels);
    const callers = find<IDeployment>('Deployment', 'protected-api').spec?.template.metadata?.labels;
    expect<unknown>(policy?.ingress?.map(({ from }) => from)).toEqual([[{ podSelector: { matchLabels: callers } }]]);
    const egress = find<INetworkPolicy>('NetworkPolicy', 'protected-api').spec?.egress;
    expect<unknown>(egress).toContainEqual({
      to: [{ podSelector: { matchLabels: labels } }],
      ports: [{ port: Number(port), protocol: 'TCP' }],
    });
    // Two stores would accept a proof each.
    expect([store()?.replicas, store()?.strategy?.type]).toEqual([1, 'Recreate']);
  });
});

test('the store starts with the same options in the compose file and the manifests, and deletes no used proof', async () => {
  const [, ...args] = compose.services['replay-store'].command;
  expect(container()?.args).toEqual(args);
  const redis = await startRedis(args);
  expect(await redis.command('CONFIG', 'GET', 'maxmemory-policy')).toMatchObject({ 'maxmemory-policy': 'noeviction' });
  expect(await redis.command('CONFIG', 'GET', 'maxmemory')).not.toMatchObject({ maxmemory: '0' });
  await redis.kill();
});
