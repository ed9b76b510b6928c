import { expect, test } from 'bun:test';
import type { IGateway } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/Gateway';
import type { IHTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute';
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap';
import type { IService } from 'kubernetes-models/v1/Service';
import { readText } from '../support/repository.ts';
import { expectTypes } from './checks.ts';
import { type Manifest, overlayBlocks, readManifests, typesOf, yamlBlocks } from './manifests.ts';

const [gatewayText = '', overlay = ''] = await yamlBlocks('Clients outside the cluster');

async function build(lines?: string) {
  const manifests = await readManifests(['replay-store', 'gateway'], lines);
  const find = (kind: string) => manifests.filter((each) => each.kind === kind);
  const route = (find('HTTPRoute')[0] as IHTTPRoute).spec;
  return { service: find('Service')[0] as IService, settings: (find('ConfigMap')[0] as IConfigMap).data, route };
}
const { settings, route } = await build();
const rule = route?.rules?.[0];

test.each([
  ['as it is', ''],
  ['with a prefix for names', 'namePrefix: team-\n'],
])('the route %s leads to the only port of the Service, which is not that of the metrics', async (_name, lines) => {
  const built = await build(lines);
  expect(built.service.spec?.ports).toMatchObject([{ port: 80, targetPort: 'http' }]);
  expect(built.route?.rules?.[0]?.backendRefs).toEqual([{ name: built.service.metadata?.name ?? '', port: 80 }]);
});

test('the route accepts the methods that HAProxy and nginx accept, and removes the header that they remove', async () => {
  const methods = rule?.matches?.map(({ method }) => method);
  const haproxy = await readText('deploy/haproxy/haproxy.cfg');
  const nginx = await readText('deploy/nginx/protected-api.conf.template');
  expect(haproxy).toContain(`unless { method ${methods?.join(' ')} }`);
  expect(nginx).toContain(`"^(${methods?.join('|')})$"`);
  const remove = rule?.filters?.[0]?.requestHeaderModifier?.remove;
  expect(haproxy).toContain(`http-request del-header ${remove}\n`);
  expect(nginx).toContain(`proxy_set_header ${remove} `);
});

test('the route changes nothing else in a request, and repeats none', () => {
  expect(Object.keys(rule ?? {}).toSorted()).toEqual(['backendRefs', 'filters', 'matches']);
  expect(rule?.filters).toEqual([
    { type: 'RequestHeaderModifier', requestHeaderModifier: { remove: ['Client-Cert'] } },
  ]);
  expect(rule?.matches?.flatMap(Object.keys)).toEqual(Array(7).fill('method'));
  expect(route?.rules).toHaveLength(1);
});

test('the route attaches only to the listener of the page, which terminates TLS and allows it', async () => {
  const gateway = Bun.YAML.parse(gatewayText) as Manifest & IGateway;
  await expectTypes([{ value: gateway, type: 'IGateway', from: typesOf(gateway) }]);
  const { name, namespace = '' } = gateway.metadata;
  const [listener] = gateway.spec?.listeners ?? [];
  expect(route?.parentRefs).toEqual([{ name, namespace, sectionName: listener?.name ?? '' }]);
  expect(listener).toMatchObject({ protocol: 'HTTPS', tls: { mode: 'Terminate' }, port: 443 });
  expect(listener?.allowedRoutes?.namespaces?.from).toBe('Selector');
  expect(route?.hostnames).toEqual([listener?.hostname ?? '']);
});

test('the overlay of the page sets the Gateway, the host, and PUBLIC_URL with the same host', async () => {
  const built = await build(overlay);
  const host = 'api.example.org';
  expect(built.route?.parentRefs).toEqual([{ name: 'public', namespace: 'edge', sectionName: 'https' }]);
  expect(built.route?.hostnames).toEqual([host]);
  expect(built.settings).toEqual({ ...settings, PUBLIC_URL: `https://${host}` });
});

test('the blocks of both pages make one overlay', async () => {
  const blocks = await Promise.all(['deploy/README.md', 'docs/kubernetes.md'].map(overlayBlocks));
  const joined = new Map<string, unknown[]>();
  for (const block of blocks.flat())
    for (const [name, value] of Object.entries(Bun.YAML.parse(block) as Record<string, unknown>))
      if (Array.isArray(value)) joined.set(name, [...(joined.get(name) ?? []), ...value]);
  const { resources, components = [], ...others } = Object.fromEntries(joined);
  const from = (folder: string) =>
    `https://github.com/protected-api/protected-api//deploy/kubernetes${folder}?ref=v1.0.0`;
  expect(resources).toEqual([from('')]);
  expect(components).toEqual([from('/gateway'), from('/pod-monitor')]);
  const manifests = await readManifests(['gateway', 'pod-monitor'], Bun.YAML.stringify(others, null, 2));
  const find = (kind: string) => manifests.find((each) => each.kind === kind);
  expect(find('ConfigMap')).toMatchObject({
    data: { ISSUER: 'https://tenant.example.com/', PUBLIC_URL: 'https://api.example.org' },
  });
  expect(find('HTTPRoute')).toHaveProperty('spec.hostnames', ['api.example.org']);
  expect(JSON.stringify(find('NetworkPolicy'))).toContain('"observability"');
  expect(JSON.stringify(find('Deployment'))).toContain('"ghcr.io/protected-api/protected-api:1.0.0"');
});
