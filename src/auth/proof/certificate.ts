import { type Refusal, refuse } from '../refusals.ts';
import type { GuardRequest } from '../types.ts';
import { sha256 } from '../values/base64url.ts';
import { ignoreRejection } from '../values/promises.ts';

/** Whether a header is for one connection only (RFC 9110 §7.6.1), or says where a message ends. */
export const isConnectionHeader = (name: string) =>
  /^(?:connection|content-length|keep-alive|proxy-(?:auth\w+|connection)|te|trailer|transfer-encoding|upgrade)$/i.test(
    name,
  );

/** Headers that clients set themselves: those of RFC 9110, of Fetch and of the standards that the guard reads. */
const clientHeaders =
  /^(?:(?:accept|access-control|cache|content|if|sec|max|upgrade)(?:-.+)?|authorization|cookie2?|date|dnt|dpop|expect|from|host|last-event-id|origin|pragma|priority|range|referer|user-agent|x-requested-with)$/i;

/** Whether only a proxy sets a header with this name. */
export const isCertificateHeader = (name: string) =>
  /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !isConnectionHeader(name) && !clientHeaders.test(name);

/**
 * Returns a function that reads the client's certificate from a header that a proxy sets: `Client-Cert` (RFC 9440 §2.2), or the
 * URL-encoded PEM of nginx (`$ssl_client_escaped_cert`). Anything but exactly one certificate counts as none. Does NOT check who
 * set the header: the proxy must set or delete it in every request.
 * @param name a header for which {@link isCertificateHeader} is true
 */
export function clientCertificateFromHeader(name: string): (request: GuardRequest) => Uint8Array | undefined {
  return ({ headers }) => {
    const value = headers.get(name)?.trim() ?? '';
    const [, bytes] = /^:([A-Za-z\d+/]+={0,2}):$/.exec(value) ?? [];
    return readCertificate(bytes === undefined ? decodeUrl(value) : decodeBase64(bytes));
  };
}

/**
 * Returns why a request cannot use a token that is bound to a certificate (RFC 8705 §3), or undefined if it can.
 * @param thumbprint `cnf["x5t#S256"]` of the token
 */
export async function refuseCertificate(certificate: unknown, thumbprint: unknown): Promise<Refusal | undefined> {
  // An object of the application may throw when it is read.
  const actual = await certificateThumbprint(certificate).catch(() => undefined);
  if (actual === undefined) return refuse('certificate_missing');
  return actual === thumbprint ? undefined : refuse('certificate_mismatch');
}

/** Resolves to the SHA-256 thumbprint of one certificate (RFC 8705 §3.1), or to undefined for anything else. */
export async function certificateThumbprint(certificate: unknown): Promise<string | undefined> {
  const der = readCertificate(certificate);
  return der && sha256(der);
}

/** Returns the DER of one certificate, or undefined for anything else. Only its thumbprint matters, so its fields are not read. */
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

function binaryOf(value: unknown): Uint8Array | undefined {
  // A function that is asynchronous by mistake gives no certificate, and must not end the process.
  ignoreRejection(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return value instanceof Uint8Array ? value : undefined;
}

function decodePem(text: string): Uint8Array | undefined {
  const [, body] = /^\s*-----BEGIN CERTIFICATE-----([A-Za-z\d+/=\s]+)-----END CERTIFICATE-----\s*$/.exec(text) ?? [];
  return body === undefined ? undefined : decodeBase64(body);
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function decodeUrl(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
