/** Requests with a larger body get a 413. The service only accepts short forms and JSON objects. */
const maxBodyBytes = 64 * 1024;

/**
 * Returns the request with a URL of the form `http://host/path`. Callers of a Web-standard `fetch` may pass https.
 * An HTTP/1.0 request without a Host header has only a path.
 */
export function withHttpUrl(request: Request): Request {
  const { url } = request;
  if (url.startsWith('http:')) return request;
  if (url.startsWith('https:')) return new Request(`http${url.slice('https'.length)}`, request);
  return url.startsWith('/') ? new Request(`http://localhost${url}`, request) : request;
}

/** Returns the path of an absolute URL as it was sent, percent-encoding included. */
export function sentPathOf(url: string): string {
  const start = url.indexOf('/', 'http://'.length);
  const end = url.indexOf('?', start);
  return url.slice(start, end === -1 ? undefined : end);
}

/** How many bytes of a limited body may still be read; fewer than none if it was found to be too large. */
const allowances = new WeakMap<Request, { remainingBytes: number }>();

/** Whether the body is over 64 KiB, by its Content-Length or by what was read of it. */
export function isTooLarge(request: Request): boolean {
  return (allowances.get(request)?.remainingBytes ?? 0) < 0;
}

/**
 * Returns the request with a body that cannot be read beyond 64 KiB, and not at all if its Content-Length is larger. Nothing is
 * read before the handler needs it, so a request without a valid token is rejected first.
 */
export function withLimitedBody(request: Request): Request {
  const { method, headers } = request;
  // Bun skips the body of GET and HEAD, and never delivers one of CONNECT (https://github.com/oven-sh/bun/issues/43552).
  if (method === 'GET' || method === 'HEAD' || method === 'CONNECT' || request.body === null) return request;
  // Two equal headers arrive as `2, 2`, which is not a number: such a body is counted, as one without a length.
  const declaredBytes = Number(headers.get('content-length') ?? Number.NaN);
  if (declaredBytes <= maxBodyBytes) return request;
  const allowance = { remainingBytes: declaredBytes > maxBodyBytes ? -1 : maxBodyBytes };
  const limited = new Request(request, { body: limit(request.body, allowance) });
  allowances.set(limited, allowance);
  return limited;
}

/** Returns whether a body of unknown length is over 64 KiB. Reads it. */
export async function exceedsLimit(request: Request): Promise<boolean> {
  if (!allowances.has(request)) return false;
  try {
    for await (const _ of request.body ?? []);
  } catch {
    // It is too large, or the connection was lost.
  }
  return isTooLarge(request);
}

/** Returns a stream of the same bytes that fails once there are more than allowed. */
function limit(body: ReadableStream<Uint8Array>, allowance: { remainingBytes: number }): ReadableStream<Uint8Array> {
  const read = () => body.getReader();
  let reader: ReturnType<typeof read> | undefined;
  const requireAllowance = () => {
    if (allowance.remainingBytes < 0) throw new RangeError('Request body is too large');
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        requireAllowance();
        reader ??= read();
        const { done, value } = await reader.read();
        if (done) return controller.close();
        allowance.remainingBytes -= value.byteLength;
        requireAllowance();
        controller.enqueue(value);
      },
      cancel: (reason) => (reader ?? body).cancel(reason),
    },
    // Nothing is read ahead.
    { highWaterMark: 0 },
  );
}
