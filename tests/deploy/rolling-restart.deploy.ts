import { expect, test } from 'bun:test';
import { startHaproxy } from '../proxies/proxies.ts';
import { freePort, until, untilReachable } from '../support/child-process.ts';
import { executableForm, type Service, type ServiceProcess } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, bearer, mintToken } from '../support/mint.ts';

const WORKERS = 16;
const PAUSE_MS = 25;

test('a rolling restart behind HAProxy under constant load fails no request', async () => {
  await using issuer = await startIssuer();
  // A line per request shows which instance responds.
  const settings = { ISSUER: issuer.url, AUDIENCE, SHUTDOWN_DELAY_SECONDS: '5', LOG_LEVEL: 'debug' };
  const start = (port: number) => executableForm.start({ ...settings, PORT: String(port) });
  const untilItTakesRequests = ({ output }: Service) =>
    until(() => output().includes('/api/private-scoped'), 'requests at an instance');

  const [balancerPort, ...ports] = [await freePort(), await freePort(), await freePort()] as const;
  const [one, two] = ports;
  // Without retries, so that a request to an instance that has stopped fails.
  const servers = [`127.0.0.1:${one}`, `127.0.0.1:${two}`] as const;
  const balancer = await startHaproxy(`127.0.0.1:${balancerPort}`, servers, '  retries 0\n');
  const instances = new Map<number, ServiceProcess>();
  for (const port of ports) instances.set(port, await start(port));
  const origin = `http://127.0.0.1:${balancerPort}`;
  await untilReachable(`${origin}/readyz`, balancer, ({ ok }) => ok);

  // Tokens in rotation, so that the instances verify some and remember others.
  const tokens = Array.from({ length: 50 }, (_, index) => mintToken(issuer.url, { claims: { jti: String(index) } }));
  const failures: string[] = [];
  let requests = 0;
  let isOver = false;
  // Over keep-alive connections, a few hundred times a second.
  const work = async () => {
    while (!isOver) {
      requests += 1;
      const headers = bearer(tokens[requests % tokens.length] ?? '');
      const response = await fetch(`${origin}/api/private-scoped`, { headers })
        .then(async (response) => `${response.status} ${await response.text()}`)
        .catch(String);
      if (!response.startsWith('200 ')) failures.push(response);
      await Bun.sleep(PAUSE_MS);
    }
  };
  const workers = Array.from({ length: WORKERS }, work);
  for (const instance of instances.values()) await untilItTakesRequests(instance);
  for (const [port, instance] of instances) {
    expect(await instance.close()).toBe(0);
    const restarted = await start(port);
    instances.set(port, restarted);
    await untilItTakesRequests(restarted);
  }
  await until(() => requests > 500, '500 requests');
  isOver = true;
  await Promise.all(workers);
  expect(failures).toEqual([]);

  for (const child of [balancer, ...[...instances.values()].map(({ process }) => process)]) child.signal('SIGKILL');
});
