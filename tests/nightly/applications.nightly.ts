import { describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { developmentIssuer, loginIssuer, mcpServer } from '../examples/mcp-server.ts';
import { serverRows } from '../examples/server-rows.ts';
import { signIn } from '../support/authorization-server.ts';
import { freePort, run, runToEnd, until, untilReachable } from '../support/child-process.ts';
import { serve, startedFor } from '../support/fixture.ts';
import { installLocked } from '../support/installed-package.ts';
import { startIssuer } from '../support/issuer.ts';
import { bearer, mintToken } from '../support/mint.ts';
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
  expect((await follow('nextjs', folder(), path, start)).slice(1)).toEqual(['next', 'react', 'react-dom']);
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

describe('the MCP Inspector with the command of docs/start/mcp.md', () => {
  const started = mcpServer('mcp', developmentIssuer);

  test('lists tools with a token of the development issuer', async () => {
    const [, command = ''] =
      /^npx (@modelcontextprotocol\/inspector .*?)^```/ms.exec(await readText('docs/start/mcp.md')) ?? [];
    const line = command.replace('@modelcontextprotocol/inspector', inspector()).replace(/http:\S+/, started().url);
    const { status, stdout } = await runToEnd(['bash', '-c', `node ${line}`], {
      TOKEN: await started().issuer.token(),
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('add-note') });
  });
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

/** The MCP servers of docs/guides/mcp.md that need a framework: the block of the page, and what a page shows elsewhere. */
const mcpServers: readonly (readonly [heading: string, rest: string, hasMetadata: boolean])[] = [
  ['Next.js', "import { POST } from './server.ts'; export default { port: process.env.PORT, fetch: POST };", false],
  [
    'NestJS',
    `
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { McpController, McpRawRequest, McpStrategy, StreamableHttpTransport, Tool } from '@rekog/mcp-nest';
import { protect } from './server.ts';
class Tools {
  whoami(request) {
    return { content: [{ type: 'text', text: 'You are ' + request.user.extra.sub }] };
  }
}
class Application {}
// The syntax of decorators would have to be compiled.
const { prototype } = Tools;
const descriptor = Object.getOwnPropertyDescriptor(prototype, 'whoami');
Tool({ name: 'whoami', description: 'Returns your name' })(prototype, 'whoami', descriptor);
McpRawRequest()(prototype, 'whoami', 0);
McpController()(Tools);
Module({ controllers: [Tools] })(Application);
const strategy = new McpStrategy({ name: 'notes', version: '1.0.0', transports: [new StreamableHttpTransport()] });
const app = await NestFactory.create(Application, { logger: false });
protect(app);
strategy.setHttpAdapter(app.getHttpAdapter());
app.connectMicroservice({ strategy });
await app.startAllMicroservices();
await app.listen(process.env.PORT);`,
    true,
  ],
  ['fastmcp', "import './server.ts';", true],
];

describe.each(mcpServers)('docs/guides/mcp.md#%s', (heading, rest, hasMetadata) => {
  const started = startedFor(
    async () => {
      const [issuer, PORT] = [await startIssuer(), String(await freePort())];
      const at = join(folder(), heading);
      const page = await readText('docs/guides/mcp.md');
      const blockOf = (title: string) =>
        new RegExp(`^##+ ${title}\n.*?^\`\`\`ts.*?\n(.*?)^\`\`\``, 'ms').exec(page)?.[1] ?? '';
      const auth = blockOf('What tools know about the user').replace('https://tenant.example.com/', issuer.url);
      await Bun.write(join(at, 'mcp-auth.ts'), auth);
      await Bun.write(join(at, 'server.ts'), blockOf(heading).replace('3010', PORT));
      await Bun.write(join(at, 'main.ts'), rest);
      const server = run([process.execPath, 'run', join(at, 'main.ts')], { PORT });
      const url = `http://localhost:${PORT}/mcp`;
      await untilReachable(url, server);
      return { issuer, server, url };
    },
    ({ issuer, server }) => {
      server.signal('SIGKILL');
      return Promise.all([issuer.close(), server.finished]);
    },
  );
  const tokenOf = (claims: object) =>
    bearer(mintToken(started().issuer.url, { claims: { aud: 'https://api.example.com/mcp', sub: 'ada', ...claims } }));

  test('a tool knows the user', async () => {
    const client = new Client({ name: 'test', version: '1.0.0' });
    const requestInit = { headers: tokenOf({}) };
    await client.connect(new StreamableHTTPClientTransport(new URL(started().url), { requestInit }));
    const { content } = await client.callTool({ name: 'whoami' });
    expect(content).toEqual([{ type: 'text', text: 'You are ada' }]);
    await client.close();
  });

  test('the rejection is that of the guard', async () => {
    for (const headers of [{}, tokenOf({ aud: 'https://other.example.com' })]) {
      const response = await fetch(started().url, { method: 'POST', headers, body: '{}' });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toContain('/.well-known/oauth-protected-resource/mcp"');
      expect(await response.json()).toMatchObject({ error_description: expect.any(String) });
    }
    const metadata = new URL('/.well-known/oauth-protected-resource/mcp', started().url);
    if (hasMetadata)
      expect(await (await fetch(metadata)).json()).toMatchObject({ resource: 'https://api.example.com/mcp' });
  });
});
