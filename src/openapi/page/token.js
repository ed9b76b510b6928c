// Runs in the browser: gets access tokens, reads their claims, and signs DPoP proofs (RFC 9449).

/** @typedef {{ value: string, isBound: boolean, client?: string | undefined, claims?: Record<string, any> }} Token */

/** @typedef {{ access_token?: string, token_type?: string, error?: string, error_description?: string }} TokenResponse */

/**
 * Gets a token with the client credentials grant, bound to the key of this page if the token endpoint supports DPoP.
 * @type {(endpoint: string, parameters: Record<string, string>, dpop?: string) => Promise<Token>}
 */
export async function requestToken(endpoint, parameters, dpop) {
  /** @type {(headers: Record<string, string>) => Promise<{ response: Response, body: TokenResponse } | undefined>} */
  const post = async (headers) => {
    const form = new URLSearchParams(parameters);
    // With credentials, a 401 could open the browser's password prompt.
    const response = await fetch(endpoint, { method: 'POST', body: form, headers, credentials: 'omit' }).catch(
      () => undefined,
    );
    return response && { response, body: await response.json().catch(() => ({})) };
  };
  const hasProof = dpop === 'required' || (dpop === 'on' && isSecureContext);
  let result = await post(hasProof ? { DPoP: await createProof('POST', endpoint) } : {});
  // The token endpoint may not allow the header in requests from other origins.
  if (!result && hasProof && dpop === 'on') result = await post({});
  if (result?.body.error === 'use_dpop_nonce') {
    const nonce = result.response.headers.get('DPoP-Nonce') ?? '';
    result = await post({ DPoP: await createProof('POST', endpoint, { nonce }) });
  }
  if (!result)
    throw new Error(
      `Cannot reach ${endpoint} from this page: it is unavailable, or does not allow cross-origin requests.${dpop === 'required' ? '' : ' Get a token with another tool and paste it here.'}`,
    );
  const { response, body } = result;
  if (!response.ok || !body.access_token) {
    const reason = [body.error, body.error_description].filter(Boolean).join(': ');
    throw new Error(`The token endpoint returned ${response.status}. `, { cause: reason });
  }
  const token = readToken(body.access_token);
  return { ...token, isBound: token.isBound || /^dpop$/i.test(body.token_type ?? ''), client: parameters.client_id };
}

/**
 * Returns the token in a pasted text, which may be a whole header, and broken into lines.
 * @type {(text: string) => Token}
 */
export function readPasted(text) {
  const value = text.replace(/^\s*(?:Authorization\s*:\s*)?(?:(?:Bearer|DPoP)(?=\s|$))?/i, '').replace(/\s/g, '');
  if (value === '') throw new Error('Paste an access token');
  return readToken(value);
}

/** Reads the claims of a token without verifying it. @type {(value: string) => Token} */
export function readToken(value) {
  try {
    const [, payload = ''] = value.split('.');
    const binary = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (byte) => byte.charCodeAt(0))));
    return { value, isBound: claims.cnf?.jkt !== undefined, claims };
  } catch {
    return { value, isBound: false };
  }
}

/** @type {(name: string, className: string, ...content: (string | Element)[]) => Element} */
export function createElement(name, className, ...content) {
  const element = Object.assign(document.createElement(name), { className });
  element.append(...content);
  return element;
}

/** Returns foreign text as an element, so that its writing direction does not affect the text around it. @type {(value: unknown) => Element} */
export const isolate = (value) => createElement('bdi', '', typeof value === 'string' ? value : JSON.stringify(value));

/** Returns whose token it is, its scopes and when it expires. @type {(token: Token) => (string | Element)[]} */
export function describeToken({ claims, client, isBound }) {
  const owner = claims?.sub ?? claims?.client_id ?? client;
  const parts = owner === undefined ? ['Access token'] : ['Access token of ', isolate(owner)];
  if (claims === undefined) parts.push(' · not a JWT, so scopes and expiry are unknown');
  else {
    const scopes = [claims.scope ?? claims.scp ?? []].flat().filter((scope) => scope !== '');
    parts.push(
      scopes.length === 0 ? ' · no scopes' : ' · scopes:',
      ...scopes.flatMap((scope) => [' ', isolate(scope)]),
    );
    const expiry = new Date(typeof claims.exp === 'number' ? claims.exp * 1000 : Number.NaN);
    if (expiry.getTime() <= Date.now()) parts.push(' · expired');
    else if (expiry.getTime() > 0) parts.push(` · expires: ${expiry.toLocaleString()}`);
  }
  if (isBound) parts.push(' · bound to a key (DPoP)');
  return parts;
}

/** Returns the headers with which a token is sent. @type {(token: Token, method: string, url: string) => Promise<Record<string, string>>} */
export async function credentialsOf({ value, isBound }, method, url) {
  if (!isBound) return { Authorization: `Bearer ${value}` };
  return { Authorization: `DPoP ${value}`, DPoP: await createProof(method, url, { ath: await hash(value) }) };
}

/** The private key cannot be exported, and is lost with the page. @type {Promise<CryptoKeyPair> | undefined} */
let keys;

/** Returns a proof that is valid once, for about a minute. @type {(method: string, url: string, claims?: { ath?: string, nonce?: string }) => Promise<string>} */
async function createProof(method, url, claims) {
  if (!isSecureContext) throw new Error('DPoP proofs can be signed only on pages from https or from localhost.');
  keys ??= crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
  const { publicKey, privateKey } = await keys;
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey);
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } };
  const [htu] = url.split(/[?#]/);
  const payload = { jti: crypto.randomUUID(), htm: method, htu, iat: Math.floor(Date.now() / 1000), ...claims };
  const input = [header, payload].map((part) => encode(utf8(JSON.stringify(part)))).join('.');
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, utf8(input));
  return `${input}.${encode(new Uint8Array(signature))}`;
}

/** @type {(text: string) => Promise<string>} */
const hash = async (text) => encode(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text))));

/** @type {(text: string) => Uint8Array<ArrayBuffer>} */
const utf8 = (text) => new TextEncoder().encode(text);

/** Returns bytes as base64url without padding (RFC 7515 §2). @type {(bytes: Uint8Array) => string} */
const encode = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (character) => ({ '+': '-', '/': '_' })[character] ?? '');
