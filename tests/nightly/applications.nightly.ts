import { describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { developmentIssuer, loginIssuer, mcpServer } from '../examples/mcp-server.ts';
import { serverRows } from '../examples/server-rows.ts';
import { signIn } from '../support/authorization-server.ts';
import { run, runToEnd, until } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import { installLocked } from '../support/installed-package.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { readText } from '../support/repository.ts';
import { follow, type Start } from '../support/start-page.ts';

const examples = join(import.meta.dir, '../../examples');

const folder = startedFor(() => installLocked('nightly'));
const inPackages = (path: string) => join(folder(), 'node_modules', path);
const inspector = () => inPackages('@modelcontextprotocol/inspector/clients/launcher/build/index.js');

// Node.js passes only the first of two Authorization headers to Next.js.
serverRows(
  'examples/next, built with next build and started with next start',
  async (environment) => {
    const next = ['node', inPackages('next/dist/bin/next')];
    for (const file of ['guard.ts', 'proxy.ts', 'app/messages/route.ts'])
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
  const path = `${dirname(nodePath(newestNode))}:${process.env.PATH}`;
  const start: Start = (command, port, environment) =>
    run(
      [
        'bash',
        '-c',
        `cd ${folder()} && exec env ${command.replace(/npx next dev/, `node_modules/.bin/next dev -p ${port}`)}`,
      ],
      environment,
    );
  const packages = 'next react react-dom typescript @types/node @types/react'.split(' ');
  expect((await follow('start/nextjs', folder(), path, start)).slice(1)).toEqual(packages);
});

const credentials = ['--client-id', 'reader', '--client-secret', 'reader-secret'];
// Without credentials, it registers itself with examples/mcp-login.ts.
describe.each<readonly [example: string, credentials: readonly string[]]>([
  ['mcp', credentials],
  ['mcp-hono', []],
])('the MCP Inspector with examples/%s.ts and the credentials %j', (example, credentials) => {
  const started = mcpServer(example, credentials.length > 0 ? undefined : (loginIssuer as () => Promise<never>));

  /** Runs a command of the Inspector like a user who logs in when asked to. Also returns how often that was. */
  async function inspect(...args: readonly string[]) {
    const client = ['--transport', 'http', ...credentials];
    const cli = run(
      ['sh', '-c', 'echo y | node "$0" "$@"', inspector(), '--cli', started().url, ...client, '--method', ...args],
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
        await signIn(page, 'ada');
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

describe('the MCP Inspector with the command of docs/mcp/index.md', () => {
  const started = mcpServer('mcp', developmentIssuer);

  test('lists tools with a token of the development issuer', async () => {
    const [, command = ''] =
      /^npx (@modelcontextprotocol\/inspector .*?)^```/ms.exec(await readText('docs/mcp/index.md')) ?? [];
    const line = command.replace('@modelcontextprotocol/inspector', inspector()).replace(/http:\S+/, started().url);
    const { status, stdout } = await runToEnd(['bash', '-c', `node ${line}`], {
      TOKEN: await started().issuer.token(),
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('add-note') });
  });
});
