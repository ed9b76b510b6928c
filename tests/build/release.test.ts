import { describe, expect, test } from 'bun:test';
import { chmod, mkdtemp, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { $ } from 'bun';
import { pack, tagProblems } from '../../scripts/release.ts';

describe('pack()', () => {
  test('makes the same archive each time, from which the executable runs', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'protected-api-release-'));
    const executable = join(folder, 'protected-api');
    const archives: string[] = [];
    for (const [index, mode] of [0o700, 0o775].entries()) {
      await Bun.write(executable, '#!/bin/sh\necho it runs\n');
      await chmod(executable, mode);
      await utimes(executable, index + 1, index + 1);
      const archive = join(folder, `${index}.tar.gz`);
      await pack(executable, archive);
      archives.push(new Bun.CryptoHasher('sha256').update(await Bun.file(archive).bytes()).digest('hex'));
    }
    expect(archives[1]).toBe(archives[0]);

    await rm(executable);
    await $`tar --extract --gzip --file ${join(folder, '0.tar.gz')} -C ${folder}`;
    expect(await $`${executable}`.text()).toBe('it runs\n');
    expect((await stat(executable)).mode & 0o777).toBe(0o755);
    expect(await Bun.file(join(folder, 'LICENSE')).text()).toBe(await Bun.file('LICENSE').text());
    await rm(folder, { recursive: true });
  });
});

test.each([
  ['v2.0.0', '2.0.0', '## [2.0.0] - 2026-12-01', 0],
  ['2.0.0', '2.0.0', '## [2.0.0] - 2026-12-01', 1],
  ['v2.0.1', '2.0.0', '## [2.0.0] - 2026-12-01', 1],
  ['v2.0.0', '2.0.0', '## [2.0.0] - Unreleased', 1],
  ['v2.0.0', '2.0.0', 'See [2.0.0] - 2026-12-01', 1],
])('tagProblems() of %s with version %s and %j: %i', (tag, version, changelog, count) => {
  expect(tagProblems(tag, version, `# Changelog\n\n${changelog}\n`)).toHaveLength(count);
});
