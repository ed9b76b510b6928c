import { expect, test } from 'bun:test';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { run, until } from '../support/child-process.ts';
import { readPrinted } from '../support/embedded-issuer.ts';
import { bearer } from '../support/fixture.ts';

const ENTRY = join(import.meta.dir, '../../src/index.ts');

/** The entry of the service beside a module that changes when the process gets a signal. */
const files = {
  'entry.ts': `import { writeFileSync } from 'node:fs';
import { revision } from './changed.ts';
process.once('SIGUSR2', () => writeFileSync('changed.ts', 'export const revision = ' + (revision + 1) + ';'));
await import(${JSON.stringify(ENTRY)});
`,
  'changed.ts': 'export const revision = 1;',
};

test('tokens and credentials of the development issuer outlive a reload, and the banner is printed once', async () => {
  const command = packageJson.scripts.dev.replace(/^bun /, '').replace('src/index.ts', 'entry.ts').split(' ');
  const service = run([process.execPath, ...command], { PORT: '0', METRICS_PORT: '0' }, files);
  const count = (text: string, part: RegExp) => text.match(part)?.length ?? 0;
  const listenings = (times: number) =>
    until(() => count(service.stdout(), /"msg":"Listening"/g) === times, `${times} starts: ${service.stderr()}`);
  await listenings(1);
  const { issuer, audience, reader } = await readPrinted(service.stderr);
  const getToken = async () => {
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: reader.clientId,
      client_secret: reader.clientSecret,
      audience,
    });
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
    expect(await callWith(token)).toBe(200);
    expect(await callWith(await getToken())).toBe(200);
  }
  service.signal('SIGTERM');
  const { status, stdout, stderr } = await service.finished;
  expect(status, stdout).toBe(0);
  expect(count(stderr, /^Development mode:/gm)).toBe(1);
  expect(count(stdout, /"msg":"Shutting down"/g)).toBe(1);
});
