import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { doors } from '../support/doors.ts';
import { readText, root } from '../support/repository.ts';

/** The rows of the three tables of MAINTAINING.md: rooms and files of src, and what each may import. */
const page = await readText('MAINTAINING.md');
const rooms = [...page.matchAll(/^\| (`[^|]+`) +\|[^|\n]+\|([^|\n]*)\|$/gm)].flatMap(([, places = '', cell = '']) => {
  const names = [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  return [...places.matchAll(/`([\w/.-]+(?:\/|\.ts))`/g)].map(([, place = '']) => ({
    place,
    imports: cell.includes('all rooms') ? undefined : names.map((name) => inPackage(place, name)),
  }));
});
/** Doors import all rooms, and come before them. */
const rows = [...doors.map(({ file }) => ({ place: `auth/${file}`, imports: undefined })), ...rooms];
const order = rows.map(({ place }) => place);

/** The packages, which have tables of their own as the service has. */
function packageOf(place: string): string {
  return /^(?:auth|probe)\//.exec(place)?.[0] ?? '';
}

/** Only names with a slash or an ending are places of src. */
function inPackage(place: string, name: string): string {
  return /(?:\/|\.ts)$/.test(name) ? packageOf(place) + name : name;
}

const sourceFiles = (readdirSync(join(root, 'src'), { recursive: true }) as string[])
  .filter((name) => /\.(?:ts|js)$/.test(name) && !/(?:^|\/)(?:dist|node_modules)\//.test(name))
  .toSorted();

const placeOf = (file: string): string => {
  const [first = '', second = '', third] = file.split('/');
  if (packageOf(file) !== '') return third === undefined ? file : `${first}/${second}/`;
  return second === '' ? file : `${first}/`;
};

/** Lines of a docstring, which may show an import, are none. */
const specifiersIn = (source: string): readonly string[] =>
  [...source.replaceAll(/^ *\*.*$/gm, '').matchAll(/(?:\bfrom|\bimport|\bimport\()\s*['"]([^'"\n]+)['"]/g)].map(
    ([, name = '']) => name,
  );

/** Returns each import of a file that its row does not name, types included. */
function forbiddenImports(file: string, source: string): readonly string[] {
  const place = placeOf(file);
  const row = rows.find((each) => each.place === place);
  return specifiersIn(source).filter((specifier) => !isAllowed(specifier, file, place, row?.imports));
}

function isAllowed(specifier: string, file: string, place: string, imports: readonly string[] | undefined): boolean {
  const isOfPackage = packageOf(place) !== '';
  if (!specifier.startsWith('.')) {
    const name = specifier.startsWith('node:') ? 'node:' : (/^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier);
    // Only the package says which packages each of its rooms needs.
    return isOfPackage ? imports === undefined || imports.includes(name) : true;
  }
  const target = posix.normalize(posix.join(dirname(file), specifier));
  if (target.startsWith('../')) return !isOfPackage && target === '../package.json';
  const to = placeOf(target);
  if (to === place) return true;
  if (packageOf(to) !== packageOf(place)) return false;
  return imports === undefined || imports.includes(to);
}

test('MAINTAINING.md names each room and file of src once', () =>
  expect(order.toSorted()).toEqual([...new Set(sourceFiles.map(placeOf))].toSorted()));

/** More than a reader surveys at once. */
const maxFiles = 13;
test(`no room has more than ${maxFiles} files`, () => {
  const folders = Map.groupBy(sourceFiles, (file) => dirname(file));
  expect([...folders].filter(([, files]) => files.length > maxFiles).map(([folder]) => folder)).toEqual([]);
});

test.each(sourceFiles)('%s imports only what MAINTAINING.md names', async (file) =>
  expect(forbiddenImports(file, await readText(`src/${file}`))).toEqual([]),
);

test('each room is built only on rooms that come after it, so there is no circle', () => {
  for (const { place, imports = [] } of rows)
    for (const name of imports.filter((each) => /(?:\/|\.ts)$/.test(each)))
      expect(order.indexOf(name), `${place} and ${name}`).toBeGreaterThan(order.indexOf(place));
});

test('no file imports itself through others of its room', async () => {
  const imports = new Map<string, readonly string[]>();
  for (const file of sourceFiles)
    imports.set(
      file,
      specifiersIn(await readText(`src/${file}`)).map((name) => posix.join(dirname(file), name)),
    );
  const leadsTo = (to: string, from: string, seen = new Set<string>()): boolean =>
    (imports.get(from) ?? []).some((next) => next === to || (!seen.has(next) && leadsTo(to, next, seen.add(next))));
  expect(sourceFiles.filter((file) => leadsTo(file, file))).toEqual([]);
});

/** Returns what a file loads, in lines: not what it has only types of. */
async function linesLoadedBy(file: string, lines = new Map<string, number>()): Promise<ReadonlyMap<string, number>> {
  const source = await readText(`src/${file}`);
  lines.set(file, source.split('\n').length - 1);
  for (const [, name = ''] of source.matchAll(/^(?:import|export) (?!type )(?:[^'";]* from )?'(\.[^']+)';$/gm)) {
    const next = posix.join(dirname(file), name);
    if (!lines.has(next)) await linesLoadedBy(next, lines);
  }
  return lines;
}

const maxLines = 6500;
test(`the door of every server loads at most ${maxLines} lines`, async () => {
  const lines = await linesLoadedBy('auth/index.ts');
  expect([...lines.values()].reduce((sum, each) => sum + each)).toBeLessThanOrEqual(maxLines);
  expect(lines.has('auth/guard/core.ts')).toBe(true);
});

describe('forbiddenImports() finds', () => {
  const planted: readonly (readonly [what: string, file: string, source: string])[] = [
    ['a room that imports one above it', 'auth/keys/key-set.ts', "import { x } from '../token/claims.ts';"],
    ['a type of a room above it', 'auth/token/claims.ts', "import type { X } from '../guard/scopes.ts';"],
    ['Elysia behind the door of every server', 'auth/guard/core.ts', "import { Elysia } from 'elysia';"],
    ['a module of Node.js behind that door', 'auth/proof/proof.ts', "import { createHash } from 'node:crypto';"],
    ['the package in the service by its path', 'routes/messages.ts', "import { x } from '../auth/guard.ts';"],
    ['the guard in the probe by its path', 'probe/run/probe.ts', "import { x } from '../../auth/testing.ts';"],
    [
      'a dependency of the guard in a room of rows',
      'probe/tokens/claims.ts',
      "import { x } from 'protected-api/testing';",
    ],
    [
      'a room of the package that the service does not share',
      'settings.ts',
      "import { x } from './auth/options/rules.ts';",
    ],
    ['a room of the guard in the probe', 'probe/values/url.ts', "import { x } from '../../auth/values/url.ts';"],
    ['a room of the guard in the service', 'settings.ts', "import { x } from './auth/values/url.ts';"],
    ['the service in the package', 'auth/guard/core.ts', "import { x } from '../../settings.ts';"],
    ['an import when it is needed', 'http/plugin.ts', "const x = await import('../openapi/document.ts');"],
    ['an import for its effect', 'auth/values/json.ts', "import '../rejections.ts';"],
    ['a dependency of another room', 'auth/values/url.ts', "import { decodeJwt } from 'elysia';"],
  ];
  test.each(planted)('%s', (_, file, source) => expect(forbiddenImports(file, source)).toHaveLength(1));
});

/** The formatter wraps code, but no comment. A URL cannot be wrapped. */
const isTooWide = (line: string) => line.length > 120 && /^\s*(?:\/\/ |\/?\*+ )/.test(line) && !line.includes('://');

test.each(['src', 'tests', 'scripts', 'examples', 'bench'])(
  'comments in %s are at most 120 columns wide',
  async (folder) => {
    const files = (readdirSync(join(root, folder), { recursive: true }) as string[]).filter(
      (name) => /\.(?:ts|js)$/.test(name) && !/(?:^|\/)(?:dist|node_modules)\//.test(name),
    );
    const lines = await Promise.all(
      files.map(async (name) => {
        const found = (await readText(`${folder}/${name}`)).split('\n').filter(isTooWide);
        return found.map((line) => `${name}: ${line}`);
      }),
    );
    expect(lines.flat()).toEqual([]);
  },
);
