/**
 * `bun audit` of what is shipped. Bun ends with the same status for a finding and for an advisory service out of reach;
 * here a finding is 1, and 2 says that nothing was checked, so that a closed network can tell them apart.
 */
const audit = Bun.spawnSync([process.execPath, 'audit', '--production', '--json']);
const findings = audit.stdout.toString().trim();
const trouble = audit.stderr.toString().trim();

if (audit.exitCode === 0) {
  console.log('audit: no known vulnerability');
} else if (findings === '' && trouble.startsWith('error: POST ')) {
  console.error('audit: NOT CHECKED, the advisory service cannot be reached');
  process.exitCode = 2;
} else {
  console.error(`audit: ${trouble}\n${findings}`);
  process.exitCode = 1;
}
