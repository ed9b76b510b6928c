// Bun has a part of undici in the place of the package, unless a file of the package is named.
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici/index.js';
import { isLoopbackHost } from '../values/url.ts';

// Here one request goes over the network, through a proxy if the environment names one.

/** A request as it is sent. Headers are a list, so that one can be there twice. */
export interface Sent {
  /** The row that sends it. */
  readonly id: string;
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: string | undefined;
  /** How long the body of the response may take. Defaults to two seconds. */
  readonly bodyMs?: number | undefined;
  /** Whether it repeats a request, to learn why that one got no response. */
  readonly isRepeat?: boolean | undefined;
}
/** A response whose body is as long as was allowed, or shorter. */
export interface Raw {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Whether the body has ended by itself. */
  readonly isEnded?: boolean;
}
/** Sends a request and reads at most so much of the response. Rejects if there is none. */
export type Transmit = (sent: Sent, signal: AbortSignal, maxLength: number) => Promise<Raw>;

export const responseTimeoutMs = 10_000;
/** How long a body may take after the head of the response: a stream of events goes on and on. */
export const bodyTimeoutMs = 2_000;
export const tooLate = `no response within ${responseTimeoutMs / 1000} seconds`;

/** Sends a request by undici, which follows no redirect, decompresses nothing and sends a header twice if asked to. */
export const overNetwork: Transmit = async (sent, signal, maxLength) => {
  const agent = new (isLoopbackHost(new URL(sent.url).hostname) ? Agent : EnvHttpProxyAgent)({ proxyTunnel: false });
  try {
    return await new Promise((done, fail) => {
      if (signal.aborted) return fail(signal.reason);
      agent.dispatch(optionsOf(sent), receiving(done, fail, signal, { maxLength, ...sent }));
    });
  } finally {
    await agent.destroy();
  }
};

function optionsOf({ method, url, headers, body }: Sent): Dispatcher.DispatchOptions {
  const [, path = ''] = /^https?:\/\/[^/?#]*([^#]*)/.exec(url) ?? [];
  const upgrade = headers.find(([name]) => name === 'Upgrade')?.[1];
  // It writes both headers of an upgrade by itself.
  const others = headers.filter(([name]) => upgrade === undefined || !/^(?:Connection|Upgrade)$/.test(name));
  return {
    ...{ origin: new URL(url).origin, path: path.startsWith('/') ? path : `/${path}`, method: method as 'GET' },
    ...{ headers: others.flat(), body: body ?? null, upgrade: upgrade ?? null, reset: upgrade === undefined },
  };
}

/** Returns what reads a response: its head in time, and the beginning of its body. */
function receiving(
  done: (response: Raw) => void,
  fail: (why: unknown) => void,
  signal: AbortSignal,
  { maxLength, bodyMs = bodyTimeoutMs }: { readonly maxLength: number } & Pick<Sent, 'bodyMs'>,
): Dispatcher.DispatchHandler {
  const decoder = new TextDecoder();
  let [text, status] = ['', 0];
  let headers = new Headers();
  // Until there is a connection, there is nothing to abort: undici may ask a proxy again and again.
  let abort = (why: Error) => settle(why);
  const end = () => abort(new Error(tooLate));
  const deadline = createDeadline(end, signal);
  const settle = (why?: unknown, isEnded = false) => {
    deadline.clear();
    if (status > 0) done({ status, headers, text, isEnded });
    else fail(why);
  };
  return {
    onRequestStart(controller) {
      abort = (why) => controller.abort(why);
    },
    onRequestUpgrade(_, received, given, socket) {
      socket.destroy();
      [status, headers] = [received, headersFrom(given)];
      settle();
    },
    onResponseStart(_, received, given) {
      // Others may follow one that is informational (RFC 9110 §15.2).
      if (received < 200) return;
      [status, headers] = [received, headersFrom(given)];
      deadline.set(bodyMs);
    },
    onResponseData(_, chunk) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > maxLength) end();
    },
    onResponseEnd: () => settle(undefined, true),
    onResponseError: (_, why) => settle(why),
  };
}

/** Calls `end` when a response takes too long, or the run ends. */
function createDeadline(end: () => void, signal: AbortSignal) {
  let timer = setTimeout(end, responseTimeoutMs);
  signal.addEventListener('abort', end);
  return {
    set(ms: number) {
      clearTimeout(timer);
      timer = setTimeout(end, ms);
    },
    clear() {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    },
  };
}

function headersFrom(received: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(received))
    for (const value of [values ?? []].flat()) headers.append(name, value);
  return headers;
}
