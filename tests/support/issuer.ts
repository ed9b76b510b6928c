import { createServer, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { signingKeys } from './mint.ts';
import { listen } from './raw-http.ts';

/**
 * How the key-set endpoint responds:
 * `keys` as it should; `response` with any status, headers and text; `hang` accepts and says nothing; `stall` begins to send, and
 * says no more; `cut off` announces more than it sends and closes; `huge` sends 40 MB.
 */
export interface IssuerMode {
  readonly kind: 'keys' | 'response' | 'hang' | 'stall' | 'cut off' | 'huge';
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
}

export type Issuer = Awaited<ReturnType<typeof startIssuer>>;

const huge = Array.from({ length: 40 }, () => Buffer.alloc(1024 * 1024, ' '));

function respond(
  response: ServerResponse,
  { kind, status = 200, headers, text }: IssuerMode,
  keys: readonly unknown[],
) {
  if (kind === 'hang') return;
  const length = kind === 'cut off' && { 'content-length': '1000' };
  response.writeHead(status, { 'content-type': 'application/json', ...length, ...headers });
  if (kind === 'keys') response.end(JSON.stringify({ keys }));
  else if (kind === 'response') response.end(text);
  else if (kind === 'huge') Readable.from(huge).pipe(response);
  else response.write('{"keys":[', () => kind === 'cut off' && response.destroy());
}

/** Starts a key-set endpoint on loopback, by node:http, because Bun.serve cannot break a response off halfway. */
export async function startIssuer(keys: readonly unknown[] = signingKeys()) {
  const server = createServer(({ url = '' }, response) => {
    issuer.requests.push(url);
    const document = issuer.documents.get(url);
    if (document) return respond(response, document, issuer.keys);
    if (!url.endsWith('/.well-known/jwks.json')) return void response.writeHead(404).end();
    issuer.fetches += 1;
    respond(response, issuer.mode, issuer.keys);
  });
  // Otherwise it closes idle connections after 5 seconds, perhaps just when the service uses one.
  server.keepAliveTimeout = 0;
  const close = () =>
    new Promise<void>((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  const port = await listen(server);

  const issuer = {
    /** The issuer identifier: the URL with its trailing slash. */
    url: `http://127.0.0.1:${port}/`,
    keys,
    mode: { kind: 'keys' } as IssuerMode,
    /** Other documents by path: metadata, and key sets at URLs in metadata. */
    documents: new Map<string, IssuerMode>(),
    requests: [] as string[],
    /** Requests to the key-set endpoint since the start, failed ones included. */
    fetches: 0,
    close,
    [Symbol.asyncDispose]: close,
  };
  return issuer;
}
