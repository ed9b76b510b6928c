// Runs in the browser: reads a request from its form, sends it, and returns it as a command.
import { credentialsOf, sendWithNonce } from './token.js';

/**
 * `provedUrl` is the URL in the proof: that of the API, which may differ from that of this page.
 * @typedef {{ method: string, url: string, provedUrl: string, body: string | null, token: import('./token.js').Token |
 * undefined }} Message
 */

/**
 * The API is where this page is. @type {(form: HTMLFormElement, token: Message['token'], publicUrl?: string) =>
 * Message}
 */
export function readRequest(form, token, publicUrl) {
  const { method = '', path: template = '', isProtected } = form.dataset;
  const fields = new FormData(form);
  const path = template.replace(/\{(.*?)\}/g, (_, name) => encodeURIComponent(String(fields.get(`path ${name}`))));
  const url = new URL(`.${path}`, location.href);
  for (const [name, value] of fields)
    if (name.startsWith('query ') && value !== '') url.searchParams.append(name.slice('query '.length), String(value));
  return {
    method,
    url: url.href,
    provedUrl: publicUrl === undefined ? url.href : publicUrl + path,
    token: isProtected === undefined ? undefined : token,
    body: fields.has('body') ? String(fields.get('body')) : null,
  };
}

/**
 * Returns the headers of a request, each time with a new proof. @type {(message: Message) => Promise<Record<string,
 * string>>}
 */
export const headersOf = async ({ method, provedUrl, token, body }) => ({
  ...(token && (await credentialsOf(token, method, provedUrl))),
  ...(body !== null && { 'Content-Type': 'application/json' }),
});

/** @type {(message: Message) => ReturnType<typeof sendWithNonce>} */
export const send = (message) =>
  sendWithNonce(message.url, { method: message.method, body: message.body }, () => headersOf(message));

/**
 * Returns the request as a command for a POSIX shell. @type {(message: Message, headers: Record<string, string>) =>
 * string}
 */
export const toCommand = ({ method, url, body }, headers) =>
  [
    `curl -i${method === 'GET' ? '' : ` -X ${method}`} ${quoteArgument(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoteArgument(`${name}: ${value}`)}`),
    ...(body === null ? [] : [`--data-raw ${quoteArgument(body)}`]),
  ].join(' \\\n  ');

/** @type {(text: string) => string} */
const quoteArgument = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
