import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
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
  /** The response in one line, or why there is none. */
  readonly words: string;
}
export type Handler = (request: Request) => Response | Promise<Response>;

interface SenderOptions {
  readonly fetch?: Handler | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly onReceived?: ((sent: Sent, received: Received) => void) | undefined;
}

const responseTimeoutMs = 10_000;
const maxResponseLength = 65_536;
/** What a host that is not this machine gets at most: requests in all, time between two, server errors. */
const careful = { requests: 500, intervalMs: 100, failures: 5 };
/** The longest time that an API may ask for before the run ends. */
const maxWaitSeconds = 30;

export type Sender = ReturnType<typeof createSender>;

/** Returns a function that sends one request after the other, until `stopped()` says why it does so no longer. */
export function createSender({ fetch, headers = {}, onReceived }: SenderOptions = {}) {
  let [count, nextAt, stopped] = [0, 0, undefined as string | undefined];
  /** How many responses were server errors, and how many of the last ones nothing or a limit. */
  const failures = { errors: 0, silent: 0, limited: 0 };
  const ended = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: ended.signal }).catch(() => {});
  const isOther = (url: string) => fetch === undefined && !isLoopbackHost(new URL(url).hostname);

  function countFailure(url: string, status: number): void {
    if (status === 0 || status >= 500) failures.errors += 1;
    failures.silent = status === 0 ? failures.silent + 1 : 0;
    failures.limited = status === 429 ? failures.limited + 1 : 0;
    const max = careful.failures;
    if (isOther(url) && failures.errors >= max) stopped ??= `${max} server errors: the API may be in trouble`;
    if (failures.silent >= max) stopped ??= `${max} requests without a response`;
    if (failures.limited >= max) stopped ??= 'The API limits requests (429)';
  }

  async function sendOnce(sent: Sent): Promise<Received> {
    if (isOther(sent.url) && count >= careful.requests)
      stopped ??= `${careful.requests} requests were sent: name fewer targets or rows`;
    if (stopped !== undefined) return nothing(stopped);
    if (isOther(sent.url)) {
      if (nextAt > performance.now()) await pause(nextAt - performance.now());
      nextAt = performance.now() + careful.intervalMs;
    }
    count += 1;
    const all = [['User-Agent', `protected-api-probe (row ${sent.id})`], ...Object.entries(headers), ...sent.headers];
    const isTyped = sent.body === undefined || all.some(([name]) => name?.toLowerCase() === 'content-type');
    const type = /^\s*[{[]/.test(sent.body ?? '') ? 'application/json' : 'application/x-www-form-urlencoded';
    const whole = { ...sent, headers: [...all, ...(isTyped ? [] : [['Content-Type', type]])] as Sent['headers'] };
    const received = await (fetch ? intoFunction(fetch, whole) : overNetwork(whole, ended.signal)).catch(
      (error: unknown) =>
        nothing(`no response: ${error instanceof Error ? printable(error.message || error.name) : 'an error'}`),
    );
    onReceived?.(sent, received);
    countFailure(sent.url, received.status);
    return received;
  }

  return {
    stopped: () => stopped,
    /** Ends what is under way, too. */
    stop(reason: string) {
      stopped ??= reason;
      ended.abort();
    },
    async send(sent: Sent): Promise<Received> {
      const received = await sendOnce(sent);
      const { status } = received;
      const seconds = secondsIn(received.headers.get('retry-after'));
      if (Number.isNaN(seconds) || !(status === 429 || (status === 503 && isOther(sent.url)))) return received;
      if (seconds > maxWaitSeconds) {
        stopped ??= `The API asks to wait for ${Math.ceil(seconds)} seconds`;
        return received;
      }
      await pause(seconds * 1000);
      return sendOnce(sent);
    },
  };
}

/** Returns the seconds of a Retry-After header, which may have a date (RFC 9110 §10.2.3). */
function secondsIn(value: string | null): number {
  return /^\d+$/.test(value ?? '') ? Number(value) : Math.max(0, (Date.parse(value ?? '') - Date.now()) / 1000);
}

const nothing = (words: string): Received => ({ status: 0, headers: new Headers(), text: '', words });

function receivedOf(status: number, headers: Headers, text: string): Received {
  const challenges = challengesIn(headers.get('www-authenticate')) ?? [];
  // An error code helps; anything else could be a secret.
  const named = challenges.map(({ scheme, parameters }) => {
    const error = parameters.find(([name, value]) => name === 'error' && /^\w{1,50}$/.test(value))?.[1];
    return error === undefined ? scheme : `${scheme} error="${error}"`;
  });
  return { status, headers, text, words: printable([status, named.join(', ')].join(' ').trim()) };
}

async function intoFunction(fetch: Handler, { method, url, headers, body }: Sent): Promise<Received> {
  const given = new Headers();
  // A value that no header can have is not sent.
  for (const [name, value] of headers) given.append(name, value);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error(tooLate)), responseTimeoutMs);
  });
  const receive = async () => {
    const response = await fetch(new Request(url, { method, headers: given, body: body ?? null }));
    return receivedOf(response.status, response.headers, (await response.text()).slice(0, maxResponseLength));
  };
  return Promise.race([receive(), late]).finally(() => clearTimeout(timer));
}
const tooLate = `no response within ${responseTimeoutMs / 1000} seconds`;

