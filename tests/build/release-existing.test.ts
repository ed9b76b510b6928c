import { describe, expect, test } from 'bun:test';
import manifest from '../../package.json';
import baseImages from '../../scripts/base-images.json';
import { baseImageProblems } from '../../scripts/release-plan.ts';
import { runRelease } from '../support/release.ts';
import { readText } from '../support/repository.ts';

const { version } = manifest;
const tag = `v${version}`;
const onNpm = { NPM: `["${version}"]` };

describe.each([{ flags: ['--dry-run'] }, { flags: [] }])('with $flags, a release that finds', ({ flags }) => {
  test.each<[what: string, step: string, state: object, exitCode: number, said: RegExp]>([
    ['no image with its tag builds it', 'image', {}, 0, /^tags=\S+:latest\nis_missing=true\nBUN_IMAGE=/m],
    ['the image of an earlier run leaves it', 'image', { IMAGE: version, ATTESTED: '0' }, 0, /^is_missing=false$/m],
    [
      'an image that no release built',
      'image',
      { IMAGE: version },
      1,
      /has the tag of this release, which did not build/,
    ],
    ['the packages on npm as it packs them leaves them', 'npm', onNpm, 0, /protected-api-probe@\S+ is on npm/],
    ['another package on npm', 'npm', { ...onNpm, INTEGRITY: 'sha512-other' }, 1, /on npm is another: sha512-other/],
  ])('%s', async (_, step, state, expectedCode, said) => {
    const { exitCode, stdout, stderr, commands } = await runRelease([...flags, step], state);
    expect([exitCode, commands]).toEqual([expectedCode, []]);
    expect(stdout + stderr).toMatch(said);
  });
});

test.each([
  'ERROR: failed to authorize: failed to fetch oauth token: 403 Forbidden',
  'ERROR: ghcr.io/protected-api/protected-api: unexpected status: 503 Service Unavailable',
  'ERROR: failed to do request: Head https://ghcr.io: dial tcp: lookup ghcr.io: no such host',
  'docker: buildx: not found',
  'ERROR: ghcr.io/protected-api/other:1.0.0: not found',
])('a release whose registry says %j builds no image', async (answer) => {
  const { exitCode, stdout, stderr } = await runRelease(['image'], { REGISTRY: answer });
  expect([exitCode, stdout]).toEqual([1, '']);
  expect(stderr).toContain(answer);
});

test.each(['HTTP 502: Server Error', 'gh: To use GitHub CLI, set the GH_TOKEN environment variable'])(
  'a release to which GitHub says %j publishes nothing',
  async (answer) => {
    const { exitCode, commands, stderr } = await runRelease(['github'], { GH_ERROR: answer });
    expect([exitCode, commands]).toEqual([1, []]);
    expect(stderr).toContain(answer);
  },
);

test.each([
  ['a release with other files', { GH: 'false', PLANTED: '../../CHANGELOG.md' }, []],
  [
    'a draft with other files',
    { GH: 'true', PLANTED: '../../CHANGELOG.md' },
    [expect.stringMatching(/^gh release upload/)],
  ],
])('a release that finds %s on GitHub does not publish it', async (_, state, expected) => {
  const { exitCode, stderr, commands } = await runRelease(['github'], state);
  expect([exitCode, commands]).toEqual([1, expected]);
  expect(stderr).toMatch(/on GitHub has other files:\n\S*CHANGELOG.md sha256:[0-9a-f]{64}/);
});

test('an image is of an earlier run only if the release workflow attested it for this tag and commit', async () => {
  const { asked } = await runRelease(['image'], { IMAGE: version, ATTESTED: '0' });
  const repository = manifest.repository.replace('github:', '');
  const signer = `--signer-workflow ${repository}/.github/workflows/release.yml`;
  const source = `--source-ref refs/tags/${tag} --source-digest abcdef`;
  expect(asked).toEqual([
    `gh attestation verify oci://ghcr.io/${repository}@sha256:0123 --repo ${repository} ${signer} ${source}`,
  ]);
});

/** What a workflow puts in place of an output. */
const outputOf = (step: string, name: string) => `$\{{ steps.${step}.outputs.${name} }}`;

interface Step {
  readonly id?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, string>>;
}

test('a job of release.yml that may publish runs only Node.js and what publish.ts imports, which is no dependency', async () => {
  const { permissions, jobs } = Bun.YAML.parse(await readText('.github/workflows/release.yml')) as {
    readonly permissions: object;
    readonly jobs: Readonly<Record<string, { readonly permissions?: object; readonly steps?: readonly Step[] }>>;
  };
  expect(permissions).toEqual({ contents: 'read' });
  const commandsOf = (mayPublish: boolean) =>
    Object.values(jobs)
      .filter((job) => mayPublish === Object.values(job.permissions ?? {}).includes('write'))
      .flatMap(({ steps = [] }) => steps.flatMap(({ run }) => run?.split(' >> ')[0] ?? []));
  expect(commandsOf(true)).toEqual(['npm', 'image', 'github'].map((step) => `node scripts/publish.ts ${step}`));
  expect(commandsOf(false).at(-1)).toEndWith('run release build');

  const imports = async (file: string): Promise<readonly string[]> => {
    if (!file.endsWith('.ts')) return [file];
    const found = new Bun.Transpiler({ loader: 'ts' }).scanImports(await readText(file)).map(({ path }) => path);
    return (await Promise.all(found.map((path) => imports(path.replace(/^\.\//, 'scripts/'))))).flat();
  };
  const own = new Set(['../package.json']);
  expect((await imports('scripts/publish.ts')).filter((path) => !path.startsWith('node:') && !own.has(path))).toEqual(
    [],
  );
});

test('release.yml attests only the image that the run has pushed, and files that it has built', async () => {
  const { jobs } = Bun.YAML.parse(await readText('.github/workflows/release.yml')) as {
    readonly jobs: Readonly<Record<string, { readonly steps?: readonly Step[] }>>;
  };
  const steps = Object.values(jobs).flatMap((job) => job.steps ?? []);
  const attested = steps.filter(({ uses }) => uses?.startsWith('actions/attest-build-provenance@'));
  expect(attested.map((step) => step.with?.['subject-digest'] ?? step.with?.['subject-checksums'])).toEqual([
    outputOf('push', 'digest'),
    'dist/release/SHA256SUMS',
  ]);
  expect(attested[0]?.if).toBe(steps.find(({ id }) => id === 'push')?.if ?? '');
});

test('the released image is built from the base images of the Dockerfile, named by their digests', async () => {
  const named = (await readText('Dockerfile')).matchAll(/^ARG (\w+_IMAGE)=(.*)$/gm);
  const tags = Object.entries(baseImages).map(([name, image]) => [name, image.replace(/@.*/, '')]);
  expect(tags).toEqual(Array.from(named, ([, name = '', image = '']) => [name, image]));
  const digest = `sha256:${'0'.repeat(64)}`;
  expect(baseImageProblems({ A: `a:1@${digest}`, B: 'b:1', C: 'c@sha256:0' })).toEqual([
    expect.stringMatching(/no digest of b:1: /),
    expect.stringMatching(/no digest of c@sha256:0: /),
  ]);
  const workflow = await readText('.github/workflows/release.yml');
  for (const name of Object.keys(baseImages)) expect(workflow).toContain(`${name}=${outputOf('release', `${name}`)}`);
});
