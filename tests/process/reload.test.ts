import { expect, test } from 'bun:test';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { run, until } from '../support/child-process.ts';
import { readPrinted, requestToken } from '../support/development-issuer.ts';
import { bearer } from '../support/mint.ts';

/**
 * The entry of the service beside a module that is saved with the next of these texts when the process gets a signal.
 */
const saved = ['export const revision = 2;', 'export const revision = {;', 'export const revision = 3;'];
const files = {
  'entry.ts': `import { writeFileSync } from 'node:fs';
const saved = globalThis.saved ??= ${JSON.stringify(saved)};
process.removeAllListeners('SIGUSR2').on('SIGUSR2', () => writeFileSync('changed.ts', saved.shift()));
await import('./changed.ts');
await import(${JSON.stringify(join(import.meta.dir, '../../src/index.ts'))});
`,
  'changed.ts': 'export const revision = 1;',
};

test('tokens and credentials of the development issuer outlive reloads and a mistake, and the banner is printed once', async () => {
  const command = packageJson.scripts.dev.replace(/^bun /, '').replace('src/index.ts', 'entry.ts').split(' ');
  const service = run([process.execPath, ...command], { PORT: '0', METRICS_PORT: '0' }, files);
  const listenings = (times: number) =>
    until(() => service.stdout().split('"msg":"Listening"').length === times + 1, `${times} starts`);
  await listenings(1);

  const { issuer, audience, reader } = await readPrinted(service.stderr);
  const getToken = () => requestToken(issuer, audience, reader);
  const callWith = async (token: string) =>
    (await fetch(`${issuer}api/private-scoped`, { headers: bearer(token) })).status;
  const token = await getToken();

  const place = /changed\.ts:1:26\b[\s\S]*Fix this error and save again/;
  for (const isSaved of [
    () => listenings(2),
    () => until(() => place.test(service.stderr()), 'the error with its place'),
    () => listenings(3),
  ]) {
    service.signal('SIGUSR2');
    await isSaved();
    expect([await callWith(token), await callWith(await getToken())]).toEqual([200, 200]);
  }
  service.signal('SIGTERM');
  const { status, stdout, stderr } = await service.finished;
  expect(status, stdout).toBe(0);
  expect(stderr.match(/^: Development mode:/gm)).toHaveLength(1);
  expect(stdout.match(/"msg":"Shutting down"/g)).toHaveLength(1);
});
