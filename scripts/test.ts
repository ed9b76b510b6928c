import { availableParallelism } from 'node:os';
import { spawn } from 'bun';

/**
 * Runs `bun test` with these arguments and prints the first failures and the number of all, because one mistake can
 * fail thousands of tests. Passing tests print nothing. One more file at a time than there are cores, because some wait
 * for processes, and the slowest first: `--update-timings` writes all durations into tests/timings.json.
 */
const mostFailures = 20;

const parallel = [`--parallel=${availableParallelism() + 1}`, '--timings=tests/timings.json'];
const child = spawn([process.execPath, 'test', '--only-failures', ...parallel, ...process.argv.slice(2)], {
  // The last stage of the compiler takes a tenth of the CPU time, and no test runs long enough to gain from it.
  env: { ...process.env, BUN_JSC_useFTLJIT: '0' },
  stdio: ['ignore', 'pipe', 'pipe'],
});
// Failures are on standard error, and the output of tests is on both.
const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
const status = await child.exited;
const failures = `${stdout}${stderr}`.split(/(?<=^\(fail\) .*\n)/m);
const end = failures.pop() ?? '';
const summary = end.slice(Math.max(0, end.search(/^ *\d+ pass$/m)));
const left = failures.length - mostFailures;
const shown =
  failures.slice(0, mostFailures).join('') + (status === 0 ? '' : end.slice(0, -summary.length || undefined));
if (status !== 0) process.stderr.write(shown);
if (left > 0) process.stderr.write(`\n${left} more failures are not shown\n\n`);
process.stderr.write(summary);
process.exitCode = status;
