import { expect } from 'bun:test';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './settings.ts';

/** Asserts that the compiler accepts each value as a literal of a type of this package: there an unknown field is an error. */
export async function expectTypes(literals: readonly { value: unknown; type: string; from: string }[]): Promise<void> {
  await mkdir(join(root, 'dist'), { recursive: true });
  const folder = await mkdtemp(join(root, 'dist/schema-'));
  for (const [index, { value, type, from }] of literals.entries()) {
    const text = `import type { ${type} } from '${from}';\n(${JSON.stringify(value, null, 2)}) satisfies ${type};\n`;
    await Bun.write(join(folder, `${index}.ts`), text);
  }
  await Bun.write(join(folder, 'tsconfig.json'), '{"extends":"../../tsconfig.json","include":["."]}');
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'x', 'tsc', '--project', folder], { cwd: root });
  await rm(folder, { recursive: true });
  expect({ exitCode, output: stdout.toString() }).toEqual({ exitCode: 0, output: '' });
}
