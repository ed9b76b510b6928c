import * as base64url from 'jose/base64url';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';
import type { CheckedOptions, GuardRequest, Scheme } from '../types.ts';
import { isJsonObject, type Members, parseJsonObject } from '../values/json.ts';
import { parseUrl } from '../values/url.ts';
import { authorization, headerIn, membersOf } from './pasted.ts';

/*
 * Finds a DPoP proof beside the token in pasted text: two header lines, a request, or a curl command.
 */

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
  const isCurl = /\bcurl\s/.test(pasted);
  const [, option] = /\s(?:-X|--request)[ =]?['"]?([A-Za-z]+)/.exec(pasted) ?? [];
  const usual = /\s(?:-d|--data[\w-]*|--json|-F|--form)\b/.test(pasted)
    ? 'POST'
    : /\s(?:-I|--head)\b/.test(pasted)
      ? 'HEAD'
      : 'GET';
  const [url = String(htu)] = (isCurl && /https?:\/\/[^\s'"]+/.exec(pasted)) || [];
  const method = option ?? (isCurl ? usual : line || String(htm).toUpperCase());
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

/** Returns which of the names of the API a proof is for, or the first. */
function nameFor({ url }: PastedProof, publicUrl: CheckedOptions['publicUrl']): string | undefined {
  const urls = [publicUrl ?? []].flat();
  return urls.find((each) => parseUrl(each)?.host === parseUrl(url)?.host) ?? urls[0];
}

/** Returns the URL as a server with several names gets it. With one name, its host counts for nothing. */
function urlAtServer(proof: PastedProof, publicUrl: CheckedOptions['publicUrl']): string {
  const name = nameFor(proof, publicUrl);
  const origin = Array.isArray(publicUrl) ? parseUrl(name ?? '')?.origin : undefined;
  return `${origin ?? 'http://localhost'}${pathAtServer(proof, name)}`;
}

/** Returns the path as a server behind `publicUrl` gets it: without that of `publicUrl`. */
function pathAtServer({ url }: PastedProof, publicUrl = ''): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/, '') || '/';
  const base = publicUrl.replace(/^https?:\/\/[^/]*/i, '');
  return base !== '' && path.startsWith(`${base}/`) ? path.slice(base.length) : path;
}
