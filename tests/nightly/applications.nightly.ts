import { describe, expect, test } from 'bun:test';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { $ } from 'bun';
import { developmentIssuer, mcpServer } from '../examples/mcp-server.ts';
import { serverRows } from '../examples/server-rows.ts';
import { browse } from '../support/authorization-server.ts';
import { run, runToEnd, until } from '../support/child-process.ts';
import { serve, startedFor } from '../support/fixture.ts';
import { packed } from '../support/installed-package.ts';
import { nodePath } from '../support/node-versions.ts';
import { follow, type Start } from '../support/start-page.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const examples = join(import.meta.dir, '../../examples');

const folder = startedFor(async () => {
  const folder = temporaryFolder();
  for (const name of ['package.json', 'bun.lock']) await copyFile(join(import.meta.dir, name), join(folder, name));
  await $`${process.execPath} install --frozen-lockfile`.cwd(folder).quiet();
  await $`${process.execPath} add ${await packed()}`.cwd(folder).quiet();
  return folder;
});
const inPackages = (path: string) => join(folder(), 'node_modules', path);

// Node.js passes only the first of two Authorization headers to Next.js.
serverRows(
  'examples/next, built with next build and started with next start',
  async (environment) => {
    const next = ['node', inPackages('next/dist/bin/next')];
    for (const file of ['guard.ts', 'proxy.ts', 'app/reports/route.ts'])
      await Bun.write(join(folder(), file), Bun.file(join(examples, 'next', file)));
    await Bun.write(join(folder(), 'app/health/route.ts'), "export const GET = () => new Response('ok');");
    const silent = { NEXT_TELEMETRY_DISABLED: '1' };
    const { status, stdout, stderr } = await runToEnd([...next, 'build', folder()], silent);
    expect(status, stdout + stderr).toBe(0);
    return run([...next, 'start', folder(), '-H', '127.0.0.1', '-p', environment.PORT ?? ''], environment);
  },
  200,
);

test('docs/start/nextjs.md, followed step by step, leads to a 401, a 200 and a 403', async () => {
  const path = `${dirname(nodePath('24'))}:${process.env.PATH}`;
  const start: Start = (command, port, environment) =>
    run(
      [
        'bash',
        '-c',
        `cd ${folder()} && exec env ${command.replace(/npx next dev/, `node_modules/.bin/next dev -p ${port}`)}`,
      ],
      environment,
    );
  expect((await follow('nextjs', folder(), path, start)).slice(1)).toEqual(['next', 'react', 'react-dom']);
});

describe.each(['mcp', 'mcp-hono'])('the MCP Inspector with examples/%s.ts', (example) => {
  const started = mcpServer(example);

  /** Runs a command of the Inspector like a user who logs in when asked to. Also returns how often that was. */
  async function inspect(...args: readonly string[]) {
    const launcher = inPackages('@modelcontextprotocol/inspector/clients/launcher/build/index.js');
    const client = ['--transport', 'http', '--client-id', 'reader', '--client-secret', 'reader-secret'];
    const cli = run(
      ['sh', '-c', 'echo y | node "$0" "$@"', launcher, '--cli', started().url, ...client, '--method', ...args],
      { HOME: folder(), MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' },
    );
    let logins = 0;
    let isEnded = false;
    void cli.finished.then(() => {
      isEnded = true;
    });
    await until(async () => {
      const pages = `${cli.stdout()}${cli.stderr()}`.match(/http:\S+\/auth\?\S+(?=\s)/g) ?? [];
      const page = pages[logins];
      if (page !== undefined) {
        logins += 1;
        await browse(page);
      }
      return isEnded;
    }, `the Inspector: ${args}`);
    const { status, stdout, stderr } = await cli.finished;
    return { status, logins, output: status === 0 ? stdout : stderr };
  }

  test.each([
    ['logs in and lists tools', ['tools/list', '--protocol-era', 'modern'], 1, 'add-note'],
    ['lists tools in an older revision', ['tools/list'], 0, 'add-note'],
    ['calls a tool in an older revision', ['tools/call', '--tool-name', 'read-notes'], 0, 'content'],
    // Its first token has all scopes.
    ['calls a tool', ['tools/call', '--tool-name', 'add-note', '--protocol-era', 'modern'], 0, 'A note of ada'],
    ['calls that tool in an older revision', ['tools/call', '--tool-name', 'add-note'], 0, 'A note of ada'],
  ] as const)('%s', async (_, args, logins, part) =>
    expect(await inspect(...args)).toEqual({ status: 0, logins, output: expect.stringContaining(part) }),
  );
});

describe.each(['mcp', 'mcp-hono'])('the conformance suite of MCP with examples/%s.ts', (example) => {
  const started = mcpServer(example, developmentIssuer);

  // The suite sends no token, so a proxy adds one. The examples have what these scenarios test; none tests authorization.
  test.each(['server-initialize', 'ping', 'tools-list', 'http-header-validation', 'dns-rebinding-protection'])(
    'passes %s behind the guard',
    async (scenario) => {
      const { url, issuer } = started();
      const token = await issuer.token();
      await using proxy = serve(({ method, headers, body }) => {
        headers.set('authorization', `Bearer ${token}`);
        return fetch(url, { method, headers, body, decompress: false, keepalive: false });
      });
      const suite = [process.execPath, inPackages('@modelcontextprotocol/conformance/dist/index.js'), 'server'];
      const target = ['--url', `http://localhost:${proxy.port}/mcp`, '--scenario', scenario];
      const { status, stdout } = await runToEnd([...suite, ...target, '--output-dir', folder()]);
      expect({ status, stdout }).toEqual({
        status: 0,
        stdout: expect.stringMatching(/Passed: ([1-9]\d*)\/\1, 0 failed/),
      });
    },
  );
});
