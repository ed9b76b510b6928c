import { beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import { build } from 'esbuild';
import { runToEnd } from '../support/child-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder();
let seen: Readonly<Record<string, readonly unknown[]>> = {};

/** Makes certificates of a server and two clients, and runs the servers of certificates-main.ts under Node.js. */
beforeAll(async () => {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  for (const name of ['server', 'a', 'b'])
    await $`openssl req -x509 ${key} -subj /CN=${name} -keyout ${name}.key -out ${name}.pem`.cwd(folder).quiet();
  await build({
    entryPoints: [join(import.meta.dir, 'certificates-main.ts')],
    outfile: join(folder, 'main.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'error',
  });
  const { stdout, stderr } = await runToEnd(['sh', '-c', `cd ${folder} && exec node main.mjs`]);
  expect(stderr).toBe('');
  seen = JSON.parse(stdout);
});

test.each([
  ['Express', 'the certificate'],
  ['Express', 'its bytes'],
  ['Express', 'an X509Certificate'],
  ['Fastify', 'the certificate'],
  ['Hono', 'the certificate'],
])('%s on TLS of Node.js: a function that returns %s of the connection decides', (door, form) =>
  expect(seen[`${door}: ${form}`]).toEqual([200, 200, 'certificate_mismatch', 'certificate_missing']),
);
