import { ifPossible } from '../../values/faults.ts';
import { runtime } from '../../values/runtime.ts';
import { isLoopbackHost } from '../../values/url.ts';

/*
 * How an issuer is asked for a document, on every runtime. What its response must be is decided in fetch-json.ts.
 */

/** What is asked for. Some servers return 406 unless the media type of key sets is accepted (RFC 7517 §8.5.1). */
export type DocumentKind = 'key set' | 'metadata';

const accepted: Readonly<Record<DocumentKind, string>> = {
  'key set': 'application/json, application/jwk-set+json',
  metadata: 'application/json',
};

/** A test compares it with package.json, which would be one more file of the package at run time. */
const userAgent = 'protected-api/1.0.0';

/** Browsers, their workers included. There, the header is one more that a preflight must allow. */
const isBrowser = () => /^Mozilla\//.test(globalThis.navigator?.userAgent ?? '');

/** Returns the options of a request, and a function to call once its body is read. */
export function createRequest(url: string, kind: DocumentKind, signal: AbortSignal) {
  // Deno shares connections of HTTP/2 among all requests of a client.
  const client = runtime.Deno?.createHttpClient?.({});
  // A cache on the way must ask the issuer (RFC 9111 §5.2.1.4), or keys that were withdrawn are trusted for as long as
  // it keeps them. Browsers do so by a member of the request, which needs no preflight. Others may not know the member.
  const hasMember = isBrowser() && ifPossible(() => new Request(url, { cache: 'no-cache' })) !== undefined;
  const headers: Record<string, string> = {
    accept: accepted[kind],
    'accept-encoding': 'identity',
    ...(!hasMember && { 'cache-control': 'no-cache' }),
    // Node.js. A browser ignores it.
    connection: 'close',
    // Cloudflare Workers send none, which firewalls reject.
    ...(!isBrowser() && { 'user-agent': userAgent }),
  };
  const init: RequestInit = {
    // A redirect could lead to a host that the operator did not configure.
    redirect: 'manual',
    signal,
    headers,
    ...(hasMember && { cache: 'no-cache' }),
    // Bun. A kept connection leads to the host that an issuer has left, or is one that a firewall has forgotten.
    keepalive: false,
    ...(client && { client }),
    // Bun only. Bun would decompress the body before its bytes can be counted.
    ...{ decompress: false },
    // Bun only. NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the verification of certificates, there without a warning.
    ...{ tls: { rejectUnauthorized: true } },
    // Bun only. A proxy named in the environment cannot reach the loopback interface of this machine.
    ...(isLoopbackHost(new URL(url).hostname) && { proxy: false }),
  };
  return { init, end: () => client?.close() };
}
