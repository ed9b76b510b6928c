import { spawn } from 'bun';

/** Runs the checks in parallel, and prints their output, failures last, a summary, and the name of each failed test. */
const notChecked = 2;
/** CI also checks that no test looks up a name. */
const wrapper = process.env.WITHOUT_NAMES === 'true' ? ['scripts/without-names.ts', process.execPath] : [];

const results = await Promise.all(
  ['lint', 'types', 'test', 'audit'].map(async (name) => {
    const command = [process.execPath, ...(name === 'test' ? wrapper : []), 'run', name];
    const child = spawn(command, { stdio: ['ignore', 'pipe', 'pipe'] });
    const output = Promise.all([child.stdout.text(), child.stderr.text()]);
    const status = await child.exited;
    // The audit says so if the advisory service cannot be reached.
    const isUnchecked = name === 'audit' && status === notChecked;
    return { name, isFailed: status !== 0 && !isUnchecked, isUnchecked, output: (await output).join('') };
  }),
);

const ordered = results.toSorted((a, b) => Number(a.isFailed) - Number(b.isFailed));
for (const { name, output } of ordered) console.log(`\n== ${name}\n${output.trim()}`);
console.log();
for (const { name, isFailed, isUnchecked } of ordered)
  console.log(`${name}: ${isUnchecked ? 'NOT CHECKED' : isFailed ? 'FAILED' : 'passed'}`);
// Whoever reads only the end learns which tests failed.
for (const { output } of ordered) for (const [line] of output.matchAll(/^Failed: .+$/gm)) console.log(line);
process.exitCode = results.some(({ isFailed }) => isFailed) ? 1 : 0;
