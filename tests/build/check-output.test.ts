import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A file whose first test prints what looks like a failure, and passes. */
const written = `import { expect, test } from 'bun:test';
test('prints an error', () => console.error(new Error('expected of a test that passes')));
test('fails', () => expect('found').toBe('wanted'));
`;

test('the output of a failed run has the error, and ends with the file and the name of each failed test', async () => {
  const folder = temporaryFolder('dist');
  const file = join(folder, 'written.test.ts');
  await Bun.write(file, written);
  const child = Bun.spawn([process.execPath, join(root, 'scripts/test.ts'), file], { cwd: root, stderr: 'pipe' });
  const output = await child.stderr.text();
  expect(await child.exited).toBe(1);
  expect(output.trimEnd().split('\n').at(-1)).toEndWith('written.test.ts: fails');
  expect(output).toContain('Received: "found"');
  expect(output).not.toContain('expected of a test that passes');
});
