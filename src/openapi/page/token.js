// Runs in the browser: gets access tokens, describes them, and signs DPoP proofs (RFC 9449).

/** @typedef {{ value: string, isBound: boolean, client?: string | undefined, claims?: Record<string, any> }} Token */

/**
 * @typedef {{ access_token?: string, token_type?: string, error?: string, error_description?: string }} TokenResponse
 */

/**
 * Returns the token that the form of the dialog asks for: the pasted one, or a new one.
 * @type {(fields: FormData, options: DOMStringMap) => Token | Promise<Token>}
 */
export function readToken(fields, { tokenEndpoint = '', audience = '', dpop }) {
  const pasted = fields.get('token');
  if (pasted !== null) return readPasted(String(pasted));
  const scope = fields.getAll('scope').join(' ');
  const parameters = {
    grant_type: 'client_credentials',
    client_id: String(fields.get('client_id')),
    client_secret: String(fields.get('client_secret')),
    audience,
    ...(scope && { scope }),
  };
  return requestToken(tokenEndpoint, parameters, dpop);
}

/**
 * Gets a token with the client credentials grant, bound to the key of this page if the token endpoint supports DPoP.
 * @type {(endpoint: string, parameters: Record<string, string>, dpop?: string) => Promise<Token>}
 */
async function requestToken(endpoint, parameters, dpop) {
  /** @type {(hasProof: boolean) => Promise<Response | undefined>} */
  const post = async (hasProof) => {
    const headersOf = async () => (hasProof ? { DPoP: await createProof('POST', endpoint) } : {});
    const init = { method: 'POST', body: new URLSearchParams(parameters) };
    return (await sendWithNonce(endpoint, init, headersOf)).response;
  };
  const hasProof = dpop === 'required' || (dpop === 'on' && isSecureContext);
  // The token endpoint may not allow the header in requests from other origins.
  const response = (await post(hasProof)) ?? (hasProof && dpop === 'on' ? await post(false) : undefined);
  if (!response)
    throw new Error(
      `Cannot reach ${endpoint} from this page: it is unavailable, or it does not allow cross-origin requests.${dpop === 'required' ? '' : ' Get a token with another tool and paste it here.'}`,
    );
  /** @type {TokenResponse} */
  const body = (await response.json().catch(() => null)) ?? {};
  if (!response.ok || !body.access_token) {
    const reasons = [`The token endpoint returned ${response.status}`, body.error, body.error_description];
    throw new Error(reasons.filter(Boolean).join(': '));
  }
  const token = decode(body.access_token);
  return { ...token, isBound: token.isBound || /^dpop$/i.test(body.token_type ?? ''), client: parameters.client_id };
}

/**
 * Returns the token in a pasted text, which may be a whole header, and broken into lines.
 * @type {(text: string) => Token}
 */
function readPasted(text) {
  const value = text.replace(/^\s*(?:Authorization\s*:\s*)?(?:(?:Bearer|DPoP)(?=\s|$))?/i, '').replace(/\s/g, '');
  if (value === '') throw new Error('Paste an access token.');
  // No header can contain others.
  if (!/^[!-~]+$/.test(value)) throw new Error('An access token contains only ASCII characters.');
  return decode(value);
}

/** Reads the claims of a token without verifying it. @type {(value: string) => Token} */
function decode(value) {
  try {
    const [, payload = ''] = value.split('.');
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: 'base64url' })));
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

/**
 * Returns foreign text as an element, so that its writing direction does not affect the text around it. @type {(value:
 * unknown) => Element}
 */
export const isolate = (value) => createElement('bdi', '', typeof value === 'string' ? value : JSON.stringify(value));

