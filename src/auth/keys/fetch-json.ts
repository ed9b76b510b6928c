/** Why a document of the issuer cannot be used. It never contains text of an exception or of the issuer's response. */
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

/** Thrown if a document cannot be fetched or is not valid. */
export class FetchError extends Error {
  /**
   * @param failure kind of failure, for logs and metrics
   * @param detail `status`: the HTTP status; `found`: the issuer that the metadata names instead of the configured one
   */
  constructor(
    readonly failure: FetchFailure,
    readonly detail: { readonly status?: number; readonly found?: string } = {},
  ) {
    super(`Cannot fetch the key set: ${failure}`);
  }
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Key sets and metadata are a few kilobytes; a larger response is a mistake or an attack. */
const maxBodyBytes = 1024 * 1024;

/**
 * Returns the JSON at `url`. The response must have the status 200, must not be redirected or compressed, and is limited to
 * 1 MiB.
 * @throws {FetchError} for any other response; errors of `fetch` are passed on
 */
export async function fetchJson(fetch: Fetch, url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, {
    // A redirect could lead to a host that the operator did not configure.
    redirect: 'manual',
    signal,
    headers: { accept: 'application/json', 'accept-encoding': 'identity' },
    // Bun only. Bun would decompress the body before its bytes can be counted.
    ...{ decompress: false },
    // Bun only. A proxy named in the environment cannot reach the loopback interface of this machine.
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

/** Whether a host name, as `URL` normalizes it, is a loopback host. */
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
