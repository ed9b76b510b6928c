import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { isLoopbackHost } from '../../values/url.ts';

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

/** Sends a request by node:http, which follows no redirect, decompresses nothing and sends a header twice if asked to. */
export const overNetwork: Transmit = async ({ method, url, headers, body }, signal, maxLength) => {
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
        const end = () => done({ status: response.statusCode ?? 0, headers: headersFrom(response.rawHeaders), text });
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          if (text.length > maxLength) response.destroy();
        });
        response.on('close', end).on('error', end);
        clearTimeout(timer);
        timer = setTimeout(() => response.destroy(), bodyTimeoutMs);
      },
    );
    let timer = setTimeout(() => request.destroy(new Error(tooLate)), responseTimeoutMs);
    request.on('error', fail).on('close', () => {
      clearTimeout(timer);
      socket?.destroy();
    });
    request.end(body);
  });
};

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
