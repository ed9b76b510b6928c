// Bun has a part of undici in the place of the package, unless a file of the package is named.
import { Agent, EnvHttpProxyAgent } from 'undici/index.js';
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
}
/** A response whose body is as long as was allowed, or shorter. */
export interface Raw {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}
/** Sends a request and reads at most so much of the response. Rejects if there is none. */
export type Transmit = (sent: Sent, signal: AbortSignal, maxLength: number) => Promise<Raw>;

export const responseTimeoutMs = 10_000;
/** How long a body may take after the head of the response: a stream of events goes on and on. */
export const bodyTimeoutMs = 2_000;
export const tooLate = `no response within ${responseTimeoutMs / 1000} seconds`;

/** Sends a request by undici, which follows no redirect, decompresses nothing and sends a header twice if asked to. */
export const overNetwork: Transmit = async ({ method, url, headers, body }, signal, maxLength) => {
  const { origin, hostname } = new URL(url);
  const [, path = ''] = /^https?:\/\/[^/?#]*([^#]*)/.exec(url) ?? [];
  const agent = new (isLoopbackHost(hostname) ? Agent : EnvHttpProxyAgent)({ proxyTunnel: false });
  const late = new AbortController();
  let timer = setTimeout(() => late.abort(new Error(tooLate)), responseTimeoutMs);
  try {
    const response = await agent.request({
      ...{ origin, path: path.startsWith('/') ? path : `/${path}`, method: method as 'GET', headers: headers.flat() },
      ...{ body: body ?? null, signal: AbortSignal.any([signal, late.signal]), reset: true },
    });
    clearTimeout(timer);
    timer = setTimeout(() => response.body.destroy(), bodyTimeoutMs);
    const text = await beginningOf(response.body.setEncoding('utf8'), maxLength);
    return { status: response.statusCode, headers: headersFrom(response.headers), text };
  } finally {
    clearTimeout(timer);
    await agent.destroy();
  }
};

/** Reads so much of a body. What comes before it is broken off counts. */
async function beginningOf(body: AsyncIterable<string>, maxLength: number): Promise<string> {
  let text = '';
  try {
    for await (const chunk of body) {
      text += chunk;
      if (text.length > maxLength) break;
    }
  } catch {}
  return text;
}

function headersFrom(received: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(received))
    for (const value of [values ?? []].flat()) headers.append(name, value);
  return headers;
}
