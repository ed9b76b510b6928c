import { describe, expect, test } from 'bun:test';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import manifest from '../../src/auth/package.json';
import { packed } from '../support/installed-package.ts';
import { root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const others = Object.keys(manifest.exports).filter((door) => /^\.\/(?!package|hono)/.test(door));
const script = `
for (const door of ${JSON.stringify(others)}) await import('protected-api' + door.slice(1));
const { createGuard } = await import('protected-api/guard');
const { createTestIssuer } = await import('protected-api/testing');
const issuer = await createTestIssuer();
const headers = { authorization: 'Bearer ' + (await issuer.token()) };
const result = await createGuard(issuer.options).check(new Request('http://localhost/', { headers }));
console.log(result.claims.sub, await import('protected-api').catch(({ message }) => message));`;

describe('beside an Elysia that the package was not made for', () => {
  // None of them is published yet.
  test.each(['1.5.0', '2.0.0'])('%s, npm installs it, and the other doors work', async (version) => {
    const [folder, elysia] = [temporaryFolder(), temporaryFolder()];
    await cp(join(root, 'node_modules/elysia'), elysia, { recursive: true, dereference: true });
    const own = Bun.file(join(elysia, 'package.json'));
    await own.write(JSON.stringify({ ...(await own.json()), version }));
    await Bun.write(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    await $`npm install --install-links --no-audit --no-fund --ignore-scripts ${elysia} ${await packed()}`
      .cwd(folder)
      .quiet();
    const said = await $`node --input-type=module -e ${script}`.cwd(folder).text();
    expect(said).toStartWith(`test Cannot use Elysia ${version}: protected-api needs 1.4.30`);
  });
});
