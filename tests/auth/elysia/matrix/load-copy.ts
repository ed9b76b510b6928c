import { createRequire } from 'node:module';
import type { Elysia } from 'elysia';

/** Returns Elysia as CommonJS applications load it: another copy each time, which no guard has met. */
export function loadCopy(): typeof Elysia {
  const require = createRequire(import.meta.url);
  for (const path of Object.keys(require.cache)) if (/[\\/]elysia[\\/]dist[\\/]/.test(path)) delete require.cache[path];
  return require('elysia').Elysia;
}
