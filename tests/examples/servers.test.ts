import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { run, runToEnd } from '../support/child-process.ts';
import { root } from '../support/repository.ts';
import { runWorker } from '../support/worker.ts';
import { serverRows } from './server-rows.ts';

for (const name of ['bun-serve', 'express', 'fastify', 'koa']) serverRows(`examples/${name}.ts`);

// Only the sources of the package, without Node.js modules.
serverRows('examples/workers.ts', (environment) => runWorker(join(root, 'examples/workers.ts'), environment));

const nextRoute = join(root, 'examples/next-route.ts');
// Next.js calls the exported function of the method, GET for HEAD too, as the routes of Bun.serve do.
serverRows('examples/next-route.ts', (environment) => {
  const script = `
    const { GET } = await import(${JSON.stringify(nextRoute)});
    const routes = { '/reports': { GET, HEAD: GET }, '/health': new Response('ok') };
    Bun.serve({ hostname: '127.0.0.1', port: process.env.PORT, routes });`;
  return run([process.execPath, '-e', script], environment);
});

test('examples/next-route.ts can be built ahead of time, without settings', async () =>
  expect(await runToEnd([process.execPath, nextRoute])).toEqual({ status: 0, stdout: '', stderr: '' }));
