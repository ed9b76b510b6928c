import { describe, expect, test } from 'bun:test';
import { chmod, mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import { isReleased, withNote } from '../../docs/.vitepress/pages.ts';
import manifest from '../../package.json';
import { pack } from '../../scripts/release.ts';
import { benchProblems, measuredCode, releaseNotes, tagProblems, tagsOf } from '../../scripts/release-plan.ts';
import { runRelease } from '../support/release.ts';
import { pages, readText } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const { version } = manifest;

test('pack() makes the same archive each time, from which the executable runs', async () => {
  const folder = temporaryFolder();
  const executable = join(folder, 'protected-api');
  const archives = ['0.tar.gz', '1.tar.gz'].map((name) => join(folder, name));
  for (const [index, archive] of archives.entries()) {
    await Bun.write(executable, '#!/bin/sh\necho it runs\n');
    await Bun.write(join(folder, 'THIRD-PARTY-NOTICES'), 'licences');
    await chmod(executable, index === 0 ? 0o700 : 0o775);
    await utimes(executable, index + 1, index + 1);
    await utimes(join(folder, 'THIRD-PARTY-NOTICES'), index + 1, index + 1);
    await pack(folder, archive);
  }
  const [first, second] = await Promise.all(archives.map((archive) => Bun.file(archive).bytes()));
  expect(second).toEqual(first ?? new Uint8Array());

  await mkdir(join(folder, 'unpacked'));
  await $`tar --extract --gzip --file ${archives[0]} -C ${folder}/unpacked`;
  expect((await readdir(join(folder, 'unpacked'))).toSorted()).toEqual([
    'LICENSE',
    'THIRD-PARTY-NOTICES',
    'protected-api',
  ]);
  await rm(executable);
  expect(await $`${folder}/unpacked/protected-api`.text()).toBe('it runs\n');
  expect((await stat(join(folder, 'unpacked/protected-api'))).mode & 0o777).toBe(0o755);
});

test.each([
  ['v2.0.0', '2.0.0', '## [2.0.0] - 2026-12-01', 0],
  ['2.0.0', '2.0.0', '## [2.0.0] - 2026-12-01', 1],
  ['v2.0.1', '2.0.0', '## [2.0.0] - 2026-12-01', 1],
  ['v2.0.0', '2.0.0', '## [2.0.0] - Unreleased', 1],
  ['v2.0.0', '2.0.0', 'See [2.0.0] - 2026-12-01', 1],
  ['v2.0.0-rc.1', '2.0.0-rc.1', '## [2.0.0-rc.1] - 2026-12-01', 1],
  ['v2.0.0+build', '2.0.0+build', '## [2.0.0+build] - 2026-12-01', 1],
])('tagProblems() of %s with version %s and %j: %i', (tag, version, changelog, count) =>
  expect(tagProblems(tag, version, `# Changelog\n\n${changelog}\n`)).toHaveLength(count),
);

const figures = '- Date: 2026-12-01; revision: abc1234; version: 1.1.0, code: 0123';
test.each([
  ['the code is the same', figures, '0123', ['1.1.0', '1.2.0', '1.3.0'], []],
  ['one version was released since', figures, '4567', ['1.1.0', '1.2.0'], []],
  ['two versions were released since', figures, '4567', ['1.1.0', '1.2.0', '1.10.0'], [/is of abc1234 \(1\.1\.0\)/]],
  ['the page names no revision', '- Date: 2026-12-01', '4567', [], [/names no revision/]],
])('benchProblems() if %s', (_, page, code, versions, problems) =>
  expect(benchProblems(page, code, versions.map((each) => `## [${each}] - 2026-12-01\n`).join(''))).toEqual(
    problems.map((problem) => expect.stringMatching(problem)),
  ),
);

test('bench/results.md is of this release or the one before, or of the same code', async () =>
  expect(benchProblems(await readText('bench/results.md'), measuredCode(), await readText('CHANGELOG.md'))).toEqual(
    [],
  ));

test.each([
  ['1.0.0', [], 'latest', ['1.0.0', '1', 'latest']],
  ['1.0.0', ['0.0.0', '1.0.0'], 'latest', ['1.0.0', '1', 'latest']],
  ['1.10.0', ['1.9.0'], 'latest', ['1.10.0', '1', 'latest']],
  ['1.0.1', ['1.0.0', '1.1.0-rc.1', '2.0.0-rc.1'], 'latest', ['1.0.1', '1', 'latest']],
  ['1.9.1', ['1.9.0', '2.0.0'], 'latest-1', ['1.9.1', '1']],
  ['1.9.1', ['1.10.0', '10.0.0'], 'latest-1', ['1.9.1']],
])('tagsOf(%s) after %j: %s on npm, and %j of the image', (released, published, npm, image) =>
  expect(tagsOf(released, published)).toEqual({ npm, image }),
);

test('releaseNotes() has what the changelog says about this version, and what the executables need', () => {
  const changelog =
    '# Changelog\n\n## [2.0.0] - 2026-12-01\n\n- New\n\n### Fixed\n\n- Old\n  defect\n\n## [1.0.0] - 2026-11-01\n\n- First\n';
  const [changes, needs] = releaseNotes('2.0.0', changelog).split('\n\n## Executables\n');
  expect(changes).toBe('- New\n\n### Fixed\n\n- Old defect');
  expect(needs).toContain('SSE4.2');
  expect(releaseNotes('1.0.0', changelog)).toStartWith('- First\n\n##');
  expect(() => releaseNotes('3.0.0', changelog)).toThrow(
    'Cannot write the notes of the release: CHANGELOG.md has no 3.0.0',
  );
});

test('until the changelog has the date of a release, one page says that it is not on npm, and then none', async () => {
  const isDated = isReleased(await readText('CHANGELOG.md'));
  const texts = await Promise.all(pages.map(async (name) => [name, await readText(name)] as const));
  const saying = (pattern: RegExp) => texts.filter(([, text]) => pattern.test(text)).map(([name]) => name);
  expect(saying(/not on npm yet/)).toEqual(isDated ? [] : ['docs/start/install.md']);
  expect(saying(/not released yet/)).toEqual(isDated ? [] : ['deploy/README.md']);
  expect(saying(/no contact without an account yet/)).toEqual(isDated ? [] : ['SECURITY.md']);
  expect(saying(/^npm install (?!protected-api\b)\S*protected-api/m)).toEqual([]);
});

test.each([
  ['docs/start/elysia.md', 'npm install ', 'install `/tmp/protected-api-1'],
  ['docs/start/install.md', 'npm install ', 'install `/tmp/protected-api-1'],
  [
    'docs/guides/probe.md',
    'npm install protected-api ',
    'install `/tmp/protected-api-1.0.0.tgz /tmp/protected-api-probe-1',
  ],
  ['docs/start/fetch.md', 'deno add npm:', 'run `deno run -A npm:npm install /tmp/protected-api-1'],
])(
  'a page of the site that installs the package, such as %s with "%s", says what to install until it is on npm',
  async (name, command, instead) => {
    const page = await readText(name);
    const [, after = ''] = withNote(page, false).split(`\`\`\`sh\n${command}protected-api`);
    const [, note] = after.split('```\n\n');
    expect(note).toMatch(/^Version .* not on npm yet/);
    expect(note).toContain(`and ${instead}.0.0.tgz\` instead.`);
    expect(withNote(page, true)).toBe(page);
    expect(isReleased('## [1.0.0] - 2026-12-01\n')).toBe(true);
    expect(isReleased('## [1.0.0] - unreleased\n')).toBe(false);
  },
);

describe('a release that is resumed leaves alone what is there', () => {
  const tag = `v${version}`;
  const publishing = (name: string, flag: string) =>
    `npm publish ./dist/release/${name}-${version}.tgz --access public --tag latest ${flag}`;
  const [guardTried = '', probeTried = '', guardPublished = '', probePublished = ''] = [
    '--dry-run',
    '--provenance',
  ].flatMap((flag) => ['protected-api', 'protected-api-probe'].map((name) => publishing(name, flag)));
  const tarballs = ['', '-probe'].map((end) => `protected-api${end}-${version}.tgz`).toSorted();
  const uploaded = ['SHA256SUMS', ...tarballs].map((name) => `dist/release/${name}`).join(' ');
  const [create, upload, publish, publishOlder] = [
    `gh release create ${tag} --draft --verify-tag --title ${tag} --notes-file dist/release-notes.md`,
    `gh release upload ${tag} ${uploaded} --clobber`,
    `gh release edit ${tag} --draft=false --latest=true`,
    `gh release edit ${tag} --draft=false --latest=false`,
  ];

  type Resumed = [what: string, step: string, state: object, exitCode: number, commands: readonly string[]];
  test.each<Resumed>([
    ['npm has the version', 'npm', { NPM: `["0.0.0","${version}"]` }, 0, []],
    ['npm has none', 'npm', {}, 0, [guardTried, probeTried, guardPublished, probePublished]],
    ['npm has the guard only', 'npm', { NPM: `["${version}"]`, NPM_PROBE: '[]' }, 0, [probeTried, probePublished]],
    ['npm rejects the probe', 'npm', { REFUSED: 'probe' }, 1, [guardTried, probeTried]],
    ['GitHub has nothing', 'github', { GH_ERROR: 'release not found' }, 0, [create, upload, publish]],
    ['GitHub has a draft', 'github', { GH: 'true' }, 0, [upload, publish]],
    [
      'GitHub has a draft, and npm a higher version',
      'github',
      { GH: 'true', NPM: '["99.0.0"]' },
      0,
      [upload, publishOlder],
    ],
    ['GitHub has the release', 'github', { GH: 'false' }, 0, []],
    ['the tag is another one', 'github', { GITHUB_REF: 'refs/tags/v0.0.0' }, 1, []],
    ['it is a branch', 'npm', { GITHUB_REF: 'refs/heads/main' }, 1, []],
    ['npm responds with an error', 'npm', { NPM: '{"error":{"code":"E500"}}' }, 1, []],
  ])('%s: %s', async (_, step, state, expectedCode, expected) => {
    const { exitCode, commands } = await runRelease([step], state);
    expect([exitCode, commands]).toEqual([expectedCode, [...expected]]);
  });
});
