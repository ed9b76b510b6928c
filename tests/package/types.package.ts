import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import manifest from '../../src/auth/package.json';
import { installedPackage } from '../support/installed-package.ts';
import { root } from '../support/repository.ts';

const folder = installedPackage(
  ['express', '@types/express', 'fastify', 'hono', 'koa', '@types/koa', 'polka', '@types/polka', 'zod'],
  'types',
  ['node-servers.ts'],
);
// Elysia's own declarations need skipLibCheck: npm.package.ts compiles its door.
const doors = Object.keys(manifest.exports).filter((door) => door !== '.' && door !== './package.json');
// Neither the DOM library nor skipLibCheck: an application on Node.js has the types of Node.js only.
const options =
  '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --target es2023 --lib es2023 --types node --module nodenext';

test.each(['20.19.43', '22.20.1', '24.13.3', '26.6.6'])('the doors compile with @types/node %s', async (version) => {
  await $`npm install --no-audit --no-fund --ignore-scripts @types/node@${version}`.cwd(folder()).quiet();
  const names = doors.map((door, index) => `export * as door${index} from '${manifest.name}${door.slice(1)}';`);
  await Bun.write(join(folder(), 'doors.ts'), names.join('\n'));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const compiling = $`node ${tsc} ${options.split(' ')} doors.ts node-servers.ts`.cwd(folder());
  const { exitCode, stdout } = await compiling.nothrow().quiet();
  expect([0, 1, 2], 'the compiler ended by itself').toContain(exitCode);
  // Some declarations of other packages do not compile by themselves.
  const errors = stdout.toString().match(/^(?!node_modules\/(?!protected-api\/)).*error TS.*$/gm);
  expect(errors ?? []).toEqual([]);
});
