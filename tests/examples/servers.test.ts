import { expect, test } from 'bun:test';
import { basename, join } from 'node:path';
import { run, runToEnd } from '../support/child-process.ts';
import { readText, root } from '../support/repository.ts';
import { runWorker } from '../support/worker.ts';
import { serverRows } from './server-rows.ts';

for (const name of ['bun-serve', 'express', 'fastify', 'koa']) serverRows(`examples/${name}.ts`);

// Only the sources of the package, without Node.js modules.
for (const name of ['workers', 'hono-workers'])
  serverRows(`examples/${name}.ts`, (environment) => runWorker(join(root, `examples/${name}.ts`), environment));

const next = join(root, 'examples/next');
const bun = [process.execPath, '--preload', join(root, 'tests/support/next-server.ts')];
// Next.js calls the proxy, then the exported function of the method, GET for HEAD too, as the routes of Bun.serve do.
serverRows('examples/next', (environment) => {
  const script = `
    const { proxy } = await import('${next}/proxy.ts');
    const { GET } = await import('${next}/app/messages/route.ts');
    const route = async (request) => (await proxy(request)) ?? GET(request);
    const routes = { '/messages': { GET: route, HEAD: route }, '/health': new Response('ok') };
    Bun.serve({ hostname: '127.0.0.1', port: process.env.PORT, routes });`;
  return run([...bun, '-e', script], environment);
});

test.each(['proxy.ts', 'app/messages/route.ts'])(
  'examples/next/%s can be built ahead of time, without settings',
  async (file) => expect(await runToEnd([...bun, join(next, file)])).toEqual({ status: 0, stdout: '', stderr: '' }),
);

test.each([...new Bun.Glob('examples/**/*.ts').scanSync(root)])('%s says how to start it', async (file) => {
  const name = /examples\/(next)?/.exec(file)?.[1] ?? basename(file, '.ts');
  // The other files of Next.js are not started.
  if (/next\/(?!proxy)/.test(file)) return;
  expect(await readText(file)).toMatch(
    new RegExp(` (?:S|s)tart it (?:with|by deploying it as):\n// (?:[A-Z_]+=\\S+ )*.*${name}`),
  );
});
