import { createRequire } from 'node:module';
import type { Elysia } from 'elysia';

/** Returns Elysia as CommonJS applications load it: another copy each time, which no guard has met. */
export function loadCopy(): typeof Elysia {
  const require = createRequire(import.meta.url);
  // In Bun, the cache has the `.mjs` files of imports too: without them, a later test file would import a third copy.
  for (const path of Object.keys(require.cache))
    if (/[\\/]elysia[\\/]dist[\\/].*\.js$/.test(path)) delete require.cache[path];
  return require('elysia').Elysia;
}
