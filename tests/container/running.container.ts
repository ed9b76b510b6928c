import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { freePort, until, untilItAnswers } from '../support/child-process.ts';
import { containerForm, docker, imageUnderTest, runContainer } from '../support/container.ts';
import { readPrinted } from '../support/embedded-issuer.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';

setDefaultTimeout(60_000);
beforeAll(async () => void (await imageUnderTest()), containerForm.startTimeoutMs);

/** An issuer that nobody answers for: the service runs without it. */
const settings = { ISSUER: 'https://issuer.invalid/', AUDIENCE };

test('a container with --dev issues tokens to the host through a published port, and accepts them', async () => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const container = await runContainer(['--publish', `127.0.0.1:${port}:3010`], {}, ['--dev']);
  await untilItAnswers(origin, container.process);
  const { reader, visitor, audience } = await readPrinted(container.process.stderr);

  const getToken = async ({ clientId, clientSecret }: typeof reader) => {
    const parameters = { grant_type: 'client_credentials', audience, client_id: clientId, client_secret: clientSecret };
    const response = await fetch(`${origin}/oauth/token`, { method: 'POST', body: new URLSearchParams(parameters) });
    return ((await response.json()) as { access_token: string }).access_token;
  };
  const callScoped = async (token: string) => fetch(`${origin}/api/private-scoped`, { headers: bearer(token) });
  await expectMessage(await callScoped(await getToken(reader)));
  await expectError(await callScoped(await getToken(visitor)), 403, 'Unauthorized');
  expect((await container.stop()).status).toBe(0);
});

test('a container with an issuer is reached from the host through a published port', async () => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const container = await runContainer(['--publish', `127.0.0.1:${port}:3010`], settings);
  await untilItAnswers(origin, container.process);
  await expectMessage(await fetch(`${origin}/api/public`));
  expect((await container.stop()).status).toBe(0);
});

test('no process of a container runs as root', async () => {
  const container = await runContainer([], settings);
  const listProcesses = () => docker('top', container.name, '-eo', 'pid,uid,comm').catch(() => '');
  let listed = '';
  await until(async () => {
    listed = await listProcesses();
    return listed !== '';
  }, 'a process in the container');
  const [, ...processes] = listed.split('\n');
  expect(processes.length).toBeGreaterThan(0);
  for (const line of processes) expect(line.trim()).toMatch(/^\d+\s+[1-9]\d*\s/);
  // Before it handles signals, process 1 of a container ignores them.
  await until(() => container.process.stdout().includes('Listening'), 'a service that handles signals');
  await container.stop();
});

test('a container logs JSON lines without any part of a token', async () => {
  const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
  const service = await containerForm.start({ ISSUER: issuer.url, AUDIENCE, LOG_LEVEL: 'debug' });
  const token = mintToken(issuer.url);
  await expectMessage(await service.fetch('/api/private', { headers: bearer(token) }));
  expect(await service.close()).toBe(0);
  await issuer.close();
  const lines = service.output().trim().split('\n');
  for (const line of lines) expect(JSON.parse(line)).toBeObject();
  for (const part of token.split('.')) expect(service.output()).not.toContain(part);
});