/** Returns whose token it is, and its scopes. @type {(token: Token) => (string | Element)[]} */
export function describeToken({ claims, client, isBound }) {
  const owner = claims?.sub ?? claims?.client_id ?? client;
  const parts =
    owner === undefined ? ['Access token'] : ['Access token of ', createElement('strong', '', isolate(owner))];
  if (claims === undefined) parts.push(' · not a JWT, so its claims are unknown');
  else {
    const scopes = [claims.scope ?? claims.scp ?? []].flat().join(' ').split(' ').filter(Boolean);
    parts.push([' · no scopes', ' · scope'][scopes.length] ?? ' · scopes');
    for (const scope of scopes) parts.push(' ', createElement('code', '', isolate(scope)));
  }
  if (isBound) parts.push(' · bound to a key (DPoP)');
  return parts;
}

const relativeTime = new Intl.RelativeTimeFormat('en');
/** @type {readonly (readonly ['minute' | 'hour' | 'day', number])[]} */
const timeUnits = [
  ['minute', 60],
  ['hour', 3600],
  ['day', 86_400],
];

/** Returns when a token expires, from now. @type {(exp: unknown) => string} */
export function describeExpiry(exp) {
  const seconds = (new Date(typeof exp === 'number' ? exp * 1000 : Number.NaN).getTime() - Date.now()) / 1000;
  if (Number.isNaN(seconds)) return '';
  if (seconds <= 0) return ' · expired';
  const [unit, length] = timeUnits.findLast(([, length]) => seconds >= 2 * length) ?? ['minute', 60];
  return ` · expires ${relativeTime.format(Math.max(1, Math.round(seconds / length)), unit)}`;
}

/**
 * Returns the headers with which a token is sent. @type {(token: Token, method: string, url: string) =>
 * Promise<Record<string, string>>}
 */
export async function credentialsOf({ value, isBound }, method, url) {
  if (!isBound) return { Authorization: `Bearer ${value}` };
  return { Authorization: `DPoP ${value}`, DPoP: await createProof(method, url, { ath: await hash(value) }) };
}

/** What the server that responded last wants in proofs (RFC 9449 §8 and §9). @type {string | null} */
let nonce = null;

/**
 * Sends a request without cookies, and once more if the server wants another nonce in the proof. Returns the headers as
 * sent, and no response if there is none.
 * @type {(url: string, init: RequestInit, headersOf: () => Promise<Record<string, string>>, isLast?: boolean) =>
 * Promise<{ headers: Record<string, string>, response?: Response | undefined }>}
 */
export async function sendWithNonce(url, init, headersOf, isLast = false) {
  const headers = await headersOf();
  // With credentials, a 401 could open the browser's password prompt.
  const response = await fetch(url, { ...init, headers, credentials: 'omit' }).catch(() => undefined);
  const given = response?.headers.get('DPoP-Nonce') ?? nonce;
  const isWanted = response?.ok === false && 'DPoP' in headers && given !== nonce;
  nonce = given;
  return isWanted && !isLast ? sendWithNonce(url, init, headersOf, true) : { headers, response };
}

/** The private key cannot be exported, and is lost with the page. @type {Promise<CryptoKeyPair> | undefined} */
let keys;

/**
 * Returns a proof for one request. @type {(method: string, url: string, claims?: { ath: string }) => Promise<string>}
 */
async function createProof(method, url, claims) {
  if (!isSecureContext) throw new Error('DPoP proofs can be signed only on pages from https or from localhost.');
  keys ??= crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
  const { publicKey, privateKey } = await keys;
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey);
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } };
  const [htu] = url.split(/[?#]/);
  const payload = {
    jti: crypto.randomUUID(),
    htm: method,
    htu,
    iat: Math.floor(Date.now() / 1000),
    ...(nonce && { nonce }),
    ...claims,
  };
  const input = [header, payload].map((part) => encode(utf8(JSON.stringify(part)))).join('.');
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, utf8(input));
  return `${input}.${encode(new Uint8Array(signature))}`;
}

/** @type {(text: string) => Promise<string>} */
const hash = async (text) => encode(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text))));

/** @type {(text: string) => Uint8Array<ArrayBuffer>} */
const utf8 = (text) => new TextEncoder().encode(text);

/** Returns bytes as base64url without padding (RFC 7515 §2). @type {(bytes: Uint8Array) => string} */
const encode = (bytes) => bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
