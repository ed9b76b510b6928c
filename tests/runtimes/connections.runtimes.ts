import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { $ } from 'bun';
import { runToEnd } from '../support/child-process.ts';
import { AUDIENCE, signingKeys } from '../support/mint.ts';
import { nodePath, nodeVersions } from '../support/node-versions.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { bundle } from '../support/worker.ts';

const runtimes: readonly (readonly [name: string, ...command: string[]])[] = [
  ['bun', process.execPath],
  ...nodeVersions.map((version) => [`node ${version}`, nodePath(version)] as const),
  ['deno', 'deno', 'run', '--allow-all'],
];

/** Fetches keys three times, as the service does when it gets SIGHUP. */
async function reloadThrice(command: readonly string[], issuer: string): Promise<string> {
  const source = join(temporaryFolder(), 'reload.ts');
  const guard = join(import.meta.dir, '../../src/auth/index.ts');
  await Bun.write(
    source,
    `import { createGuard } from ${JSON.stringify(guard)};
    const guard = createGuard({ issuer: process.env.ISSUER, audience: process.env.AUDIENCE });
    for (const _ of [1, 2, 3]) console.log((await guard.reload()).issuers[0].lastFailure?.failure ?? 'fetched');
    guard.stop();`,
  );
  const files = { 'reload.mjs': await bundle(source) };
  const { stdout } = await runToEnd([...command, 'reload.mjs'], { ISSUER: issuer, AUDIENCE, NO_COLOR: '1' }, files);
  return stdout;
}

const text = JSON.stringify({ keys: signingKeys() });

test.each(runtimes)('%s fetches keys on a connection of their own each time', async (_, ...command) => {
  const ports: (number | undefined)[] = [];
  await using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, { requestIP }) {
      ports.push(requestIP.call(server, request)?.port);
      return new Response(text, { headers: { 'keep-alive': 'timeout=600' } });
    },
  });
  expect(await reloadThrice(command, server.url.href)).toBe('fetched\n'.repeat(3));
  expect(new Set(ports).size).toBe(3);
});

test('deno fetches keys on a connection of their own each time over HTTP/2 too', async () => {
  const folder = temporaryFolder();
  await $`openssl req -x509 -newkey rsa:2048 -nodes -keyout ${folder}/key -out ${folder}/cert -subj /CN=localhost`.quiet();
  const [key, cert] = await Promise.all(['key', 'cert'].map((name) => Bun.file(`${folder}/${name}`).text()));
  const requests: string[] = [];
  const server = createSecureServer({ key, cert }, ({ httpVersion, socket }, response) => {
    requests.push(`${httpVersion} ${socket.remotePort}`);
    response.end(text);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const command = ['deno', 'run', '--allow-all', '--unsafely-ignore-certificate-errors=127.0.0.1'];
  expect(await reloadThrice(command, `https://127.0.0.1:${port}/`)).toBe('fetched\n'.repeat(3));
  server.close();
  expect(requests).toEqual(Array(3).fill(expect.stringMatching(/^2\.0 /)));
  expect(new Set(requests).size).toBe(3);
});
