import { afterAll, expect, setSystemTime, test } from 'bun:test';
import { startServedIssuer } from '../../src/probe/issuer/served-issuer.ts';
import { mcpRows } from '../../src/probe/mcp/mcp.ts';
import { mcpMetadataRows } from '../../src/probe/mcp/mcp-metadata.ts';
import { mcpTokenRows } from '../../src/probe/mcp/mcp-tokens.ts';
import { runProbe } from '../../src/probe/run/probe.ts';
import { goodMcp, keepingMcp, plantedMcp, streamingMcp } from './servers/mcp.ts';
import { resourceCases, verdictOf } from './servers/mcp-resources.ts';
import { audience, type Planted, rightServer, scope } from './servers/server.ts';

const rows = [...mcpMetadataRows, ...mcpRows, ...mcpTokenRows];
/** Time passes only while the probe waits for it, and a server then does what is due. */
const clock = {
  now: () => Date.now(),
  async sleep(ms: number) {
    setSystemTime(Date.now() + ms);
    await new Promise((done) => setTimeout(done, 20));
  },
};
afterAll(() => void setSystemTime());

const tool = { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}' };

/** Tries the rows of MCP clients on a server, or returns undefined if the profile has none. */
async function verdictsOf(server: Planted, only: string, profile?: 'mcp') {
  const issuer = await startServedIssuer({ audience, kid: 'shared' });
  const { right, parts } = rightServer(issuer, audience);
  const targets = [{ url: `${audience}/messages`, scope, ...tool }];
  const options = { issuer: issuer.issuer, only: [only], profile, targets };
  const report = await runProbe(
    { ...options, fetch: async (request) => server(request, right, parts) },
    issuer.server,
    clock,
  );
  await issuer.server.close();
  return report.rows.flatMap(({ id, verdict }) => (id.startsWith('mcp-') ? [`${id} ${verdict}`] : []));
}

test.each(rows)('$id fails a server with its fault', async ({ id, level }) => {
  const verdict = level === 'must' ? 'failed' : 'warning';
  expect(await verdictsOf(plantedMcp[id], id, 'mcp')).toContain(`${id} ${verdict}`);
});

test('the rows of MCP clients pass a server that keeps their rules', async () =>
  expect(await verdictsOf(goodMcp, 'mcp', 'mcp')).toEqual(rows.map(({ id }) => `${id} passed`)));

test('mcp-stream-end passes a stream that ends with its token', async () =>
  expect(await verdictsOf(streamingMcp, 'mcp-stream-end', 'mcp')).toEqual(['mcp-stream-end passed']));

test.each(['mcp-events', 'mcp-task', 'mcp-task-scope', 'mcp-request-state'])(
  '%s passes a server that binds what it keeps to its user',
  async (id) => expect(await verdictsOf(keepingMcp(), id, 'mcp')).toContain(`${id} passed`),
);

test('mcp-task fails a server whose list names tasks of others', async () =>
  expect(await verdictsOf(keepingMcp('list'), 'mcp-task', 'mcp')).toContain('mcp-task failed'));

test('rows of MCP clients that are named without the profile are a mistake', async () => {
  await expect(verdictsOf(goodMcp, 'mcp')).rejects.toThrow('the rows of mcp need the profile mcp');
  await expect(verdictsOf(goodMcp, 'no-token-mcp')).rejects.toThrow('the rows of no-token-mcp need the profile mcp');
  expect(await verdictsOf(goodMcp, 'no-token')).toEqual([]);
});

test.each(resourceCases)('mcp-resource-%s judges %s', async (row, _, ...sent) => {
  const { verdict, ...given } = sent[0];
  expect(await verdictOf(row, given)).toBe(verdict);
});
