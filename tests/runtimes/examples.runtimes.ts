import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { serverRows } from '../examples/server-rows.ts';
import { run } from '../support/child-process.ts';

const fromRoot = (path: string) => join(import.meta.dir, '../..', path);

// Node.js 20 runs no TypeScript, so the example is compiled.
serverRows('examples/hono-node.ts under Node.js', async (environment) => {
  const { outputs } = await Bun.build({ entrypoints: [fromRoot('examples/hono-node.ts')], target: 'node' });
  const script = (await outputs[0]?.text()) ?? '';
  return run(['node', 'hono-node.mjs'], environment, { 'hono-node.mjs': script });
});

serverRows('examples/deno-serve.ts under Deno', async (environment) => {
  const imports = { 'protected-api/guard': pathToFileURL(fromRoot('src/auth/guard.ts')).href };
  const map = fromRoot('dist/deno-imports.json');
  await Bun.write(map, JSON.stringify({ imports }));
  const command = ['deno', 'run', '--allow-env', '--allow-net', '--no-prompt', '--no-lock', `--import-map=${map}`];
  return run([...command, fromRoot('examples/deno-serve.ts')], { ...environment, NO_COLOR: '1' });
});
