import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { freePort, type RunningProcess, run, until } from '../support/child-process.ts';
import { executableForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';
import { root } from './settings.ts';

const WORKERS = 16;
const PAUSE_MS = 25;
/** The limit of the load: several hundred requests a second for less than this. */
const MAX_LOAD_MS = 240_000;

/** Calls with keep-alive connections, a few hundred times a second, until it is stopped; returns each answer that was not a 200. */
function startLoad(url: string, token: () => string) {
  const end = Date.now() + MAX_LOAD_MS;
  const failures: string[] = [];
  let requests = 0;
  let isStopped = false;
  const work = async () => {
    while (!isStopped && Date.now() < end) {
      requests += 1;
      const headers = { authorization: `Bearer ${token()}` };
      await fetch(url, { headers }).then(
        async (response) => {
          const body = await response.text();
          if (response.status !== 200) failures.push(`${response.status} ${body}`);
        },
        (error: unknown) => failures.push(String(error)),
      );
      await Bun.sleep(PAUSE_MS);
    }
  };
  const workers = Array.from({ length: WORKERS }, work);
  return {
    requests: () => requests,
    async stop() {
      isStopped = true;
      await Promise.all(workers);
      return failures;
    },
  };
}

const started: RunningProcess[] = [];
function start(...args: Parameters<typeof run>): RunningProcess {
  const process = run(...args);
  started.push(process);
  return process;
}

afterAll(async () => {
  for (const process of started) process.signal('SIGKILL');
  await Promise.all(started.map(({ finished }) => finished));
});

test('a rolling restart behind HAProxy under constant load fails no request', async () => {
  const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
  const command = await executableForm.command();
  const startInstance = (port: number) =>
    start(command, {
      ISSUER: issuer.url,
      AUDIENCE,
      HOST: '127.0.0.1',
      PORT: String(port),
      SHUTDOWN_DELAY_SECONDS: '5',
      // A line per request shows which instance answers.
      LOG_LEVEL: 'debug',
    });
  const takesRequests = (instance: RunningProcess) => () => instance.stdout().includes('/api/private-scoped');

  const ports = [await freePort(), await freePort()];
  const [one = 0, two = 0] = ports;
  const balancerPort = await freePort();
  const configuration = await Bun.file(join(root, 'deploy/haproxy/haproxy.cfg')).text();
  start(
    ['haproxy', '-db', '-f', 'haproxy.cfg'],
    {
      PATH: `${process.env.PATH}:/usr/sbin`,
      FRONTEND: `127.0.0.1:${balancerPort}`,
      SERVER_1: `127.0.0.1:${one}`,
      SERVER_2: `127.0.0.1:${two}`,
    },
    // Without retries, so that a request to an instance that has stopped fails.
    { 'haproxy.cfg': configuration.replace('defaults\n', 'defaults\n  retries 0\n') },
  );
  const instances = new Map(ports.map((port) => [port, startInstance(port)]));
  const readyUrl = `http://127.0.0.1:${balancerPort}/readyz`;
  const isReady = () =>
    fetch(readyUrl).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isReady, 'a ready instance behind the balancer');

  // Tokens in rotation, so that the instances verify some and remember others.
  const tokens = Array.from({ length: 50 }, (_, index) => mintToken(issuer.url, { claims: { jti: String(index) } }));
  let turn = 0;
  const nextToken = () => tokens[turn++ % tokens.length] ?? '';
  const load = startLoad(`http://127.0.0.1:${balancerPort}/api/private-scoped`, nextToken);
  for (const instance of instances.values()) await until(takesRequests(instance), 'requests at both instances');

  for (const [port, instance] of instances) {
    instance.signal('SIGTERM');
    expect((await instance.finished).status).toBe(0);
    const restarted = startInstance(port);
    instances.set(port, restarted);
    await until(takesRequests(restarted), 'requests at the restarted instance');
  }

  await until(() => load.requests() > 500, '500 requests');
  expect(await load.stop()).toEqual([]);
  await issuer.close();
}, 300_000);
