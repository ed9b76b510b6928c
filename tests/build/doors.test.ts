import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../src/auth/package.json';
import tsconfig from '../../tsconfig.json';
import { documentedExports, doors } from '../support/doors.ts';
import { readText, root } from '../support/repository.ts';

const documented = await documentedExports();

/** Texts of all files of a folder that have this ending. */
const textsOf = (folder: string, ending: string): Promise<readonly string[]> =>
  Promise.all(
    (readdirSync(join(root, folder), { recursive: true }) as string[])
      .filter((name) => name.endsWith(ending) && !name.includes('node_modules'))
      .map((name) => readText(`${folder}/${name}`)),
  );
const pages = await textsOf('docs', '.md');
const suites = await textsOf('tests/auth', '.test.ts');
const examples = [
  ...(await textsOf('examples', '.ts')),
  // A block that is a whole file.
  ...pages.flatMap((page) => Array.from(page.matchAll(/^```ts\n(.*?)^```$/gms), ([, block = '']) => block)),
];

test('README.md of the package lists the doors, and nothing else', () =>
  expect([...documented.keys()].toSorted()).toEqual(doors.map(({ name }) => name).toSorted()));

test('tsconfig.json leads each door to its source', () =>
  expect(tsconfig.compilerOptions.paths as object).toEqual({
    ...Object.fromEntries(doors.map(({ name, file }) => [name, [`./src/auth/${file}`]])),
    'protected-api-probe': ['./src/probe/index.ts'],
  }));

test('typesVersions leads each door to its declarations, for `moduleResolution: node`, which reads no exports', () =>
  expect(manifest.typesVersions['*'] as object).toEqual(
    Object.fromEntries(
      doors.flatMap(({ name, files }) => (name === manifest.name ? [] : [[name.replace(/.*?\//, ''), [files.types]]])),
    ),
  ));

describe.each(doors)('the door $name', ({ name, file, source, files }) => {
  const imports = (text: string) =>
    text.includes(`from '${name}'`) || text.includes(`import('${name}')`) || text.includes(`src/auth/${file}'`);

  test('is compiled from one file', async () => {
    expect(await Bun.file(source).exists()).toBe(true);
    const base = `./dist/${file.replace('.ts', '')}`;
    expect(files).toEqual({ types: `${base}.d.ts`, default: `${base}.js` });
  });

  test('exports what README.md lists, besides types', async () =>
    expect(Object.keys(await import(source)).toSorted()).toEqual([...(documented.get(name) ?? [])]));

  test('has a page that names it', () => expect(pages.some((page) => page.includes(name))).toBe(true));

  test('has a suite in tests/auth', () => expect(suites.some(imports)).toBe(true));

  test('has an example that is a whole file', () => expect(examples.some(imports)).toBe(true));
});
