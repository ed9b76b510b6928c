import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { isLoopbackHost, printable } from '../values/url.ts';
import { challengesIn } from './challenges.ts';

// Here requests are sent: into a function or over the network, and then with care for the servers of others.

/** A request as it is sent. Headers are a list, so that one can be there twice. */
export interface Sent {
  /** The row that sends it. */
  readonly id: string;
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: string | undefined;
}
/** What came back; the status is 0 if nothing did. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly words: string;
}
export type Handler = (request: Request) => Response | Promise<Response>;

interface SenderOptions {
  readonly fetch?: Handler | undefined;
  readonly headers?: readonly (readonly [string, string])[] | undefined;
  readonly onReceived?: ((sent: Sent, received: Received) => void) | undefined;
}

const responseTimeoutMs = 10_000;
const maxResponseLength = 65_536;
/** What a host that is not this machine gets at most: requests in all, time between two, server errors. */
const careful = { requests: 500, intervalMs: 100, failures: 5 };
/** The longest time that an API may ask for before the run ends. */
const maxWaitSeconds = 30;
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

export type Sender = ReturnType<typeof createSender>;

/** Returns a function that sends one request after the other, until `stopped()` says why it does so no longer. */
export function createSender({ fetch, headers = [], onReceived }: SenderOptions) {
  let [count, nextAt, failures, limited, stopped] = [0, 0, 0, 0, undefined as string | undefined];

  async function sendOnce(sent: Sent): Promise<Received> {
    const isCareful = fetch === undefined && !isLoopbackHost(new URL(sent.url).hostname);
    if (isCareful && count >= careful.requests)
      stopped = `${careful.requests} requests were sent: name fewer targets or rows`;
    if (stopped !== undefined) return nothing(stopped);
    if (isCareful) {
      if (nextAt > performance.now()) await pause(nextAt - performance.now());
      nextAt = performance.now() + careful.intervalMs;
    }
    count += 1;
    const agent = ['User-Agent', `protected-api-probe (row ${sent.id})`] as const;
    const whole = { ...sent, headers: [agent, ...headers, ...sent.headers] };
    const received = await (fetch ? intoFunction(fetch, whole) : overNetwork(whole)).catch((error: unknown) =>
      nothing(`no response: ${error instanceof Error ? printable(error.message || error.name) : 'an error'}`),
    );
    onReceived?.(sent, received);
    failures = received.status >= 500 || received.status === 0 ? failures + 1 : failures;
    limited = received.status === 429 ? limited + 1 : 0;
    if (isCareful && failures >= careful.failures)
      stopped = `${careful.failures} server errors: the API may be in trouble`;
    if (limited >= careful.failures) stopped = 'The API limits requests (429)';
    return received;
  }

  return {
    count: () => count,
    stopped: () => stopped,
    stop(reason: string) {
      stopped ??= reason;
    },
    async send(sent: Sent): Promise<Received> {
      const received = await sendOnce(sent);
      const seconds = Number(received.headers.get('retry-after') ?? Number.NaN);
      const mayWait =
        received.status === 429 ||
        (received.status === 503 && fetch === undefined && !isLoopbackHost(new URL(sent.url).hostname));
      if (!mayWait || Number.isNaN(seconds)) return received;
      if (seconds > maxWaitSeconds) {
        stopped ??= `The API asks to wait for ${seconds} seconds`;
        return received;
      }
      await pause(seconds * 1000);
      return sendOnce(sent);
    },
  };
}

const nothing = (words: string): Received => ({ status: 0, headers: new Headers(), text: '', words });

function receivedOf(status: number, headers: Headers, text: string): Received {
  const challenge = headers.get('www-authenticate');
  // The challenge's words help; anything else could be a secret.
  const named = challengesIn(challenge)?.flatMap(({ scheme, parameters }) => {
    const error = parameters.find(([name]) => name === 'error')?.[1];
    return [error === undefined ? scheme : `${scheme} error="${error}"`];
  });
  const words = `${status}${named && named.length > 0 ? ` ${printable(named.join(', '))}` : ''}`;
  return { status, headers, text, words };
}

