import { expect } from 'bun:test';
import { join } from 'node:path';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/**
 * Returns the names that are not settings of the service, by the list in .env.example: a misspelt one would be ignored
 * without an error.
 */
export async function unknownSettings(names: readonly string[]): Promise<string[]> {
  const known = new Set((await readText('.env.example')).matchAll(/^#? ?([A-Z_]+)=/gm).map(([, name]) => name));
  return names.filter((name) => !known.has(name) && name !== 'NODE_ENV');
}

/** Returns the text of a settings file in which these settings are uncommented and set. */
export function fillIn(text: string, settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings).reduce((filled, [name, value]) => {
    const line = new RegExp(`^(# )?${name}=.*$`, 'm');
    if (!line.test(filled)) throw new Error(`No line for ${name} in .env.example`);
    return filled.replace(line, `${name}=${value}`);
  }, text);
}

/**
 * Asserts that the compiler accepts each value as a literal of a type of this package: there an unknown field is an
 * error.
 */
export async function expectTypes(literals: readonly { value: unknown; type: string; from: string }[]): Promise<void> {
  const folder = temporaryFolder('dist');
  for (const [index, { value, type, from }] of literals.entries()) {
    const text = `import type { ${type} } from '${from}';\n(${JSON.stringify(value, null, 2)}) satisfies ${type};\n`;
    await Bun.write(join(folder, `${index}.ts`), text);
  }
  await Bun.write(join(folder, 'tsconfig.json'), '{"extends":"../../tsconfig.json","include":["."]}');
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'x', 'tsc', '--project', folder], { cwd: root });
  expect({ exitCode, output: stdout.toString() }).toEqual({ exitCode: 0, output: '' });
}
