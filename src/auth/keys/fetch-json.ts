import type { Fetch, FetchFailure, FetchFault } from '../types.ts';
import { promised } from '../values/promises.ts';
import { isLoopbackHost, printableUrl } from '../values/url.ts';

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
    const fault = { failure, address, cause, status, found };
    super(`Cannot use a document of the issuer: ${describeFault(fault)}`);
    this.fault = fault;
  }
}

type Clause = (fault: FetchFault) => string;

const clauses: Readonly<Record<FetchFailure, Clause>> = {
  timeout: () => 'did not respond within the time limit',
  network: ({ cause }) => `cannot be reached${cause === undefined ? '' : `: ${cause}`}`,
  redirect: ({ status }) => `redirects (status ${status}), and redirects are not followed`,
  status: ({ status }) => `returned the status ${status}`,
  encoded: () => 'returned a compressed response',
  too_large: () => 'returned more than 1 MiB',
  malformed: () => 'returned no valid key set or metadata',
  issuer_mismatch: ({ found }) => (found === undefined ? 'names no issuer' : `names the issuer ${found}`),
  insecure_address: ({ found }) => `names a key set URL that is not secure: ${found}`,
  no_usable_key: ({ found }) => `has no usable key, only ${found}`,
};

/** Returns a clause that says what is wrong with an issuer's document: `https://… returned the status 404`. */
export const describeFault = (fault: FetchFault): string =>
  `${fault.address ?? 'the key set'} ${clauses[fault.failure](fault)}`;

/** Returns the fault of an error that a fetch has thrown. */
export const faultOf = (error: unknown): FetchFault =>
  (error instanceof FetchError ? error : new FetchError('network')).fault;

/** Key sets and metadata are a few kilobytes; a larger response is a mistake or an attack. */
const maxDocumentBytes = 1024 * 1024;

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
  const requested = fetch(url, {
    // A redirect could lead to a host that the operator did not configure.
    redirect: 'manual',
    signal,
    headers: { accept: 'application/json', 'accept-encoding': 'identity' },
    // Bun only. Bun would decompress the body before its bytes can be counted.
    ...{ decompress: false },
    // Bun only. NODE_TLS_REJECT_UNAUTHORIZED=0 switches off the verification of certificates, without a warning as in Node.js.
    ...{ tls: { rejectUnauthorized: true } },
    // Bun only. A proxy named in the environment cannot reach the loopback interface of this machine.
    ...(isLoopbackHost(new URL(url).hostname) && { proxy: false }),
  });
  const response = (await promised(requested)) as Response;
  const rejection = rejectionOf(response, url);
  if (rejection) {
    await response.body?.cancel();
    throw rejection;
  }
  const text = await readText(response, url, signal);
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

async function readText({ body }: Response, url: string, signal: AbortSignal): Promise<string> {
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
      throw new FetchError('too_large', url);
    }
    text += decoder.decode(part.value, { stream: true });
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
