/** Why a document of the issuer cannot be used; never the text of an exception or of the issuer's answer. */
export type FetchFailure =
  | 'timeout'
  | 'network'
  | 'redirect'
  | 'status'
  | 'encoded'
  | 'too_large'
  | 'malformed'
  | 'issuer_mismatch'
  | 'insecure_address'
  | 'no_usable_key';

/** Thrown when a document cannot be fetched, or is not what it should be. */
export class FetchError extends Error {
  /**
   * @param failure kind of failure, for log and metric
   * @param detail `status`: the HTTP status; `found`: the issuer that the metadata name instead of the configured one
   */
  constructor(
    readonly failure: FetchFailure,
    readonly detail: { readonly status?: number; readonly found?: string } = {},
  ) {
    super(`Cannot fetch the key set: ${failure}`);
  }
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Key sets and metadata are a few kilobytes; a larger answer is a mistake or an attack. */
const maxBodyBytes = 1024 * 1024;

/**
 * Returns the JSON at `url`: an answer with status 200, not redirected, not compressed, of at most 1 MiB.
 * @throws {FetchError} anything else; what `fetch` throws is passed on
 */
export async function fetchJson(fetch: Fetch, url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, {
    // A redirect could lead to a host the operator never named.
    redirect: 'manual',
    signal,
    headers: { accept: 'application/json', 'accept-encoding': 'identity' },
    // Bun only. A runtime that decompresses does so before the bytes can be counted.
    ...{ decompress: false },
    // Bun only. A proxy that the environment names does not reach this machine's loopback.
    ...(isLoopbackHost(new URL(url).hostname) && { proxy: false }),
  });
  const refusal = refuseAnswer(response);
  if (refusal) {
    await response.body?.cancel();
    throw refusal;
  }
  try {
    return JSON.parse(await readText(response));
  } catch (error) {
    throw error instanceof SyntaxError ? new FetchError('malformed') : error;
  }
}

/** Whether a host name, as a parsed address has it, is this machine's own. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

function refuseAnswer({ status, headers }: Response): FetchError | undefined {
  if (status >= 300 && status < 400) return new FetchError('redirect', { status });
  if (status !== 200) return new FetchError('status', { status });
  return (headers.get('content-encoding') ?? 'identity') === 'identity' ? undefined : new FetchError('encoded');
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) throw new FetchError('too_large');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
