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

/** The requests whose body is limited, and whether it was found to be too large. */
const limits = new WeakMap<Request, { isExceeded: boolean }>();

/** Whether the body is over 64 KiB, by its Content-Length or by what was read of it. */
export function isTooLarge(request: Request): boolean {
  return limits.get(request)?.isExceeded === true;
}

/**
 * Returns the request with a body that cannot be read beyond 64 KiB, and not at all if its Content-Length is larger. Nothing is
 * read before somebody asks for it, so that a request without a valid token is rejected first.
 */
export function withLimitedBody(request: Request): Request {
  if (isBodiless(request.method)) return request;
  const { headers, body } = request;
  if (body === null) return request;
  // Two equal headers arrive as `2, 2`, which is no number: such a body is counted, as one without a length.
  const declared = Number(headers.get('content-length') ?? Number.NaN);
  if (declared <= maxBodyBytes) return request;
  const state = { isExceeded: declared > maxBodyBytes };
  const onExceeded = () => {
    state.isExceeded = true;
  };
  const limited = new Request(request, { body: limit(body, state.isExceeded ? 0 : maxBodyBytes, onExceeded) });
  limits.set(limited, state);
  return limited;
}

/** Returns whether a body of unknown length is over 64 KiB. Reads it. */
export async function exceedsLimit(request: Request): Promise<boolean> {
  if (!limits.has(request)) return false;
  try {
    for await (const _ of request.body ?? []);
  } catch {
    // It is too large, or the connection was lost.
  }
  return isTooLarge(request);
}

/** Returns a stream of the same bytes that fails after `maxBytes`. */
function limit(body: ReadableStream<Uint8Array>, maxBytes: number, onExceeded: () => void): ReadableStream<Uint8Array> {
  const startReading = () => body.getReader();
  let reader: ReturnType<typeof startReading> | undefined;
  let remaining = maxBytes;
  const exceed = (): never => {
    onExceeded();
    throw new RangeError('Request body is too large');
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (maxBytes === 0) exceed();
        reader ??= startReading();
        const { done, value } = await reader.read();
        if (done) return controller.close();
        remaining -= value.byteLength;
        if (remaining < 0) exceed();
        controller.enqueue(value);
      },
      cancel: (reason) => (reader ?? body).cancel(reason),
    },
    // Nothing is read ahead.
    { highWaterMark: 0 },
  );
}

/** Bun skips the body of GET and HEAD, and never delivers one of CONNECT (https://github.com/oven-sh/bun/issues/43552). */
function isBodiless(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'CONNECT';
}
