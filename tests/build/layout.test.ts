import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import biome from '../../biome.json';
import { readText, root } from '../support/repository.ts';

const page = await readText('CONTRIBUTING.md');
const rows = [...page.matchAll(/^\| `([\w/]+\/)` +\|[^|\n]+\|([^|\n]*)\|$/gm)].map(([, room = '', names = '']) => ({
  room,
  names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
}));
const filesIn = (folder: string) =>
  readdirSync(join(root, 'src', folder), { withFileTypes: true }).filter((entry) => entry.isFile());

/** The files behind the door `guard.ts`, which Cloudflare Workers import: they have no Node.js modules. */
const guardRooms = ['auth/guard/', 'auth/proof/', 'auth/token/', 'auth/keys/', 'auth/jose/'];

/** The folders of a package that hold rooms. */
const roomsIn = (folder: string) =>
  readdirSync(join(root, 'src', folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !['auth', 'dist', 'node_modules'].includes(entry.name))
    .map(({ name }) => `${folder}${name}/`);

test('CONTRIBUTING.md names each room of src', () =>
  expect(rows.map(({ room }) => room).toSorted()).toEqual([...roomsIn(''), ...roomsIn('auth/')].toSorted()));

test.each(rows)('the linter lets $room import what CONTRIBUTING.md names, and nothing else', ({ room, names }) => {
  const rules = biome.overrides.filter(({ includes }) => includes.join() === `src/${room}**`);
  const isAdapter = names.includes('elysia') || !room.startsWith('auth/');
  const allowed = names.filter((name) => name !== 'elysia').map((name) => `!../${name.replace(/\/$/, '/**')}`);
  const isForWorkers = guardRooms.includes(room);
  expect(rules.flatMap(({ linter }) => linter.rules.style?.noRestrictedImports?.options.patterns[0]?.group)).toEqual([
    ...(isForWorkers ? ['node:*', 'node:*/**'] : []),
    ...(isAdapter ? [] : ['elysia', 'elysia/**']),
    '../**',
    ...allowed,
  ]);
});

test.each(rows)('$room is built only on rooms that come after it, so there is no circle', ({ room, names }) => {
  const folder = room.startsWith('auth/') ? 'auth/' : '';
  const order = rows.map((row) => row.room);
  for (const name of names.filter((each) => each.endsWith('/')))
    expect(order.indexOf(folder + name), name).toBeGreaterThan(order.indexOf(room));
});

test.each([['./', 9] as const, ...rows.map(({ room }) => [room, 9] as const), ['auth/', 12] as const])(
  '%s has at most %d source files',
  (room, most) =>
    expect(filesIn(room).filter(({ name }) => /\.tsx?$|\.js$/.test(name)).length).toBeLessThanOrEqual(most),
);
