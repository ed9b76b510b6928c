import { expect, test } from 'bun:test';
import { startHaproxy, startLoad } from '../proxies/proxies.ts';
import { freePort, until, untilReachable } from '../support/child-process.ts';
import { executableForm, type Service, type ServiceProcess } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, bearer, mintToken } from '../support/mint.ts';

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
  const load = startLoad(`${origin}/api/private-scoped`, (request) => bearer(tokens[request % tokens.length] ?? ''));
  for (const instance of instances.values()) await untilItTakesRequests(instance);
  for (const [port, instance] of instances) {
    expect(await instance.close()).toBe(0);
    const restarted = await start(port);
    instances.set(port, restarted);
    await untilItTakesRequests(restarted);
  }
  await until(() => load.requests() > 500, '500 requests');
  expect(await load.stop()).toEqual([]);

  for (const child of [balancer, ...[...instances.values()].map(({ process }) => process)]) child.signal('SIGKILL');
});
