import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Writes JavaScript and declarations of the doors to `src/auth/dist`, which the npm package contains. */
const folder = join(import.meta.dir, '../src/auth');
const outDir = join(folder, 'dist');
await rm(outDir, { recursive: true, force: true });
const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'x', 'tsc', '-p', folder]);
if (exitCode !== 0) throw new Error(`Cannot compile the package:\n${stdout}`);

// The compiler rewrites the endings of relative imports in JavaScript only: https://github.com/microsoft/TypeScript/issues/61037
for (const name of await readdir(outDir, { recursive: true })) {
  if (!name.endsWith('.d.ts')) continue;
  const file = Bun.file(join(outDir, name));
  await file.write((await file.text()).replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js'));
}
