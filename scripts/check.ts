/** Runs each check in turn, up to the first that fails, and ends with a summary: an audit that could not look is named in it. */
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
