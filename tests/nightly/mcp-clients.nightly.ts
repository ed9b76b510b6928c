import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { selectResourceURL } from '@modelcontextprotocol/client';
import { selectResourceURL as selectFirst } from '@modelcontextprotocol/sdk/client/auth.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createGuard } from 'protected-api';
import { protectMcp } from 'protected-api/mcp';
import { loginIssuer } from '../examples/mcp-server.ts';
import { resourceCases, verdictOf } from '../probe/servers/mcp-resources.ts';
import { signIn } from '../support/authorization-server.ts';
import { freePort, runToEnd } from '../support/child-process.ts';
import { serve, startedFor } from '../support/fixture.ts';
import { installLocked } from '../support/installed-package.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * Published clients of MCP at our endpoint, and what the probe says of clients beside what they do. VS Code, ChatGPT
 * and claude.ai are not published as packages, and codex calls tools only for a model.
 */

const folder = startedFor(() => installLocked('nightly/clients'));
const inFolder = (...path: readonly string[]) => join(folder(), 'node_modules', ...path);

describe('a client at an endpoint whose issuer it finds itself', () => {
  const started = startedFor(
    async () => {
      const port = await freePort();
      const publicUrl = `http://localhost:${port}`;
      const resource = `${publicUrl}/mcp`;
      const issuer = await loginIssuer(resource);
      const guard = createGuard({ issuer: issuer.issuer, audience: resource, publicUrl, resource });
      const handler = createMcpHandler(() => {
        const tools = new McpServer({ name: 'test', version: '1.0.0' });
        tools.registerTool('read-notes', { description: 'Returns all notes' }, () => ({ content: [] }));
        return tools;
      });
      const subjects: (string | undefined)[] = [];
      const mcp = protectMcp(guard, { scope: 'notes:read' }, (request, { authInfo, message }) => {
        subjects.push(authInfo.extra.claims.sub);
        return handler.fetch(request, { authInfo, parsedBody: message });
      });
      return { resource, issuer, subjects, server: Bun.serve({ hostname: 'localhost', port, fetch: mcp }) };
    },
    async ({ issuer, server }) => void (await Promise.all([issuer.close(), server.stop(true)])),
  );

  /** Runs a command, signs a user in at the page that it prints, and returns its output. */
  async function login(home: string, command: readonly string[]) {
    const path = `${join(nodePath(newestNode), '..')}:${process.env.PATH}`;
    const quiet = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1', BROWSER: 'true' };
    const env = { PATH: path, HOME: home, ...quiet };
    const child = Bun.spawn([...command], { cwd: home, env, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' });
    let text = '';
    let isSignedIn = false;
    async function read(stream: ReadableStream<Uint8Array>) {
      const decoder = new TextDecoder();
      for await (const part of stream) {
        text += decoder.decode(part, { stream: true });
        const [page] =
          new RegExp(
            `${started().issuer.issuer}/[^\\s"\\x07\\x1b]*redirect_uri=[^\\s"\\x07\\x1b]*(?=[\\s"\\x07\\x1b])`,
          ).exec(text) ?? [];
        if (page === undefined || isSignedIn) continue;
        isSignedIn = true;
        const callback = String(new URL(page).searchParams.get('redirect_uri'));
        const { headers } = await signIn(page, 'ada', callback);
        await fetch(String(headers.get('location')), { keepalive: false });
      }
    }
    await Promise.all([read(child.stdout), read(child.stderr)]);
    return { status: await child.exited, text };
  }

  test('codex registers itself, and signs its user in', async () => {
    const { resource } = started();
    const found = await login(temporaryFolder(), [inFolder('.bin/codex'), 'mcp', 'add', 'notes', '--url', resource]);
    expect(found).toMatchObject({ status: 0, text: expect.stringContaining('Successfully logged in') });
  });

  test('mcp-remote registers itself, signs its user in, and lists tools', async () => {
    const { resource, subjects } = started();
    subjects.length = 0;
    const found = await login(temporaryFolder(), [inFolder('.bin/mcp-remote-client'), resource]);
    expect(found).toMatchObject({ status: 0, text: expect.stringContaining('"read-notes"') });
    expect(new Set(subjects)).toEqual(new Set(['ada']));
  });

  const hasTerminal = existsSync('/usr/bin/script');
  if (!hasTerminal) console.log('Left out: Claude Code, which signs in at a terminal only, and there is no script(1)');
  test.if(hasTerminal)('Claude Code registers itself, signs its user in, and connects', async () => {
    const { resource, subjects } = started();
    const home = temporaryFolder();
    // Its package has a binary for each platform.
    const [binary = ''] = readdirSync(inFolder('@anthropic-ai')).filter((name) => name.startsWith('claude-code-'));
    const claude = inFolder('@anthropic-ai', binary, 'claude');
    await login(home, [claude, 'mcp', 'add', '--scope', 'user', '--transport', 'http', 'notes', resource]);
    expect((await login(home, [claude, 'mcp', 'list'])).text).toContain('Needs authentication');
    const command = ['script', '-qec', `${claude} mcp login --no-browser notes`, '/dev/null'];
    expect((await login(home, command)).text).toContain('Authenticated with "notes"');
    subjects.length = 0;
    expect((await login(home, [claude, 'mcp', 'list'])).text).toContain('Connected');
    expect(new Set(subjects)).toEqual(new Set(['ada']));
  });
});

const ofClient = (client: string) => resourceCases.filter(([each]) => each === client);

test.each(ofClient('sdk'))('mcp-resource-%s: clients of both SDKs do as the row says with %s', async (row, _, sent) => {
  const metadata = { resource: sent.resource };
  const isTaken = async (select: typeof selectFirst) =>
    select(sent.url, {} as never, metadata).then(
      () => true,
      () => false,
    );
  const isPassed = (await verdictOf(row, sent)) === 'passed';
  expect([await isTaken(selectFirst), await isTaken(selectResourceURL as never)]).toEqual([isPassed, isPassed]);
});

describe('gemini-cli', () => {
  /** Lets its own code find the issuer from a challenge. */
  async function discover(url: string, challenge: string) {
    const script = `
      import { OAuthUtils } from '@google/gemini-cli-core';
      const found = await OAuthUtils.discoverOAuthFromWWWAuthenticate(...process.argv.slice(-2)).catch(String);
      console.log('found', JSON.stringify(found));
      process.exit();`;
    const file = join(folder(), 'discover.mjs');
    await Bun.write(file, script);
    const { stdout } = await runToEnd([nodePath(newestNode), file, challenge, url]);
    return /^found (.*)$/m.exec(stdout)?.[1] ?? '';
  }
  /** Serves metadata and their issuer on loopback, where the cases have another host. */
  function serveCase({ url, resource, at }: { readonly url: string; readonly resource: string; readonly at: string }) {
    const here = (text: string) => text.replace(/https:\/\/api\.invalid(?::443)?/gi, server.url.origin);
    const server = serve(({ url: asked }) => {
      const { origin } = server.url;
      if (asked === here(at)) return Response.json({ resource: here(resource), authorization_servers: [origin] });
      return Response.json({ issuer: origin, authorization_endpoint: `${origin}/a`, token_endpoint: `${origin}/t` });
    });
    return { url: here(url), at: here(at), [Symbol.asyncDispose]: () => server.stop(true) };
  }

  test.each(ofClient('gemini'))('mcp-resource-%s: it does as the row says with %s', async (row, _, sent) => {
    await using served = serveCase(sent);
    const isFound = (await discover(served.url, `Bearer resource_metadata="${served.at}"`)).startsWith('{');
    expect(isFound).toBe((await verdictOf(row, sent)) === 'passed');
  });

  test('reads a challenge that begins with another scheme, and resource_metadata without quotes', async () => {
    const [, , sent] = ofClient('gemini')[0] ?? [];
    if (!sent) throw new Error('There is no case of gemini-cli');
    await using served = serveCase(sent);
    for (const challenge of [
      `DPoP algs="ES256", Bearer resource_metadata="${served.at}"`,
      `Bearer resource_metadata=${served.at}`,
    ])
      expect(await discover(served.url, challenge)).toStartWith('{');
  });
});
