import { afterAll, describe, expect, setSystemTime, test } from 'bun:test';
import { createServer, type IncomingMessage } from 'node:http';
import type { ProbeOptions } from '../../src/probe/index.ts';
import { startServedIssuer } from '../../src/probe/issuer/served-issuer.ts';
import { runProbe } from '../../src/probe/run/probe.ts';
import { requestRows } from '../../src/probe/run/rows.ts';
import { listen } from '../support/raw-http.ts';
import { overNetwork, passing, planted, type RequestRow } from './servers/planted.ts';
import { proofsWithout } from './servers/proofs.ts';
import { audience, type Handler, type Planted, rightServer, scope } from './servers/server.ts';

/** What a run needs so that the row applies. */
const particular: Readonly<Partial<Record<RequestRow, Partial<ProbeOptions>>>> = {
  'elsewhere-body': { targets: [{ url: `${audience}/messages`, scope, method: 'POST', body: 'a=b' }] },
  'path-within': { targets: [{ url: `${audience}/messages/secret`, scope }] },
  'fetch-aged': { patient: true },
  'fetch-token-urls': { only: ['embedded-jku', 'fetch-token-urls'] },
  'metadata-present': { profile: 'mcp' },
  'no-token-mcp': { profile: 'mcp' },
  'no-token-mcp-session': { profile: 'mcp' },
};
/** Time passes only while the probe waits for it. */
const clock = {
  now: () => Date.now(),
  async sleep(ms: number) {
    setSystemTime(Date.now() + ms);
  },
};
afterAll(() => void setSystemTime());

/** Serves a function by node:http, which shows names, paths and upgrades as they came. */
async function served(handler: Handler) {
  const answer = async ({ method, url = '', rawHeaders, headers }: IncomingMessage) => {
    const given = Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : [],
    );
    const all = [...given, ['x-names', rawHeaders.join()], ['x-url', url]] as [string, string][];
    return handler(new Request(audience + url, { method: String(method), headers: all }));
  };
  const server = createServer(async (request, response) => {
    const given = await answer(request);
    response.writeHead(given.status, Object.fromEntries(given.headers)).end(await given.text());
  });
  server.on('upgrade', async (request, socket) => {
    const { ok, status } = await answer(request);
    if (status === 0) return socket.destroy();
    return socket.end(
      ok
        ? 'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
        : `HTTP/1.1 ${status} X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    );
  });
  return { url: `http://127.0.0.1:${await listen(server)}/messages`, close: () => server.close() };
}

/** Tries one row on a server. */
async function verdictOf(id: RequestRow, server: Planted) {
  const issuer = await startServedIssuer({ audience, kid: 'shared' });
  const { right, parts } = rightServer(issuer, audience);
  const fetch: Handler = async (request) => server(request, right, parts);
  const real = overNetwork.has(id) ? await served(fetch) : undefined;
  const where = real
    ? { targets: [{ url: real.url, scope }] }
    : { fetch, targets: [{ url: `${audience}/messages`, scope }] };
  const options = { issuer: issuer.issuer, only: [id], ...where, ...particular[id] };
  const report = await runProbe(options, issuer.server, clock);
  await Promise.all([issuer.server.close(), real?.close()]);
  const row = report.rows.find((each) => each.id === id);
  return { verdict: row?.verdict, got: row?.got };
}

describe('a row about requests', () => {
  test.each(requestRows.map(({ id, level }) => [id, level] as const))(
    '%s fails a server with its fault, and passes the right one',
    async (id, level) => {
      const isMust = level === 'must' || particular[id]?.profile !== undefined;
      expect(await verdictOf(id, planted[id])).toMatchObject({ verdict: isMust ? 'failed' : 'warning' });
      expect(await verdictOf(id, passing[id] ?? ((request, right) => right(request)))).toMatchObject({
        verdict: 'passed',
      });
    },
  );

  test('no-token-upgrade passes a server that ends the connection of an upgrade', async () => {
    const ending: Planted = (request, right) => (request.headers.has('upgrade') ? Response.error() : right(request));
    expect(await verdictOf('no-token-upgrade', ending)).toMatchObject({ verdict: 'passed' });
  });

  test.each(requestRows.flatMap(({ id }) => (id.startsWith('dpop-') ? [id] : [])))(
    '%s passes a server that makes all checks of proofs',
    async (id) => expect(await verdictOf(id, proofsWithout([]))).toMatchObject({ verdict: 'passed' }),
  );
});

/** Good responses that differ each time, or have nothing in them. */
const differing: Readonly<Record<string, () => Response>> = {
  'a clock': () => Response.json({ hello: 'ada', now: performance.now() }),
  'an ID of the request in a text': () => new Response(crypto.randomUUID()),
  nothing: () => new Response(null, { status: 204 }),
};
describe.each(Object.entries(differing))('an API whose responses have %s', (_, respond) => {
  const opened =
    (isOpen: (request: Request) => boolean): Planted =>
    async (request, right) => {
      const response = await right(request);
      return isOpen(request) || (response.ok && !request.url.includes('well-known')) ? respond() : response;
    };

  test.each(['path-slash', 'path-case', 'path-page'] as const)(
    'fails %s if it is open there, and passes otherwise',
    async (id) => {
      const isOpen = ({ url, headers }: Request) =>
        /messages\/$|MESSAGES$/.test(url) || headers.get('accept') === 'text/html';
      expect(await verdictOf(id, opened(isOpen))).toMatchObject({ verdict: 'failed' });
      expect(
        await verdictOf(
          id,
          opened(() => false),
        ),
      ).toMatchObject({ verdict: 'passed' });
    },
  );
});
