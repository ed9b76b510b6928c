/** Requests with a larger body are answered with 413. The service only accepts short forms and JSON objects. */
const maxBodyBytes = 64 * 1024;

/**
 * Returns the request with an address of the form `http://host/path`. Callers of a Web-standard `fetch` may pass https.
 * An HTTP/1.0 request without a Host header has only a path.
 */
export function withHttpUrl(request: Request): Request {
  const { url } = request;
  if (url.startsWith('http:')) return request;
  if (url.startsWith('https:')) return new Request(`http${url.slice('https'.length)}`, request);
  return url.startsWith('/') ? new Request(`http://localhost${url}`, request) : request;
}

/** Returns the path of an absolute address as it was sent, percent-encoding included. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', 'http://'.length);
  const end = url.indexOf('?', start);
  return url.slice(start, end === -1 ? undefined : end);
}

/** Whether the request has a body but no Content-Length, because it is chunked or was created in this process. */
export function hasUnknownLength(request: Request): boolean {
  return !isBodiless(request.method) && request.body !== null && !request.headers.has('content-length');
}

/**
 * Returns the request with its body in memory and a Content-Length. Stops reading after 64 KiB.
 */
export async function withLength(request: Request): Promise<Request> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of request.body ?? []) {
      chunks.push(chunk);
      length += chunk.byteLength;
      if (length > maxBodyBytes) break;
    }
  } catch {
    // The connection was lost. Reading this body again fails, so an incomplete body is never accepted.
    return request;
  }
  const measured = new Request(request, { body: new Blob(chunks) });
  measured.headers.set('content-length', String(length));
  return measured;
}

/** Whether the Content-Length of the request is over 64 KiB. */
export function isTooLarge({ headers }: Request): boolean {
  return Number(headers.get('content-length')) > maxBodyBytes;
}

/** Bun skips the body of GET and HEAD, and never delivers one of CONNECT (https://github.com/oven-sh/bun/issues/43552). */
function isBodiless(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'CONNECT';
}
