import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap';
import type { IService } from 'kubernetes-models/v1/Service';
import { freePort, type RunningProcess, run, until, untilItAnswers } from '../support/child-process.ts';
import { executableForm } from '../support/forms.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, nowSeconds, SIGNING_KID } from '../support/mint.ts';
import { makeProof, proofKey, thumbprintOf } from '../support/proof.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { compile, type Manifest, render } from './manifests.ts';
import { root, unknownSettings } from './settings.ts';

setDefaultTimeout(120_000);

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
  test('have only fields and values that the schema of Kubernetes knows', async () => {
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

describe('two instances behind HAProxy and one store, started as the compose file and the manifests say,', () => {
  const publicUrl = 'https://api.example.test';
  const path = '/api/private';
  const started: RunningProcess[] = [];
  let redis: RedisServer;
  let issuer: Issuer;
  let origin: string;

  beforeAll(async () => {
    const [, ...args] = compose.services['replay-store'].command;
    expect(container()?.args).toEqual(args);
    redis = await startRedis(args);
    issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
    const ports = [await freePort()];
    for (const taken of ports) {
      const [command, settings] = [await executableForm.command(), { ISSUER: issuer.url, AUDIENCE, HOST: '127.0.0.1' }];
      const instance = run(command, {
        ...settings,
        PORT: String(taken),
        DPOP: 'required',
        PUBLIC_URL: publicUrl,
        REDIS_URL: redis.url,
        // A line per request shows which instance answers.
        LOG_LEVEL: 'debug',
      });
      started.push(instance);
      await untilItAnswers(`http://127.0.0.1:${taken}`, instance);
      if (ports.length < 2) ports.push(await freePort());
    }
    const balancerPort = await freePort();
    origin = `http://127.0.0.1:${balancerPort}`;
    const [one, two] = ports.map((port) => `127.0.0.1:${port}`);
    const configuration = await Bun.file(join(root, 'deploy/haproxy/haproxy.cfg')).text();
    const environment = { PATH: `${process.env.PATH}:/usr/sbin`, FRONTEND: `127.0.0.1:${balancerPort}` };
    const balancer = run(
      ['haproxy', '-db', '-f', 'haproxy.cfg'],
      { ...environment, SERVER_1: one ?? '', SERVER_2: two ?? '' },
      { 'haproxy.cfg': configuration },
    );
    started.push(balancer);
    await until(isReady, 'ready instances');
  });
  afterAll(async () => {
    for (const process of started) process.signal('SIGKILL');
    await Promise.all(started.map(({ finished }) => finished));
    await issuer.close();
    await redis.kill();
  });

  const isReady = () =>
    fetch(`${origin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  const bound = () => mintToken(issuer.url, { claims: { cnf: { jkt: thumbprintOf(proofKey()) } } });
  const show = async (token: string, proof: string) => {
    const response = await fetch(`${origin}${path}`, { headers: { authorization: `DPoP ${token}`, dpop: proof } });
    await response.arrayBuffer();
    return response.status;
  };
  const newProof = (token: string) => makeProof({ url: publicUrl + path, token, nowSeconds: nowSeconds() });

  test('accept a proof once, whichever instance answers', async () => {
    const token = bound();
    const statuses: number[][] = [];
    for (let round = 0; round < 100; round += 1) {
      const proof = newProof(token);
      statuses.push((await Promise.all(Array.from({ length: 6 }, () => show(token, proof)))).toSorted());
    }
    expect(statuses).toEqual(Array(100).fill([200, 401, 401, 401, 401, 401]));
    for (const instance of started.slice(0, 2)) {
      const outcomes = instance.stdout().matchAll(/"outcome":"(accepted|proof_replayed)"/g);
      expect(new Set([...outcomes].map(([, outcome]) => outcome))).toEqual(new Set(['accepted', 'proof_replayed']));
    }
  });

  test('get no requests while proofs are required and the store is down, and requests again once it is back', async () => {
    await redis.kill();
    await until(async () => !(await isReady()), 'no ready instance');
    await redis.start();
    await until(isReady, 'ready instances', 5000);
    const token = bound();
    await until(async () => (await show(token, newProof(token))) === 200, 'an accepted proof', 2000);
  });
});