async function intoFunction(fetch: Handler, { method, url, headers, body }: Sent): Promise<Received> {
  const given = new Headers();
  // A value that no header can have is not sent.
  for (const [name, value] of headers) given.append(name, value);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(
      () => fail(new Error(`no response within ${responseTimeoutMs / 1000} seconds`)),
      responseTimeoutMs,
    );
  });
  try {
    const response = await Promise.race([
      fetch(new Request(url, { method, headers: given, body: body ?? null })),
      late,
    ]);
    return receivedOf(response.status, response.headers, (await response.text()).slice(0, maxResponseLength));
  } finally {
    clearTimeout(timer);
  }
}

/** Sends a request by node:http, which follows no redirect, decompresses nothing and sends a header twice if asked to. */
export async function overNetwork({ method, url, headers, body }: Sent): Promise<Received> {
  const { protocol, host, hostname, port } = new URL(url);
  const [, path = ''] = /^https?:\/\/[^/?#]*([^#]*)/.exec(url) ?? [];
  const isSecure = protocol === 'https:';
  const proxy = isLoopbackHost(hostname) ? undefined : proxyOf(isSecure, hostname);
  const socket = isSecure && proxy ? await tunnel(proxy, `${hostname}:${port || 443}`, hostname) : undefined;
  const length =
    body === undefined
      ? []
      : ['Content-Type', 'application/x-www-form-urlencoded', 'Content-Length', String(Buffer.byteLength(body))];
  const target =
    proxy && !isSecure
      ? { host: proxy.hostname, port: proxy.port, path: url }
      : {
          host: hostname.replace(/^\[|\]$/g, ''),
          port: port || (isSecure ? 443 : 80),
          path: path.startsWith('/') ? path : `/${path}`,
        };
  const options = {
    ...target,
    method,
    agent: false,
    timeout: responseTimeoutMs,
    ...(socket && { createConnection: () => socket }),
    headers: ['Host', host, ...headers.flat(), ...length],
  };
  return new Promise((done, fail) => {
    const request = (isSecure && !socket ? httpsRequest : httpRequest)(
      options as never,
      (response: IncomingMessage) => {
        let text = '';
        const end = () => done(receivedOf(response.statusCode ?? 0, headersFrom(response.rawHeaders), text));
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          if (text.length > maxResponseLength) response.destroy();
        });
        response.on('close', end).on('error', end);
      },
    );
    request
      .on('error', fail)
      .on('timeout', () => request.destroy(new Error(`no response within ${responseTimeoutMs / 1000} seconds`)));
    request.end(body);
  });
}

function headersFrom(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at] ?? '', raw[at + 1] ?? '');
  return headers;
}

function proxyOf(isSecure: boolean, hostname: string): URL | undefined {
  const { env } = process;
  const value = isSecure ? (env.HTTPS_PROXY ?? env.https_proxy) : (env.HTTP_PROXY ?? env.http_proxy);
  const without = (env.NO_PROXY ?? env.no_proxy ?? '').split(',').map((name) => name.trim().replace(/^\*?\./, ''));
  const isExcepted = without.some(
    (name) => name === '*' || (name !== '' && (hostname === name || hostname.endsWith(`.${name}`))),
  );
  return value && !isExcepted ? new URL(value) : undefined;
}

function tunnel({ hostname, port, username, password }: URL, authority: string, servername: string) {
  const headers = username
    ? { 'proxy-authorization': `Basic ${btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)}` }
    : {};
  return new Promise<ReturnType<typeof connectTls>>((done, fail) => {
    const request = httpRequest({
      host: hostname,
      port: port || 80,
      method: 'CONNECT',
      path: authority,
      headers,
      timeout: responseTimeoutMs,
    });
    request.on('error', fail).on('connect', (response, socket) => {
      if (response.statusCode === 200) done(connectTls({ socket, servername }));
      else fail(new Error(`The proxy responded with ${response.statusCode}`));
    });
    request.end();
  });
}
