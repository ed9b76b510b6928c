import type { Fetch, FetchFault } from '../../types.ts';
import { printable } from '../../values/ascii.ts';
import { promised } from '../../values/promises.ts';
import { FetchError } from './fault.ts';
import { proxyOf } from './proxy.ts';
import { createRequest, type DocumentKind } from './request.ts';

/** Key sets and metadata are a few kilobytes; a larger response is a mistake or an attack. */
const maxDocumentBytes = 1024 * 1024;

/**
 * Returns the JSON at `url`. The response must have the status 200, at most 1 MiB, and no compression.
 * @throws {FetchError} for any other response or none, and once `signal` is aborted, even if `fetch` ignores that
 */
export async function fetchJson(fetch: Fetch, url: string, kind: DocumentKind, signal: AbortSignal): Promise<unknown> {
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(new FetchError('timeout'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([aborted, readJson(fetch, url, kind, signal)]);
  } catch (error) {
    const { failure, ...details } = error instanceof FetchError ? error.fault : noResponse(error);
    // A `fetch` of the application goes where it likes.
    const proxy = fetch === globalThis.fetch ? proxyOf(url) : undefined;
    throw new FetchError(failure, { ...details, url, proxy });
  }
}

async function readJson(fetch: Fetch, url: string, kind: DocumentKind, signal: AbortSignal): Promise<unknown> {
  const { init, end } = createRequest(url, kind, signal);
  try {
    const response = (await promised(fetch(url, init))) as Response;
    const rejection = rejectionOf(response);
    if (rejection) {
      await response.body?.cancel();
      throw rejection;
    }
    return parse(await readText(response, signal));
  } finally {
    end();
  }
}

function rejectionOf({ status, headers }: Response): FetchError | undefined {
  if (status >= 300 && status < 400 && status !== 304) return new FetchError('redirect', { status });
  if (status !== 200) return new FetchError('status', { status });
  const encoding = headers.get('content-encoding') ?? '';
  return /^(identity)?$/i.test(encoding) ? undefined : new FetchError('encoded', { found: printable(encoding, 64) });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FetchError('malformed', { found: text.trimStart().startsWith('<') ? 'a page' : 'no JSON' });
  }
}

async function readText({ body }: Response, signal: AbortSignal): Promise<string> {
  const reader = body?.getReader();
  // A `fetch` of the application may ignore the signal, and its body never end.
  const cancel = () => void reader?.cancel().catch(() => {});
  signal.addEventListener('abort', cancel, { once: true });
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    bytes += part.value.byteLength;
    if (bytes > maxDocumentBytes) {
      cancel();
      throw new FetchError('too_large');
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

/** Some runtimes give the reason for a missing response only as text, and some as a code that says less. */
const words: readonly (readonly [words: RegExp, cause: string])[] = [
  [/^Proxy response |unsuccessful tunnel/, 'ERR_PROXY_TUNNEL'],
  [/dns error/, 'ENOTFOUND'],
  [/Connection refused/, 'ECONNREFUSED'],
  [/Connection reset/, 'ECONNRESET'],
];

/**
 * Returns why `fetch` had no response: the code of the error in Bun, of its cause in Node.js, or what corresponds in
 * Deno, whose word for a certificate is such as `UnknownIssuer`. The text of an error is never returned.
 */
function noResponse(error: unknown): Pick<FetchFault, 'failure' | 'cause'> {
  for (let each = error, depth = 0; each instanceof Error && depth < 4; each = each.cause, depth += 1) {
    const { message, name } = each;
    const code: unknown = 'code' in each ? each.code : undefined;
    const known = name === 'NotCapable' ? 'ERR_ACCESS_DENIED' : words.find(([text]) => text.test(message))?.[1];
    if (known !== undefined) return { failure: 'network', cause: known };
    if (typeof code === 'string' && /^[A-Z]\w{1,63}$/.test(code)) return { failure: 'network', cause: code };
    const certificate = /invalid peer certificate: (\w{1,64})/.exec(message)?.[1];
    if (certificate !== undefined) return { failure: 'network', cause: certificate };
  }
  return { failure: 'network', cause: undefined };
}
