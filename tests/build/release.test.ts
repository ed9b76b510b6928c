import { expect, test } from 'bun:test';
import { chmod, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import { pack, tagProblems } from '../../scripts/release.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('pack() makes the same archive each time, from which the executable runs', async () => {
  const folder = temporaryFolder();
  const executable = join(folder, 'protected-api');
  const archives = ['0.tar.gz', '1.tar.gz'].map((name) => join(folder, name));
  for (const [index, archive] of archives.entries()) {
    await Bun.write(executable, '#!/bin/sh\necho it runs\n');
    await chmod(executable, index === 0 ? 0o700 : 0o775);
    await utimes(executable, index + 1, index + 1);
    await pack(executable, archive);
  }
  const [first, second] = await Promise.all(archives.map((archive) => Bun.file(archive).bytes()));
  expect(second).toEqual(first ?? new Uint8Array());

  await rm(executable);
  await $`tar --extract --gzip --file ${archives[0]} -C ${folder}`;
  expect(await $`${executable}`.text()).toBe('it runs\n');
  expect((await stat(executable)).mode & 0o777).toBe(0o755);
  expect(await Bun.file(join(folder, 'LICENSE')).text()).toBe(await Bun.file('LICENSE').text());
});

test.each([
  ['v2.0.0', '2.0.0', '## [2.0.0] - 2026-12-01', 0],
  ['2.0.0', '2.0.0', '## [2.0.0] - 2026-12-01', 1],
  ['v2.0.1', '2.0.0', '## [2.0.0] - 2026-12-01', 1],
  ['v2.0.0', '2.0.0', '## [2.0.0] - Unreleased', 1],
  ['v2.0.0', '2.0.0', 'See [2.0.0] - 2026-12-01', 1],
])('tagProblems() of %s with version %s and %j: %i', (tag, version, changelog, count) =>
  expect(tagProblems(tag, version, `# Changelog\n\n${changelog}\n`)).toHaveLength(count),
);
