import { describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { join } from 'node:path';
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ClientCredentialsProvider as FirstCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { developmentIssuer, mcpServer } from '../examples/mcp-server.ts';
import { freePort, run, runToEnd, untilReachable } from '../support/child-process.ts';
import { serve, startedFor } from '../support/fixture.ts';
import { installLocked } from '../support/installed-package.ts';
import { startIssuer } from '../support/issuer.ts';
import { bearer, mintToken } from '../support/mint.ts';
import { open } from '../support/raw-http.ts';
import { readText, root } from '../support/repository.ts';
import { runWorker } from '../support/worker.ts';

const folder = startedFor(() => installLocked('nightly'));
const guide = await readText('examples/mcp.md');
const [, startPage = ''] = /^```ts\n(.*?)^```/ms.exec(await readText('docs/mcp/index.md')) ?? [];
/** The servers that people copy. */
const servers = {
  'the start page': startPage,
  'examples/mcp.ts': await readText('examples/mcp.ts'),
  'examples/mcp-hono.ts': await readText('examples/mcp-hono.ts'),
  'examples/mcp-express.ts': await readText('examples/mcp-express.ts'),
};
let copies = 0;

/** Starts a copy of a server, changed, with the development issuer. */
function copyOf(name: keyof typeof servers, change = (text: string) => text) {
  const copy = `../dist/mcp-copy-${++copies}`;
  return mcpServer(copy, async (url) => {
    const issuer = await developmentIssuer(url);
    const text = servers[name].replace('http://localhost:4010/', issuer.issuer).replaceAll('3010', new URL(url).port);
    await Bun.write(join(root, 'examples', `${copy}.ts`), change(text));
    return issuer;
  });
}

const scenarios = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];
const ofStateless = [...scenarios, 'http-header-validation', 'server-stateless', 'sep-2164-resource-not-found'];
const withSessions = [...scenarios, 'server-session-lifecycle', 'server-sse-multiple-streams'];

describe.each([
  ['the start page', ofStateless],
  ['examples/mcp.ts', ofStateless],
  ['examples/mcp-hono.ts', ofStateless],
  ['examples/mcp-express.ts', withSessions],
] as const)('the conformance suite of MCP with %s', (name, scenarios) => {
  const started = copyOf(name);

  // The suite sends no token, so a proxy adds one. The servers have what these scenarios test; none tests
  // authorization.
  test.each(scenarios)('passes %s behind the guard', async (scenario) => {
    const { url, issuer } = started();
    const token = await issuer.token();
    await using proxy = serve(({ method, headers, body }) => {
      headers.set('authorization', `Bearer ${token}`);
      return fetch(url, { method, headers, body, decompress: false, keepalive: false });
    });
    const suite = join(folder(), 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
    const target = ['--url', `http://localhost:${proxy.port}/mcp`, '--scenario', scenario];
    const { stdout } = await runToEnd([process.execPath, suite, 'server', ...target, '--output-dir', folder()]);
    const [, passed, all] = /Passed: (\d+)\/(\d+)/.exec(stdout) ?? [];
    // What needs a tool of the suite itself cannot be tested.
    const untested = stdout.match(/Error: Not testable/g)?.length ?? 0;
    expect([Number(passed) > 0, Number(passed) + untested], stdout).toEqual([true, Number(all)]);
  });
});

/** Longer than idle connections are kept: 10 seconds by Bun, and 30 by Elysia. */
const longMs = (name: string) => (name === 'examples/mcp.ts' ? 40_000 : 15_000);
/** Makes the tool `read-notes` take that long. */
const slow = (name: string) => (text: string) =>
  text.replace(
    /('read-notes', .*?, )(texts|\(\) => \(\{ content \}\))\);/,
    `$1async () => { await new Promise((done) => setTimeout(done, ${longMs(name)})); return ($2)(); });`,
  );