/** Sends a request by node:http, which follows no redirect, decompresses nothing and sends a header twice if asked to. */
async function overNetwork({ method, url, headers, body }: Sent, signal: AbortSignal): Promise<Received> {
  const { protocol, host, hostname, port } = new URL(url);
  const [, path = ''] = /^https?:\/\/[^/?#]*([^#]*)/.exec(url) ?? [];
  const isSecure = protocol === 'https:';
  const proxy = isLoopbackHost(hostname) ? undefined : proxyOf(isSecure, hostname);
  const socket = isSecure && proxy ? await tunnel(proxy, `${hostname}:${port || 443}`, hostname) : undefined;
  const length = body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))];
  const options = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port || (isSecure ? 443 : 80),
    path: path.startsWith('/') ? path : `/${path}`,
    ...(proxy && !isSecure && { host: proxy.hostname, port: proxy.port || 80, path: url }),
    // With an agent, Node.js would ignore createConnection.
    ...(socket ? { createConnection: () => socket } : { agent: false }),
    ...{ method, signal, headers: ['Host', host, ...headers.flat(), ...length] },
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
    const timer = setTimeout(() => request.destroy(new Error(tooLate)), responseTimeoutMs);
    request.on('error', fail).on('close', () => {
      clearTimeout(timer);
      socket?.destroy();
    });
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
  const isExcepted = without.some((name) => name !== '' && (name === '*' || `.${hostname}`.endsWith(`.${name}`)));
  return value && !isExcepted ? new URL(value) : undefined;
}

/** Opens a TLS connection through a proxy (RFC 9110 §9.3.6). */
function tunnel({ hostname, port, username, password }: URL, authority: string, servername: string) {
  const user = btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  const headers = username ? { 'proxy-authorization': `Basic ${user}` } : {};
  const options = {
    host: hostname,
    port: port || 80,
    method: 'CONNECT',
    path: authority,
    headers,
    timeout: responseTimeoutMs,
  };
  return new Promise<ReturnType<typeof connectTls>>((done, fail) => {
    const request = httpRequest(options);
    request.on('error', fail).on('timeout', () => request.destroy(new Error(tooLate)));
    request.on('connect', (response, socket) => {
      if (response.statusCode !== 200) return fail(new Error(`The proxy responded with ${response.statusCode}`));
      const secure = connectTls({ socket, servername }, () => done(secure)).on('error', fail);
    });
    request.end();
  });
}
