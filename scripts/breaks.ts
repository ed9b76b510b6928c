import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'bun';
import { copyRepository } from '../tests/support/repository.ts';
import { breaks } from './planted-breaks.ts';

/**
 * `bun run breaks [NAME...]` plants faults one at a time in a copy of the repository, and runs the test file that must
 * notice each. `bun run mutate` tries what nobody thought of; these are faults that a smaller suite might miss. Exit
 * status 1 if one is missed.
 */
const folder = mkdtempSync(join(tmpdir(), 'breaks-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
await copyRepository(folder);

/** Whether a test of a file fails by itself: an error while it loads, or a time limit, proves nothing. */
async function fails(test: string): Promise<boolean> {
  const command = [process.execPath, 'test', '--bail', '--timeout', '120000', `./tests/${test}.test.ts`];
  // What runs by day must notice it.
  const env = { ...process.env, NIGHTLY: '' };
  const child = spawn(command, { cwd: folder, env, stdout: 'ignore', stderr: 'pipe' });
  const output = await child.stderr.text();
  return (await child.exited) !== 0 && /^\(fail\)/m.test(output) && !output.includes(' timed out after ');
}

const named = process.argv.slice(2);
const missed: string[] = [];
const planted = Object.entries(breaks).flatMap(([test, faults]) => faults.map((fault) => [test, ...fault] as const));
for (const [test, name, file, from, to] of planted) {
  if (named.length > 0 && !named.includes(name)) continue;
  const path = join(folder, file);
  const text = await Bun.file(path).text();
  const isPlanted = text.split(from).length === 2;
  if (isPlanted)
    await Bun.write(
      path,
      text.replace(from, () => to),
    );
  const isNoticed = isPlanted && (await fails(test));
  await Bun.write(path, text);
  console.log(`${isNoticed ? 'noticed' : isPlanted ? 'MISSED' : 'CANNOT PLANT'}: ${name}, in tests/${test}.test.ts`);
  if (!isNoticed) missed.push(name);
}
if (missed.length > 0) console.error(`\nNot noticed: ${missed.join(', ')}`);
process.exitCode = missed.length > 0 ? 1 : 0;
