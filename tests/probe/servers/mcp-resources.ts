import { runProbe } from '../../../src/probe/run/probe.ts';

// What each MCP client makes of the `resource` of the metadata. Every night, published clients say the same.

const endpoint = 'https://api.invalid/mcp';
export const wellKnown = 'https://api.invalid/.well-known/oauth-protected-resource';

interface Served {
  readonly url: string;
  /** Where the metadata are. */
  readonly at: string;
  /** Whether the challenge leads there. */
  readonly isNamed: boolean;
  readonly resource: string;
}
type Case = readonly [
  client: 'sdk' | 'vscode' | 'gemini',
  what: string,
  sent: Served & { readonly verdict: 'passed' | 'failed' | 'warning' },
];
const path = { url: endpoint, at: `${wellKnown}/mcp`, isNamed: true };
const query = { ...path, url: `${endpoint}?a=1` };
const root = { ...path, at: wellKnown };

export const resourceCases: readonly Case[] = [
  ['sdk', 'the origin', { ...path, resource: 'https://api.invalid', verdict: 'passed' }],
  ['sdk', 'the URL in capitals', { ...path, resource: 'HTTPS://API.invalid:443/mcp', verdict: 'passed' }],
  ['sdk', 'a slash at the end', { ...path, resource: `${endpoint}/`, verdict: 'failed' }],
  [
    'sdk',
    'a path that begins alike',
    { ...path, url: `${endpoint}s`, at: `${wellKnown}/mcps`, resource: endpoint, verdict: 'failed' },
  ],
  ['vscode', 'the URL', { ...path, resource: 'HTTPS://API.invalid:443/mcp', verdict: 'passed' }],
  ['vscode', 'a slash at the end', { ...path, resource: `${endpoint}/`, verdict: 'warning' }],
  ['vscode', 'the URL without its query', { ...query, resource: endpoint, verdict: 'warning' }],
  ['vscode', 'the URL with its query', { ...query, resource: `${endpoint}?a=1`, verdict: 'passed' }],
  ['vscode', 'the URL at the root, to which the challenge leads', { ...root, resource: endpoint, verdict: 'passed' }],
  ['vscode', 'the URL at the root', { ...root, isNamed: false, resource: endpoint, verdict: 'warning' }],
  ['vscode', 'the origin at the root', { ...root, isNamed: false, resource: 'https://api.invalid', verdict: 'passed' }],
  ['vscode', 'the origin at the path', { ...path, resource: 'https://api.invalid', verdict: 'warning' }],
  ['gemini', 'the URL without its query', { ...query, resource: endpoint, verdict: 'passed' }],
  ['gemini', 'another query', { ...path, resource: `${endpoint}?b=2`, verdict: 'passed' }],
  ['gemini', 'the URL in capitals', { ...path, resource: 'HTTPS://API.invalid:443/mcp', verdict: 'passed' }],
  ['gemini', 'a slash at the end', { ...path, resource: `${endpoint}/`, verdict: 'warning' }],
  ['gemini', 'the origin of a path', { ...path, resource: 'https://api.invalid', verdict: 'warning' }],
  [
    'gemini',
    'an origin without a slash',
    { ...root, url: 'https://api.invalid/', resource: 'https://api.invalid', verdict: 'passed' },
  ],
];

/** Returns what the row of a client says of these metadata. */
export async function verdictOf(row: string, { url, at, isNamed, resource }: Served) {
  const fetch = (request: Request) => {
    if (request.url === at) return Response.json({ resource });
    if (request.url.startsWith(wellKnown)) return new Response(null, { status: 404 });
    const parameter = isNamed ? ` resource_metadata="${at}"` : '';
    return new Response(null, { status: 401, headers: { 'www-authenticate': `Bearer${parameter}` } });
  };
  const only = [`mcp-resource-${row}`];
  const report = await runProbe({ only, profile: 'mcp', targets: [{ url, method: 'POST' }], fetch });
  return report.rows.find(({ id }) => id.startsWith('mcp'))?.verdict;
}
