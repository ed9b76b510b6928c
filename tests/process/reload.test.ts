import { expect, test } from 'bun:test';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { run, until } from '../support/child-process.ts';
import { readPrinted } from '../support/embedded-issuer.ts';
import { bearer } from '../support/fixture.ts';

/** The entry of the service beside a module that changes when the process gets a signal. */
const files = {
  'entry.ts': `import { writeFileSync } from 'node:fs';
import { revision } from './changed.ts';
process.once('SIGUSR2', () => writeFileSync('changed.ts', 'export const revision = ' + (revision + 1) + ';'));
await import(${JSON.stringify(join(import.meta.dir, '../../src/index.ts'))});
`,
  'changed.ts': 'export const revision = 1;',
};

test('tokens and credentials of the development issuer outlive a reload, and the banner is printed once', async () => {
  const command = packageJson.scripts.dev.replace(/^bun /, '').replace('src/index.ts', 'entry.ts').split(' ');
  const service = run([process.execPath, ...command], { PORT: '0', METRICS_PORT: '0' }, files);
  const listenings = (times: number) =>
    until(() => service.stdout().split('"msg":"Listening"').length === times + 1, `${times} starts`);
  await listenings(1);

  const { issuer, audience, reader } = await readPrinted(service.stderr);
  const getToken = async () => {
    const credentials = { client_id: reader.clientId, client_secret: reader.clientSecret };
    const body = new URLSearchParams({ grant_type: 'client_credentials', audience, ...credentials });
    const response = await fetch(`${issuer}oauth/token`, { method: 'POST', body });
    return ((await response.json()) as { readonly access_token: string }).access_token;
  };
  const callWith = async (token: string) =>
    (await fetch(`${issuer}api/private-scoped`, { headers: bearer(token) })).status;
  const token = await getToken();
  expect(await callWith(token)).toBe(200);

  for (const times of [2, 3]) {
    service.signal('SIGUSR2');
    await listenings(times);
    expect([await callWith(token), await callWith(await getToken())]).toEqual([200, 200]);
  }
  service.signal('SIGTERM');
  const { status, stdout, stderr } = await service.finished;
  expect(status, stdout).toBe(0);
  expect(stderr.match(/^: Development mode:/gm)).toHaveLength(1);
  expect(stdout.match(/"msg":"Shutting down"/g)).toHaveLength(1);
});
