import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { runToEnd } from '../support/child-process.ts';
import { serve } from '../support/fixture.ts';
import { AUDIENCE, mintToken } from '../support/mint.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { bundle } from '../support/worker.ts';

/** Nothing listens there any more, and no name is looked up. */
const closed = serve(() => new Response());
const issuer = closed.url.href;
await closed.stop();
const environment = { ISSUER: issuer, AUDIENCE, TOKEN: mintToken(issuer), SCOPE_CLAIM: 'roles', NO_COLOR: '1' };

/** Explains a token with the settings of the environment. */
async function runInDeno(...permissions: readonly string[]) {
  const source = join(temporaryFolder(), 'permissions.ts');
  const door = (name: string) => JSON.stringify(join(import.meta.dir, `../../src/auth/${name}.ts`));
  await Bun.write(
    source,
    `import { explainToken } from ${door('explain')};
    import { optionsFromEnvironment } from ${door('index')};
    const options = optionsFromEnvironment(process.env);
    const { checks } = await explainToken(process.env.TOKEN, options);
    console.log(options.scopeClaim.join(), checks.find(({ name }) => name === 'key').words);`,
  );
  const command = ['deno', 'run', '--no-prompt', ...permissions, 'permissions.mjs'];
  return runToEnd(command, environment, { 'permissions.mjs': await bundle(source) });
}

const needed = '--allow-env=ISSUER,AUDIENCE,TOKEN';
test('Deno reads the settings that it may read, and a warning says that the others count as unset', async () => {
  const { stdout, stderr } = await runInDeno(needed, '--allow-net');
  expect(stdout).toMatch(/^scope rejected: \S+ cannot be reached: ECONNREFUSED/);
  expect(stderr).toMatch(/^Cannot read \d+ settings without permission, so they count as unset: see --allow-env\n$/);
});

test('Deno names a setting that is required and that it may not read', async () => {
  const { status, stderr } = await runInDeno('--allow-net');
  expect(status).not.toBe(0);
  expect(stderr).toContain('Requires env access to "ISSUER"');
});

test.each([
  [
    'neither setting',
    '',
    `ISSUER=${issuer}`,
    'Cannot read ISSUER and AUDIENCE, so they count as unset: add --allow-env\n',
  ],
  ['one setting', '--allow-env=ISSUER', '', 'Cannot read AUDIENCE: add --allow-env\n'],
])('the command explain on Deno says that it may read %s', async (_name, permission, printed, warning) => {
  const file = { 'command.mjs': await bundle(join(import.meta.dir, '../../src/auth/command.ts'), 'node') };
  const command = `echo $TOKEN | deno run --no-prompt ${permission} command.mjs explain`;
  const { status, stdout, stderr } = await runToEnd(['sh', '-c', command], environment, file);
  expect(stderr).toBe(warning);
  expect(stdout).toContain(printed);
  expect(status).toBe(1);
});

test('Deno without permission for the network is the cause that explain gives', async () => {
  const { stdout } = await runInDeno('--allow-env');
  const cause = 'this process has no permission to connect to it (--allow-net)';
  expect(stdout).toStartWith(`roles rejected: ${issuer}.well-known/jwks.json cannot be reached: ${cause}`);
});
