import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Elysia } from 'elysia';

/** Returns Elysia as CommonJS applications load it: another copy each time, which no guard has met. */
export function loadCopy(): typeof Elysia {
  const require = createRequire(import.meta.url);
  // In Bun, the cache has the modules of imports too: without them, a later test file would import a third copy. They
  // end with `.mjs`, or, before Elysia 1.4.28, are in a folder of their own.
  for (const path of Object.keys(require.cache))
    if (/[\\/]elysia[\\/]dist[\\/](?!bun[\\/]).*\.js$/.test(path)) delete require.cache[path];
  return require(join(dirname(require.resolve('elysia/package.json')), 'dist/index.js')).Elysia;
}
