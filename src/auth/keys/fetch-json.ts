import { isLoopbackHost, printableUrl } from './url.ts';

/** Why an issuer's document cannot be used: a word from a fixed list, for metrics. */
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

/** The details of a failed fetch. Text that an issuer chose is shortened and escaped. */
export interface FetchFault {
  readonly failure: FetchFailure;
  /** The URL that was fetched, without credentials, query and fragment. */
  readonly address: string | undefined;
  /** Why there was no response: a code such as `ENOTFOUND` or `SELF_SIGNED_CERT_IN_CHAIN`. Only for the failure `network`. */
  readonly cause: string | undefined;
  /** The HTTP status, for the failures `status` and `redirect`. */
  readonly status: number | undefined;
  /**
   * What the issuer or its metadata name instead: an issuer, for `issuer_mismatch`; the URL of a key set, for `insecure_address`;
   * the algorithms of the keys, or their types, for `no_usable_key`, and whether this runtime does not support one.
   */
  readonly found: string | undefined;
}

/** Thrown if a document cannot be fetched or is not valid. */
export class FetchError extends Error {
  readonly fault: FetchFault;

  /** @param url that was fetched */
  constructor(
    failure: FetchFailure,
    url?: string,
    { cause, status, found }: Partial<Pick<FetchFault, 'cause' | 'status' | 'found'>> = {},
  ) {
    const address = url && printableUrl(url);
    super(`Cannot fetch ${address ?? 'the key set'}: ${[failure, status, cause].filter(Boolean).join(', ')}`);
    this.fault = { failure, address, cause, status, found };
  }
}

/** Returns the fault of an error that a fetch has thrown. */
export const faultOf = (error: unknown): FetchFault =>
  (error instanceof FetchError ? error : new FetchError('network')).fault;

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Key sets and metadata are a few kilobytes; a larger response is a mistake or an attack. */
const maxBodyBytes = 1024 * 1024;

/**
 * Returns the JSON at `url`. The response must have the status 200, must not be redirected or compressed, and is limited to
 * 1 MiB.
 * @throws {FetchError} for any other response, for no response, and once `signal` is aborted, even if `fetch` ignores the signal
 */
export async function fetchJson(fetch: Fetch, url: string, signal: AbortSignal): Promise<unknown> {
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(new FetchError('timeout', url));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([aborted, readJson(fetch, url, signal)]);
  } catch (error) {
    throw error instanceof FetchError ? error : new FetchError('network', url, { cause: causeOf(error) });
  }
}

async function readJson(fetch: Fetch, url: string, signal: AbortSignal): Promise<unknown> {
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
  const rejection = rejectionOf(response, url);
  if (rejection) {
    await response.body?.cancel();
    throw rejection;
  }
  const text = await readText(response, url);
  try {
    return JSON.parse(text);
  } catch {
    throw new FetchError('malformed', url);
  }
}

function rejectionOf({ status, headers }: Response, url: string): FetchError | undefined {
  if (status >= 300 && status < 400) return new FetchError('redirect', url, { status });
  if (status !== 200) return new FetchError('status', url, { status });
  const isPlain = /^(identity)?$/i.test(headers.get('content-encoding') ?? '');
  return isPlain ? undefined : new FetchError('encoded', url);
}

async function readText(response: Response, url: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) throw new FetchError('too_large', url);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Deno gives the reason for a missing response only as text. */
const wordsOfDeno: readonly (readonly [words: RegExp, cause: string])[] = [
  [/dns error/, 'ENOTFOUND'],
  [/Connection refused/, 'ECONNREFUSED'],
  [/Connection reset/, 'ECONNRESET'],
];

/**
 * Returns why `fetch` had no response: the code that Bun gives to the error, and Node to its cause, or the corresponding code
 * for Deno. For a certificate, Deno gives a word such as `UnknownIssuer`. The text of an error is never returned.
 */
function causeOf(error: unknown): string | undefined {
  for (let each = error, depth = 0; each instanceof Error && depth < 4; each = each.cause, depth += 1) {
    const { message } = each;
    const code: unknown = 'code' in each ? each.code : undefined;
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return code;
    const known = wordsOfDeno.find(([words]) => words.test(message));
    const cause = known?.[1] ?? /invalid peer certificate: (\w{1,64})/.exec(message)?.[1];
    if (cause !== undefined) return cause;
  }
  return undefined;
}
