import { setSystemTime } from 'bun:test';
import { createServer, type IncomingMessage } from 'node:http';
import { startServedIssuer } from '../../../src/probe/issuer/served-issuer.ts';
import { runProbe } from '../../../src/probe/run/probe.ts';
import { audience, type Handler, type Planted, rightServer, scope } from '../../probe/servers/server.ts';
import { listen } from '../../support/raw-http.ts';

// Here the probe is run against a server with a fault, with all of its rows, as a user runs it.

/** Time passes only while the probe waits for it. */
const clock = {
  now: () => Date.now(),
  async sleep(ms: number) {
    setSystemTime(Date.now() + ms);
  },
};

/** Serves a function by node:http, which shows paths and upgrades as they came. */
async function served(handler: Handler) {
  const respond = async ({ method, url = '', rawHeaders }: IncomingMessage) => {
    const sent: [string, string][] = [['x-url', url]];
    for (let at = 0; at < rawHeaders.length; at += 2) sent.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '']);
    return handler(new Request(audience + url, { method: String(method), headers: sent }));
  };
  const server = createServer(async (request, response) => {
    const { status, headers, ...body } = await respond(request).then(async (found) => ({
      status: found.status,
      headers: found.headers,
      text: await found.text(),
    }));
    response.writeHead(status, Object.fromEntries(headers)).end(body.text);
  });
  server.on('upgrade', async (request, socket) => {
    const { ok, status } = await respond(request);
    const line = ok
      ? '101 X\r\nConnection: Upgrade\r\nUpgrade: websocket'
      : `${status} X\r\nConnection: close\r\nContent-Length: 0`;
    socket.end(`HTTP/1.1 ${line}\r\n\r\n`);
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${await listen(server)}/messages/secret`, close };
}

/** How a server is tried. */
interface Trial {
  readonly skip?: readonly string[];
  /** Whether it is called without a network, so that its URL is the one that proofs name. */
  readonly isWithin?: boolean;
  readonly patient?: boolean;
  readonly only?: readonly string[];
}

/** Returns the report on a server, and the IDs of the rows that notice it. */
export async function tried(
  server: Planted,
  { skip = ['error-huge', 'dpop'], isWithin = false, ...others }: Trial = {},
) {
  const issuer = await startServedIssuer({ audience });
  const { right, parts } = rightServer(issuer, audience);
  const handler: Handler = (request) => server(request, right, parts);
  const api = isWithin ? undefined : await served(handler);
  const where = api
    ? { targets: [{ url: api.url, scope }] }
    : { fetch: handler, targets: [{ url: `${audience}/messages`, scope }] };
  const report = await runProbe({ issuer: issuer.issuer, ...where, ...others, skip }, issuer.server, clock);
  await Promise.all([issuer.server.close(), api?.close()]);
  const noticed = [...report.failed, ...report.warnings].map(({ id }) => id);
  // An API that rejects good tokens half-way is noticed, too: no such run passes.
  return { ...report, noticed: [...noticed, ...(report.isComplete ? [] : ['(incomplete)'])] };
}
