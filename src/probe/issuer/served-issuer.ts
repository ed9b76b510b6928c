import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { createTestIssuer } from 'protected-api/testing';
import { keyNamed, publish, strangersKey } from '../forge/forge.ts';
import { isJsonObject, type Members } from '../values/json.ts';

// Here is an issuer on a port of this machine whose keys change, fail and hang as a row or a test wants it.

/**
 * How the key-set endpoint responds: `keys` as it should; `response` with any status, headers and text; `hang` accepts
 * and says nothing; `stall` begins to send, and says no more; `cut off` announces more than it sends and closes; `huge`
 * sends 40 MB.
 */
export interface IssuerMode {
  readonly kind: 'keys' | 'response' | 'hang' | 'stall' | 'cut off' | 'huge';
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
}

/** A key-set endpoint on loopback. */
export type KeyServer = Awaited<ReturnType<typeof serveKeys>>;

function respondAs(
  response: ServerResponse,
  { kind, status = 200, headers, text }: IssuerMode,
  keys: readonly unknown[],
) {
  if (kind === 'hang') return;
  const length = kind === 'cut off' && { 'content-length': '1000' };
  response.writeHead(status, { 'content-type': 'application/json', ...length, ...headers });
  if (kind === 'keys') response.end(JSON.stringify({ keys }));
  else if (kind === 'response') response.end(text);
  else if (kind === 'huge') Readable.from(Array(40).fill(' '.repeat(1024 * 1024))).pipe(response);
  else response.write('{"keys":[', () => kind === 'cut off' && response.destroy());
}

/** The key and certificate of a server with TLS, as PEM. */
interface Tls {
  readonly key: string;
  readonly cert: string;
}

/** Starts a key-set endpoint on loopback, by node:http, because Bun.serve cannot break a response off halfway. */
export async function serveKeys(keys: readonly unknown[], atPort = 0, tls?: Tls) {
  const respond = ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    issuer.requests.push(url);
    const document = issuer.documents.get(url);
    if (document) return respondAs(response, document, issuer.keys);
    if (!url.endsWith('/.well-known/jwks.json')) return void response.writeHead(404).end();
    issuer.fetches += 1;
    if (issuer.mode.kind === 'keys') issuer.served = issuer.keys;
    respondAs(response, issuer.mode, issuer.keys);
  };
  const server = tls ? createSecureServer(tls, respond) : createServer(respond);
  // Otherwise it closes idle connections after 5 seconds, perhaps just when the service uses one.
  server.keepAliveTimeout = 0;
  const close = () =>
    new Promise<void>((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  await new Promise<void>((done, fail) => server.once('error', fail).listen(atPort, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;

  const issuer = {
    /** The issuer identifier: the URL with its trailing slash. */
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/`,
    keys,
    mode: { kind: 'keys' } as IssuerMode,
    /** Other documents by path: metadata, and key sets at URLs in metadata. */
    documents: new Map<string, IssuerMode>(),
    requests: [] as string[],
    /** Requests to the key-set endpoint since the start, failed ones included. */
    fetches: 0,
    /** Whether no keys are published beside those of the issuer. */
    isPlain: false,
    /** The keys that were last sent. */
    served: [] as readonly unknown[],
    close,
    [Symbol.asyncDispose]: close,
  };
  return issuer;
}

/** Returns the RSA key of this name that an issuer publishes beside its own. */
export const sideKey = (name: string) => keyNamed(name, 'RS256', name === 'weak' ? 1024 : 2048);
export const publishedSecret = Buffer.alloc(32, 1);
const published = (name: string, kid: string, members: Members = {}) => publish(sideKey(name), `probe-${kid}`, members);
const curveKey = () => keyNamed('curve', 'ES256');
/** Keys beside the issuer's own: two under one kid, one that is withdrawn, and some that verify no token. */
const sideKeys = (): readonly Members[] => [
  ...['first twin', 'second twin'].map((name) => published(name, 'twins')),
  published('weak', 'weak'),
  published('retiring', 'retiring'),
  published('rotated', 'encrypting', { use: 'enc' }),
  published('rotated', 'wrapping', { use: undefined, key_ops: ['wrapKey'] }),
  published('rotated', 'for-ps256', { alg: 'PS256' }),
  publish(curveKey(), 'probe-curve', { alg: 'ES256' }),
  { kty: 'oct', kid: 'probe-symmetric', use: 'sig', k: publishedSecret.toString('base64url') },
];
const isSideKey = (key: unknown) => isJsonObject(key) && String(key.kid).startsWith('probe-');
/** Whether the keys were sent with those beside them. */
export const haveSideKeys = ({ served }: KeyServer): boolean => served.some(isSideKey);
/** Publishes one more key. */
export function rotate(server: KeyServer): void {
  const beside = server.isPlain ? [] : sideKeys();
  server.keys = [...server.keys.filter((key) => !isSideKey(key)), ...beside, published('rotated', 'rotated')];
}
/** Publishes the keys of the issuer alone: a client may reject a whole set for one key that is weak. */
export function publishPlain(server: KeyServer): void {
  server.isPlain = true;
  server.keys = server.keys.filter((key) => !isSideKey(key));
}

/** Publishes a key with a new name beside the others, and returns it. */
export function publishNew(server: KeyServer) {
  const kid = newKid();
  const key = keyNamed(kid, 'RS256');
  const publicKey = publish(key, kid);
  server.keys = [...server.keys, publicKey];
  return { key, kid, publicKey };
}
const newKid = () => `run-${randomUUID().slice(0, 8)}`;

/** Publishes an attacker's keys beside those of the issuer, under the same names. */
export function publishElsewhere(server: KeyServer, own: readonly object[]): void {
  const kids = ['redirected', ...own.map((jwk) => String((jwk as Members).kid))];
  const keys = kids.map((kid) => publish(strangersKey('RS256'), kid));
  server.documents.set('/elsewhere', { kind: 'response', text: JSON.stringify({ keys }) });
}

/**
 * Starts an issuer for tests whose keys a server can fetch: `keys` are published beside its own. By default its key is
 * new, with a new name: an API that has cached the keys of an earlier run fetches them again for a kid that it has not
 * seen.
 */
export async function startServedIssuer({
  audience,
  port,
  kid = newKid(),
  tls,
}: {
  readonly audience: string;
  readonly port?: number;
  readonly kid?: string;
  readonly tls?: Tls | undefined;
}) {
  const server = await serveKeys([], port, tls);
  const { url } = server;
  const metadata = JSON.stringify({
    issuer: url,
    jwks_uri: `${url}.well-known/jwks.json`,
    response_types_supported: [],
  });
  for (const name of ['openid-configuration', 'oauth-authorization-server'])
    server.documents.set(`/.well-known/${name}`, { kind: 'response', text: metadata });
  const key = { ...keyNamed(kid, 'RS256').export({ format: 'jwk' }), kid };
  const issuer = await createTestIssuer({ issuer: url, audience, key });
  const { keys } = issuer.options.keys;
  publishElsewhere(server, keys);
  server.keys = [...keys, ...sideKeys()];
  return { issuer, server };
}
