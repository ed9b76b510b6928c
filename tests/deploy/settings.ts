import { join } from 'node:path';

/** The repository's root. */
export const root = join(import.meta.dir, '../..');

/** Returns the names that are no setting of the service, by the list in .env.example: a misspelt one would be ignored without an error. */
export async function unknownSettings(names: readonly string[]): Promise<string[]> {
  const example = await Bun.file(join(root, '.env.example')).text();
  const known = new Set(example.matchAll(/^#? ?([A-Z_]+)=/gm).map(([, name]) => name));
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
