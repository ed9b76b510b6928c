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
