import { expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import manifest from '../../src/auth/package.json';
import { readText } from '../support/repository.ts';

const page = await readText('docs/start/install.md');
const rows = Array.from(page.matchAll(/^\| `protected-api(\S*)` +\| +(\d+) kB/gm), ([, door = '', size]) => ({
  door: door.slice(1) || 'index',
  size: Number(size),
}));
const doors = Object.keys(manifest.exports).filter((path) => path !== './package.json');

test('docs/start/install.md gives the size of each door', () =>
  expect(rows.map(({ door }) => (door === 'index' ? '.' : `./${door}`)).toSorted()).toEqual(doors.toSorted()));

test.each(rows)('$door takes $size kB, bundled with what the package depends on, minified and gzipped', async (row) => {
  const { outputFiles } = await build({
    stdin: { contents: `export * from './src/auth/${row.door}.ts';`, resolveDir: '.' },
    bundle: true,
    minify: true,
    write: false,
    logLevel: 'error',
    format: 'esm',
    platform: 'node',
    external: Object.keys(manifest.peerDependencies),
  });
  const size = gzipSync(outputFiles[0]?.contents ?? '').length / 1000;
  // Less than that is no news.
  expect(Math.abs(size - row.size), `${size.toFixed(1)} kB`).toBeLessThan(Math.max(1, row.size / 20));
});
