import { expect, test } from 'bun:test';
import { startServedIssuer } from '../../src/probe/issuer/served-issuer.ts';
import { mcpRows } from '../../src/probe/requests/mcp.ts';
import { runProbe } from '../../src/probe/run/probe.ts';
import { goodMcp, plantedMcp } from './servers/mcp.ts';
import { audience, type Planted, rightServer, scope } from './servers/server.ts';

const ping = { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' };

/** Tries the rows of MCP clients on a server, or returns undefined if the profile has none. */
async function verdictsOf(server: Planted, only: string, profile?: 'mcp') {
  const issuer = await startServedIssuer({ audience, kid: 'shared' });
  const { right, parts } = rightServer(issuer, audience);
  const targets = [{ url: `${audience}/reports`, scope, ...ping }];
  const options = { issuer: issuer.issuer, only: [only], profile, targets };
  const report = await runProbe({ ...options, fetch: async (request) => server(request, right, parts) }, issuer.server);
  await issuer.server.close();
  return report.rows.flatMap(({ id, verdict }) => (id.startsWith('mcp-') ? [`${id} ${verdict}`] : []));
}

test.each(mcpRows)('$id fails a server with its fault', async ({ id, level }) => {
  const verdict = level === 'must' ? 'failed' : 'warning';
  expect(await verdictsOf(plantedMcp[id], id, 'mcp')).toEqual([`${id} ${verdict}`]);
});

test('the rows of MCP clients pass a server that keeps their rules', async () =>
  expect(await verdictsOf(goodMcp, 'mcp', 'mcp')).toEqual(mcpRows.map(({ id }) => `${id} passed`)));

test('a run without the profile has no rows of MCP clients', async () =>
  expect(await verdictsOf(goodMcp, 'mcp')).toEqual([]));
