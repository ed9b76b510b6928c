import { importJWK } from 'jose';

/** Why a JWK Set cannot be used; never the text of an exception or of the issuer's answer. */
export type FetchFailure = 'timeout' | 'network' | 'redirect' | 'status' | 'too_large' | 'malformed' | 'no_usable_key';

export class FetchError extends Error {
  constructor(
    readonly failure: FetchFailure,
    /** The HTTP status, when the failure is one of status. */
    readonly status?: number,
  ) {
    super(`Cannot fetch the key set: ${failure}`);
  }
}

/** The public members of an RSA key that a token can name (RFC 7517 §4, RFC 7518 §6.3.1). */
export interface RsaJwk {
  readonly kid: string;
  readonly n: string;
  readonly e: string;
}

/** A key of the set, imported. It stops being current for good when it leaves the set or is replaced in it. */
export interface HeldKey {
  readonly jwk: RsaJwk;
  readonly cryptoKey: CryptoKey;
  isCurrent: boolean;
}

/** By `kid`, under which there can be several. */
export type Keys = ReadonlyMap<string, readonly HeldKey[]>;

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Sets are a few kilobytes; a larger answer is a mistake or an attack. */
const maxBodyBytes = 1024 * 1024;

/**
 * Returns the keys at `uri` which say of themselves that they verify RS256 signatures. Keys of any other kind, malformed
 * ones among them, are left out; the modulus is NOT looked at here.
 * @throws {FetchError} the set cannot be had, is no JWK Set or is empty
 */
export async function fetchJwkSet(fetch: Fetch, uri: string, signal: AbortSignal): Promise<readonly RsaJwk[]> {
  // A redirect could lead to a host the operator never named.
  const response = await fetch(uri, { redirect: 'manual', signal, headers: { accept: 'application/json' } });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new FetchError(response.status >= 300 && response.status < 400 ? 'redirect' : 'status', response.status);
  }
  return parse(await readText(response)).filter(isForRs256);
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) throw new FetchError('too_large');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parse(text: string): readonly unknown[] {
  try {
    const { keys } = JSON.parse(text);
    if (Array.isArray(keys) && keys.length > 0) return keys;
  } catch {
    // Neither JSON nor anything with members.
  }
  throw new FetchError('malformed');
}

function isForRs256(key: unknown): key is RsaJwk {
  if (typeof key !== 'object' || key === null) return false;
  const { kty, kid, n, e, use, alg, key_ops: operations } = key as Record<string, unknown>;
  return (
    kty === 'RSA' &&
    isText(kid) &&
    isText(n) &&
    isText(e) &&
    (use === undefined || use === 'sig') &&
    (alg === undefined || alg === 'RS256') &&
    (operations === undefined || (Array.isArray(operations) && operations.includes('verify')))
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Imports what is usable and takes over the keys that are held already, so that what they verified stays verified. */
export async function importKeys(jwks: readonly RsaJwk[], held: Keys): Promise<Keys> {
  const next = new Map<string, HeldKey[]>();
  for (const jwk of jwks) {
    const key = held.get(jwk.kid)?.find((known) => isSameKey(known.jwk, jwk)) ?? (await importKey(jwk));
    if (key) next.set(jwk.kid, [...(next.get(jwk.kid) ?? []), key]);
  }
  if (next.size === 0) throw new FetchError('no_usable_key');
  return next;
}

/** Returns undefined for a malformed key, or one below the 2048 bits that RS256 requires (RFC 7518 §3.3): it spoils no other. */
async function importKey({ kid, n, e }: RsaJwk): Promise<HeldKey | undefined> {
  try {
    if (bitLength(n) < 2048) return undefined;
    const cryptoKey = await importJWK({ kty: 'RSA', n, e }, 'RS256');
    return cryptoKey instanceof Uint8Array ? undefined : { jwk: { kid, n, e }, cryptoKey, isCurrent: true };
  } catch {
    return undefined;
  }
}

/** Counted here because a CryptoKey rounds its modulusLength up to whole bytes. */
function bitLength(modulus: string): number {
  const bytes = Uint8Array.fromBase64(modulus, { alphabet: 'base64url' });
  return BigInt(`0x${bytes.toHex()}`).toString(2).length;
}

function isSameKey(a: RsaJwk, b: RsaJwk): boolean {
  return a.n === b.n && a.e === b.e;
}