describe.each(Object.keys(servers) as (keyof typeof servers)[])('a slow tool of %s', (name) => {
  const started = copyOf(name, slow(name));

  test.each([
    ['2', Client, StreamableHTTPClientTransport, ClientCredentialsProvider],
    ['1', FirstClient, FirstTransport, FirstCredentialsProvider],
  ])('returns its result to a client of SDK %s', async (_, SomeClient, Transport, Provider) => {
    const expectedIssuer = started().issuer.issuer;
    const scope = 'notes:read notes:write';
    const authProvider = new Provider({ clientId: 'reader', clientSecret: 'reader-secret', expectedIssuer, scope });
    const client = new SomeClient({ name: 'test', version: '1.0.0' });
    await client.connect(new Transport(new URL(started().url), { authProvider }) as never);
    const begin = Date.now();
    expect((await client.callTool({ name: 'read-notes' })).content).toBeArray();
    expect(Date.now() - begin).toBeGreaterThan(longMs(name) - 1000);
    await client.close();
  });

  if (name === 'examples/mcp.ts' || name === 'examples/mcp-hono.ts')
    test('holds no connection of a stranger, who sends half of a request', async () => {
      const socket = await open(Number(new URL(started().url).port), 'localhost');
      const closed = once(socket, 'close');
      socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na');
      socket.resume();
      await closed;
    });
});

test('the start page runs on Cloudflare Workers, without modules of Node.js', async () => {
  const PORT = String(await freePort());
  const url = `http://localhost:${PORT}/mcp`;
  const issuer = await developmentIssuer(url);
  const file = join(root, 'dist/mcp-worker.ts');
  const text = startPage
    .replace('http://localhost:4010/', issuer.issuer)
    .replaceAll('3010', PORT)
    .replace(/^import .*node-server.*\n/m, '')
    .replace(/^serve\(.*?^\}\);\n/ms, 'export default { fetch };');
  await Bun.write(file, text);
  const worker = await runWorker(file, { PORT });
  await untilReachable(url, worker);
  const send = async (authorization = {}) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read-notes' } };
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const init = { method: 'POST', headers: { ...headers, ...authorization }, body: JSON.stringify(message) };
    const response = await fetch(`http://127.0.0.1:${PORT}/mcp`, init);
    return `${response.status} ${await response.text()}`;
  };
  const responses = [await send(), await send(bearer(await issuer.token()))];
  expect(responses).toEqual([expect.stringMatching(/^401 /), expect.stringMatching(/^200 .*You are reader/s)]);
  worker.signal('SIGKILL');
  await Promise.all([worker.finished, issuer.close()]);
});

/** The MCP servers of examples/mcp.md that need a framework: the block of the page, and what another page shows. */
const mcpServers: readonly (readonly [heading: string, rest: string])[] = [
  ['Next.js', "import { POST } from './server.ts'; export default { port: process.env.PORT, fetch: POST };"],
  [
    'NestJS',
    `
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { McpController, McpRawRequest, McpStrategy, StreamableHttpTransport, Tool } from '@rekog/mcp-nest';
import { protect } from './server.ts';
class Tools {
  whoami(request) {
    return { content: [{ type: 'text', text: 'You are ' + request.user.extra.claims.sub }] };
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
  ],
  ['fastmcp', "import './server.ts';"],
];

describe.each(mcpServers)('examples/mcp.md#%s', (heading, rest) => {
  const started = startedFor(
    async () => {
      const [issuer, PORT] = [await startIssuer(), String(await freePort())];
      const at = join(folder(), heading);
      const blockOf = (title: string) =>
        new RegExp(`^#+ ${title}\n.*?^\`\`\`ts.*?\n(.*?)^\`\`\``, 'ms').exec(guide)?.[1] ?? '';
      const guard = blockOf('MCP: more examples')
        .replace('https://tenant.example.com/', issuer.url)
        .replace('https://api.example.com', `http://localhost:${PORT}`);
      await Bun.write(join(at, 'mcp-guard.ts'), guard);
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
    bearer(mintToken(started().issuer.url, { claims: { aud: started().url, sub: 'ada', ...claims } }));

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
    expect(await (await fetch(metadata)).json()).toMatchObject({ resource: started().url });
  });
});
