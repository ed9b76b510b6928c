import { availableParallelism } from 'node:os';
import { spawn } from 'bun';
import { readFailures } from './test-failures.ts';

/**
 * Runs `bun test` with these arguments and prints the first failures and the number of all, because one mistake can
 * fail thousands of tests, and at last the name and the file of each. Passing tests print nothing. One more file at a
 * time than there are cores, because some wait for processes, and the slowest first: `--update-timings` writes
 * durations into tests/timings.json. If no file is named, those of the guard, which are many and short, share a process
 * and its modules: it takes a quarter less CPU time than to load and to compile modules for each.
 */
const mostFailures = 20;

const given = process.argv.slice(2);
const inParallel = (files: number) => [`--parallel=${files}`, '--timings=tests/timings.json', ...given];
const cores = availableParallelism();
const runs = given.every((argument) => argument.startsWith('-'))
  ? [
      [...given.filter((argument) => argument !== '--update-timings'), 'tests/auth/'],
      [...inParallel(cores), '--path-ignore-patterns=tests/auth/**'],
    ]
  : [inParallel(cores + 1)];

const results = await Promise.all(
  runs.map(async (options) => {
    const child = spawn([process.execPath, 'test', '--only-failures', '--timeout=180000', ...options], {
      // The last stage of the compiler takes a tenth of the CPU time, and no test runs long enough to gain from it. The
      // compiler of TypeScript takes a fifth less if it collects its garbage less often.
      env: { ...process.env, BUN_JSC_useFTLJIT: '0', GOGC: '400' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // Failures are on standard error, and the output of tests is on both.
    const [, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { status, ...readFailures(stderr) };
  }),
);
const failures = results.flatMap((result) => result.failures);
for (const { text } of failures.slice(0, mostFailures)) process.stderr.write(`${text}\n\n`);
if (failures.length > mostFailures)
  process.stderr.write(`${failures.length - mostFailures} more failures are not shown\n\n`);
for (const { status, failures, rest, summary } of results) {
  // Then a file could not be loaded, or the process ended.
  if (status !== 0 && (failures.length === 0 || /^ *\d+ errors?$/m.test(summary))) process.stderr.write(rest);
  process.stderr.write(summary);
}
for (const { file, name } of failures) process.stderr.write(`Failed: ${file}: ${name}\n`);
process.exitCode = Math.max(...results.map(({ status }) => status));
