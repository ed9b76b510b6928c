import { type Rejected, rejectFor } from '../rejections.ts';
import type { GuardRequest } from '../types.ts';
import { sha256 } from '../values/base64url.ts';
import { ifPossible } from '../values/faults.ts';
import { isPlainObject } from '../values/json.ts';
import { ignoreRejection } from '../values/promises.ts';

/** Headers that clients set themselves: those of RFC 9110, of Fetch and of the standards that the guard reads. */
const clientHeaders =
  /^(?:(?:accept|access-control|cache|content|if|sec|max|upgrade)(?:-.+)?|authorization|cookie2?|date|dnt|dpop|expect|from|host|last-event-id|origin|pragma|priority|range|referer|user-agent|x-requested-with)$/i;

/** Whether only a proxy sets a header with this name. */
export const isCertificateHeader = (name: string) =>
  /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !isConnectionHeader(name) && !clientHeaders.test(name);

/** What a header returns that has something else than one certificate. It is no fault of the application. */
export const unreadable = Symbol('unreadable');

/**
 * Returns a function that reads the client's certificate from a header that a proxy sets: `Client-Cert` (RFC 9440
 * §2.2), base64 of DER, the URL-encoded PEM of nginx (`$ssl_client_escaped_cert`), or one element of Envoy's
 * `X-Forwarded-Client-Cert` with `Cert`. Anything but exactly one certificate is {@link unreadable}. Does NOT check who
 * set the header: the proxy must set or delete it in every request.
 * @param name a header for which {@link isCertificateHeader} is true
 */
export function clientCertificateFromHeader(
  name: string,
): (request: GuardRequest) => Uint8Array | typeof unreadable | undefined {
  return ({ headers }) => {
    const value = headers.get(name)?.trim() ?? '';
    if (value === '') return undefined;
    const [, bytes] = /^:([A-Za-z\d+/]+={0,2}):$/.exec(value) ?? [];
    if (bytes !== undefined) return readCertificate(decodeBase64(bytes)) ?? unreadable;
    const text = ifPossible(() => decodeURIComponent(certificateInElement(value) ?? value)) ?? '';
    const isBare = /^[A-Za-z\d+/]+={0,2}$/.test(text);
    return readCertificate(isBare ? decodeBase64(text) : text) ?? unreadable;
  };
}

/** One member of an element of `X-Forwarded-Client-Cert`. In quotes, a quote is escaped. */
const elementMember = String.raw`[A-Za-z]+=(?:"(?:[^"\\]|\\.)*"|[^",;]*)`;
const oneElement = new RegExp(`^${elementMember}(?:;${elementMember})*$`);

/** Returns the URL-encoded PEM of the one element in `X-Forwarded-Client-Cert`. Each proxy adds an element. */
function certificateInElement(value: string): string | undefined {
  if (!oneElement.test(value)) return undefined;
  const members = value.match(new RegExp(elementMember, 'g')) ?? [];
  const [certificate = '', ...others] = members.filter((member) => /^cert=/i.test(member));
  return others.length === 0 ? certificate.slice('cert='.length).replace(/^"(.*)"$/, '$1') : '';
}

/**
 * Returns why a request cannot use a token that is bound to a certificate (RFC 8705 §3), or undefined if it can.
 * @param thumbprint `cnf["x5t#S256"]` of the token
 */
export async function rejectCertificate(certificate: unknown, thumbprint: unknown): Promise<Rejected | undefined> {
  try {
    if (isNone(certificate)) return rejectFor('certificate_missing');
    const actual = await certificateThumbprint(certificate);
    if (actual !== undefined) return actual === thumbprint ? undefined : rejectFor('certificate_mismatch');
  } catch {} // An object of the application may throw when it is read.
  return rejectFor('certificate_unreadable');
}

/** Without a certificate, `getPeerCertificate()` of Node.js returns an empty object, or null after the connection. */
function isNone(value: unknown): boolean {
  if (isPlainObject(value)) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === '';
}

/** Resolves to the SHA-256 thumbprint of one certificate (RFC 8705 §3.1), or to undefined for anything else. */
export async function certificateThumbprint(certificate: unknown): Promise<string | undefined> {
  const der = readCertificate(certificate);
  return der && sha256(der);
}

/** Returns the DER of one certificate, or undefined. Its fields are not read, because only its thumbprint matters. */
function readCertificate(value: unknown): Uint8Array | undefined {
  const der = typeof value === 'string' ? decodePem(value) : binaryOf(value);
  return der && isSequence(der) ? der : undefined;
}

/** Whether the bytes are one sequence in DER, with a length of several bytes (RFC 5280 §4.1). */
function isSequence(der: Uint8Array): boolean {
  const [tag, first = 0] = der;
  const start = 2 + first - 0x80;
  const length = der.subarray(2, start).reduce((sum, byte) => sum * 256 + byte, 0);
  return tag === 0x30 && first > 0x80 && der.length === start + length;
}

/** Reads bytes, or their owner's `raw`: an `X509Certificate`, and what `getPeerCertificate()` of Node.js returns. */
function binaryOf(value: unknown): Uint8Array | undefined {
  // A function that is asynchronous by mistake gives no certificate, and must not end the process.
  ignoreRejection(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value instanceof Uint8Array) return value;
  const { raw } = Object(value) as { readonly raw?: unknown };
  return raw instanceof Uint8Array ? raw : undefined;
}

function decodePem(text: string): Uint8Array | undefined {
  const [, body] = /^\s*-----BEGIN CERTIFICATE-----([A-Za-z\d+/=\s]+)-----END CERTIFICATE-----\s*$/.exec(text) ?? [];
  return body === undefined ? undefined : decodeBase64(body);
}

const decodeBase64 = (text: string): Uint8Array | undefined =>
  ifPossible(() => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));

/** Whether a header is for one connection only (RFC 9110 §7.6.1), or says where a message ends. */
export const isConnectionHeader = (name: string) =>
  /^(?:connection|content-length|keep-alive|proxy-(?:auth\w+|connection)|te|trailer|transfer-encoding|upgrade)$/i.test(
    name,
  );
