import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { freePort, run, runToEnd } from '../support/child-process.ts';
import { runWorker } from '../support/worker.ts';
import { serverRows } from './server-rows.ts';

serverRows('examples/bun-serve.ts');
for (const name of ['express', 'fastify', 'koa']) serverRows(`examples/${name}.ts`, undefined, { usesNode: true });

// Next.js calls the exported function of the method, GET for HEAD too, as the routes of Bun.serve do.
serverRows('examples/next-route.ts', (environment) => {
  const script = `
    const { GET } = await import(${JSON.stringify(join(import.meta.dir, '../../examples/next-route.ts'))});
    const routes = { '/reports': { GET, HEAD: GET }, '/health': new Response('ok') };
    console.log(Bun.serve({ hostname: '127.0.0.1', port: 0, routes }).url.origin);`;
  return run([process.execPath, '-e', script], environment);
});

// The package's sources and nothing else, so without the modules of Node.js.
serverRows('examples/workers.ts', async (environment) =>
  runWorker(join(import.meta.dir, '../../examples/workers.ts'), { ...environment, PORT: String(await freePort()) }),
);

test.each(['next-route'])('examples/%s.ts can be built ahead of time, without settings', async (name) => {
  const file = join(import.meta.dir, `../../examples/${name}.ts`);
  expect(await runToEnd([process.execPath, file])).toEqual({ status: 0, stdout: '', stderr: '' });
});
