import { describe } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { options, serverRows } from '../auth/node/server-rows.ts';
import { run, untilProcess } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';

const root = join(import.meta.dir, '../..');

describe('under Node.js', () => {
  const started = startedFor(
    120_000,
    async () => {
      // In the repository, because the servers are found in its packages.
      const outdir = await mkdtemp(join(root, 'dist/servers-'));
      const entrypoints = [join(root, 'tests/auth/node/servers.ts')];
      await Bun.build({ entrypoints, outdir, target: 'node', packages: 'external' });
      const server = run(['node', join(outdir, 'servers.js')], {
        PATH: process.env.PATH ?? '',
        NODE_ENV: 'test',
        GUARD_OPTIONS: JSON.stringify(options),
      });
      await untilProcess(server, () => server.stdout().includes('\n'), 'the servers');
      const urls: readonly { readonly name: string; readonly url: string }[] = JSON.parse(server.stdout());
      return { server, outdir, urls };
    },
    async ({ server, outdir }) => {
      server.signal('SIGKILL');
      await Promise.all([server.finished, rm(outdir, { recursive: true })]);
    },
  );
  serverRows((name) => started().urls.find((server) => server.name === name)?.url ?? '');
});
