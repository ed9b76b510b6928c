import * as base64url from 'jose/base64url';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';
import { decodeJwt } from 'jose/jwt/decode';
import { maxTokenLength } from '../rejections.ts';
import type { CheckedOptions, GuardRequest, Scheme } from '../types.ts';
import { ifPossible } from '../values/faults.ts';
import { isJsonObject, type Members, parseJsonObject, withoutNulls } from '../values/json.ts';
import { parseUrl } from '../values/url.ts';

/*
 * Finds a token in pasted text, and a DPoP proof beside it: in two header lines, a request, or a curl command.
 */

/**
 * Extracts the token from pasted text: a token, an Authorization header, alone or in a command, the JSON response of a
 * token endpoint, or another text that has a JWT or `access_token=`. Line breaks that a terminal inserted are removed.
 */
function findToken(text: string): { readonly token: string; readonly isAmongText?: boolean; readonly scheme?: string } {
  const trimmed = text.trim();
  // The shell zsh prints % behind output without a line feed.
  const pasted = trimmed.endsWith('%') ? trimmed.slice(0, -1).trimEnd() : trimmed;
  const inJson = accessTokenIn(withoutLineBreaks(pasted));
  if (inJson !== undefined) return { token: inJson };
  const [start = '', quote = ''] = /^(?:-H(?:\s+|(?=['"]))|[<>]\s+)?(['"]?)/.exec(pasted) ?? [];
  const unquoted = pasted.slice(start.length, quote !== '' && pasted.endsWith(quote) ? -1 : undefined);
  // A word alone is a token, as it is in a request. So are quotes behind the scheme.
  const sent = unquoted.replace(/^(?:authorization\s*:\s*(?:bearer|dpop)(?:\s+|$)|(?:bearer|dpop)\s+)/i, '');
  const token = withoutLineBreaks(sent);
  if (/^[\w.~+/-]+=*$/.test(token)) return { token };
  const [scheme = '', inHeader] = headerIn(pasted, 'authorization', authorization);
  if (inHeader !== undefined) return { token: inHeader, scheme };
  const among = sent === unquoted ? tokenAmong(pasted) : undefined;
  return among === undefined ? { token } : { token: among, isAmongText: true };
}

/** Returns the access token in a URL, a cookie, or another text; of ID tokens and refresh tokens none. */
function tokenAmong(sent: string): string | undefined {
  // A URL in a URL, and JSON in a cookie, are encoded. Express signs a cookie as `s:VALUE.SIGNATURE`.
  const decoded = sent.replace(/%[2-7][\da-f]/gi, decodeURIComponent);
  const text = decoded.replace(/\bs:(eyJ[\w-]+(?:\.[\w-]+){2})\.[\w+/]+/g, '$1');
  const [, found] = sentToken.exec(text) ?? namedToken.exec(text) ?? [];
  if (found !== undefined || /\b(?:id|refresh)_token/.test(text)) return found;
  return anyToken.exec(text)?.[0];
}

const jwt = String.raw`eyJ[\w-]{10,}(?:\.[\w-]*){2,4}(?![\w.-]| [\w-]+$)`;
const anyToken = new RegExp(`(?<=^|[^\\w.-])${jwt}`);
/** A record of requests, such as a HAR file, has the responses of the issuer too. */
const sentToken = new RegExp(`\\b(?:bearer|dpop) (${jwt})`, 'i');
/** Also `accessToken`, and in JSON that is a string of JSON. */
const namedToken = /(?<![a-z])access_?token\\?["']?\s*[=:]\s*\\?["']?([\w.~+/-]+)/i;

/** The scheme of an Authorization header, and its token. */
const authorization = String.raw`([\w-]+)[ \t]+([\w.~+/=-]+`;

/** Returns a text in which the headers are lines: of cmd, `fetch`, PowerShell, or a record of requests. */
export const withHeaderLines = (text: string) =>
  text
    .replaceAll('^"', '"')
    .replace(/"name"\s*:\s*"(authorization|dpop)"\s*,\s*"value"\s*:\s*"/gi, '"$1: ')
    .replace(/(["'])(authorization|dpop)\1\s*[:=]\s*["']/gi, '$1$2: ');

/** Returns the header with this name in pasted text, if nothing is behind it. A terminal may have broken its line. */
function headerIn(text: string, name: string, value: string): readonly string[] {
  const broken = String.raw`(?:[ \t]*[\r\n]+[ \t]*[\w.-]+(?![\w.-]|[ \t]*[:'"]))*`;
  const end = '(?=[ \\t]*(?:[\'"`\\r\\n]|$))';
  const [, ...groups] = new RegExp(`(?:^|[\\s'"])${name}[ \\t]*:[ \\t]*${value}${broken})${end}`, 'i').exec(text) ?? [];
  return groups.map((group) => group.replace(/\s+/g, ''));
}

/** Returns the first access token in the JSON that a text has, perhaps behind the headers of a response. */
function accessTokenIn(text: string): string | undefined {
  let found: string | undefined;
  membersOf(() =>
    JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1), (name, value: unknown) => {
      if (name === 'access_token' && typeof value === 'string') found ??= value;
      return value;
    }),
  );
  return found;
}

const withoutLineBreaks = (text: string) =>
  text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .join('');

/**
 * Returns the token in pasted text, with its header and claims, which are empty if they cannot be decoded, and a
 * sentence if other text was left out.
 */
export function decodePasted(pasted: string) {
  // Other characters are allowed neither in a header nor in a token.
  const { token, scheme = 'bearer', isAmongText = false } = findToken(pasted);
  const otherScheme = /^(?:bearer|dpop)$/i.test(scheme) ? undefined : scheme;
  const text = token.replace(/[^\x20-\x7e\t]/g, '?');
  const aside = isAmongText ? '. Only the token in the text was read: send it as Authorization: Bearer TOKEN' : '';
  // The guard does not decode a longer token either. Its JSON may be nested too deeply to print.
  if (text.length > maxTokenLength) return { text, aside, otherScheme, header: {}, claims: {} };
  return {
    text,
    aside,
    otherScheme,
    header: membersOf(() => decodeProtectedHeader(text)),
    claims: membersOf(() => withoutNulls(decodeJwt(text))),
  };
}

/** Returns what `read` returns, or an object without members if it throws. */
export const membersOf = (read: () => object): Members => ({ ...ifPossible(read) });

/** A proof that was pasted, and what is known of its request. */
export interface PastedProof {
  readonly text: string;
  /** Decoded but not verified, as are the claims. Empty if they cannot be decoded. */
  readonly header: Members;
  readonly claims: Members;
  /** The scheme of the Authorization header beside it. */
  readonly scheme: Scheme;
  /** From the command or the request line, otherwise as the proof says. */
  readonly method: string;
  readonly url: string;
}

/** Returns the proof in pasted text, and the text of the token beside it; undefined if there is no proof. */
export function findProof(pasted: string): { readonly proof: PastedProof; readonly token: string } | undefined {
  const [text] = headerIn(pasted, 'dpop', String.raw`([\w.,-]+`);
  if (text === undefined) return undefined;
  const [scheme = 'DPoP', token = ''] = headerIn(pasted, 'authorization', authorization);
  const [header, claims] = text
    .split('.')
    .map((part) => membersOf(() => parseJsonObject(base64url.decode(part)) ?? {}));
  const { htm = 'GET', htu = '' } = claims ?? {};
  const [, line = '', target = ''] = /^[> ]*([A-Z]+) (\/\S*) HTTP\//m.exec(pasted) ?? [];
  const isCommand = /\bcurl\s|\bfetch\(|\s-Uri\s/.test(pasted);
  const [, option] = /\s(?:-X|--request|-Method|"method":)[ =]?['"]?([A-Za-z]+)/.exec(pasted) ?? [];
  const usual = /\s(?:-d|--data[\w-]*|--json|-F|--form)\b/.test(pasted)
    ? 'POST'
    : /\s(?:-I|--head)\b/.test(pasted)
      ? 'HEAD'
      : 'GET';
  const [url = String(htu)] = (isCommand && /https?:\/\/[^\s'"]+/.exec(pasted)) || [];
  const method = option ?? (isCommand ? usual : line || String(htm).toUpperCase());
  const isBearer = scheme.toLowerCase() === 'bearer';
  return {
    token,
    proof: {
      ...{ text, method, url: target === '' ? url : target, scheme: isBearer ? 'Bearer' : 'DPoP' },
      ...{ header: isJsonObject(header) ? header : {}, claims: isJsonObject(claims) ? claims : {} },
    },
  };
}

/** Returns the request with a token, and the proof if any. Not a `Request`, which takes some methods as another. */
export function requestWith(
  token: string,
  usual: string,
  proof: PastedProof | undefined,
  { dpop, publicUrl }: CheckedOptions,
): GuardRequest {
  const scheme = proof && dpop !== 'off' ? proof.scheme : usual;
  const headers = new Headers({ authorization: `${scheme} ${token}`, ...(proof && { dpop: proof.text }) });
  return {
    method: proof?.method ?? 'GET',
    url: proof ? urlAtServer(proof, publicUrl) : 'http://localhost/',
    headers,
  };
}

/** Returns the thumbprint of the key in a proof, if it has one. */
export const thumbprintOf = ({ header }: PastedProof): Promise<string | undefined> =>
  calculateJwkThumbprint(Object(header.jwk)).catch(() => undefined);

/** Returns the URL as a server behind `publicUrl` gets it: without the path of that. */
function urlAtServer({ url }: PastedProof, publicUrl: CheckedOptions['publicUrl']): string {
  const names = [publicUrl ?? []].flat();
  const name = names.find((each) => parseUrl(each)?.host === parseUrl(url)?.host) ?? names[0] ?? '';
  // With one name, its host counts for nothing.
  const origin = Array.isArray(publicUrl) ? parseUrl(name)?.origin : undefined;
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/, '') || '/';
  const base = name.replace(/^https?:\/\/[^/]*/i, '');
  const rest = base !== '' && path.startsWith(`${base}/`) ? path.slice(base.length) : path;
  return `${origin ?? 'http://localhost'}${rest}`;
}
