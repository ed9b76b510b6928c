import { join } from 'node:path';
import { runToEnd } from '../../tests/support/child-process.ts';
import { installLocked } from '../../tests/support/installed-package.ts';
import { newestNode, nodePath } from '../../tests/support/node-versions.ts';

const modules = ['protected-api', 'jose', 'express-oauth2-jwt-bearer'] as const;
const script = `const begin = performance.now();
await import(process.argv[2]);
console.log(performance.now() - begin);`;

/** Returns how long Node.js takes to import each module, in milliseconds: those of fresh processes, in turns. */
export async function measureColdStarts(processes: number): Promise<Readonly<Record<string, readonly number[]>>> {
  const file = join(await installLocked('compare'), 'cold-start.mjs');
  await Bun.write(file, script);
  const found: Record<string, number[]> = {};
  for (let at = 0; at < processes * modules.length; at += 1) {
    const name = modules[at % modules.length] ?? '';
    const { status, stdout, stderr } = await runToEnd(['taskset', '-c', '0', nodePath(newestNode), file, name]);
    if (status !== 0) throw new Error(`Cannot import ${name}: ${stderr}`);
    found[name] = [...(found[name] ?? []), Number(stdout)];
  }
  return found;
}
