import { join } from 'node:path';
import manifest from '../../src/auth/package.json';
import { readText, root } from './repository.ts';

/**
 * The doors of the package: `exports` of its package.json is where a door is named, and everything else is compared
 * with it.
 */
export const doors = Object.entries(manifest.exports).flatMap(([path, files]) => {
  if (typeof files === 'string') return [];
  const file = files.default.replace('./dist/', '').replace(/js$/, 'ts');
  return [{ name: path.replace('.', manifest.name), file, source: join(root, 'src/auth', file), files }];
});

/**
 * Returns what each door exports besides types, as README.md of the package lists it. "Everything from" a door includes
 * its names.
 */
export async function documentedExports(): Promise<ReadonlyMap<string, readonly string[]>> {
  const readme = await readText('src/auth/README.md');
  const listed = new Map<string, string[]>();
  for (const [, heads = '', cell = ''] of readme.matchAll(/^\| (`protected-api[^|]*)\|([^|]*)\|$/gm)) {
    const [own = '', borrowed] = cell.split(/everything from/);
    const words = (text: string) => Array.from(text.matchAll(/`([\w-]+)`/g), ([, word = '']) => word);
    const others = words(borrowed ?? '').flatMap((door) => listed.get(`${manifest.name}/${door}`) ?? []);
    for (const [, door = ''] of heads.matchAll(/`([^`]+)`/g)) listed.set(door, [...words(own), ...others].toSorted());
  }
  return listed;
}
