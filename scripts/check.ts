/** Runs the checks in turn, up to the first that fails, and prints a summary. It says so if the audit could not be done. */
const notChecked = 2;
const summary: string[] = [];

for (const name of ['lint', 'types', 'test', 'audit']) {
  const { exitCode } = Bun.spawnSync([process.execPath, 'run', name], { stdio: ['inherit', 'inherit', 'inherit'] });
  const isUnchecked = name === 'audit' && exitCode === notChecked;
  if (exitCode !== 0 && !isUnchecked) process.exitCode = 1;
  summary.push(`${name}: ${isUnchecked ? 'NOT CHECKED' : exitCode === 0 ? 'passed' : 'FAILED'}`);
  if (process.exitCode) break;
}
console.log(`\n${summary.join('\n')}`);
