import type { CryptoKey } from 'jose';
import * as base64url from 'jose/base64url';
import { importJWK } from 'jose/key/import';
import type { Algorithm } from '../types.ts';
import { printable } from '../values/ascii.ts';
import { isCanonicalBase64Url } from '../values/base64url.ts';
import { ifPossible } from '../values/faults.ts';
import type { Members } from '../values/json.ts';
import { algorithmOf, algorithmRules } from './algorithms.ts';

/** The public members of a key, which are imported and from which its thumbprint is computed (RFC 7638 §3.2). */
export type PublicJwk = Readonly<
  Record<'kty', string> & Partial<Record<'crv' | 'x' | 'y' | 'n' | 'e' | 'alg' | 'pub', string>>
>;

/**
 * Returns the public members of a JWK, or why it cannot verify signatures of this algorithm, such as `1024 bits`.
 * Private members are ignored. Does NOT check whether a point is on its curve: {@link importPublicJwk} does.
 * @param isOfClient whether a client chose the key. It must then be canonically encoded, because other encodings of the
 * same numbers would give one key several thumbprints, and an RSA key must be smaller
 */
export function readPublicJwk(jwk: Members, algorithm: Algorithm, isOfClient = false): PublicJwk | string {
  const meant = algorithmsFor(jwk, [algorithm]);
  if (typeof meant === 'string') return meant;
  const { kty, crv, partBytes } = algorithmRules[algorithm];
  const { n, e, x, y, pub } = jwk as PublicJwk;
  const read = (name: string) => decodeMember(jwk[name], isOfClient);
  const wrongLength = (name: string) => {
    const { length } = read(name);
    if (length === partBytes) return undefined;
    return length === 0 ? `${name} is malformed` : `${name} has ${length} bytes, and must have ${partBytes}`;
  };
  if (kty === 'RSA') return describeRsaWeakness(read('n'), read('e'), isOfClient) ?? ({ kty, n, e } as PublicJwk);
  if (kty === 'AKP') return wrongLength('pub') ?? ({ kty, alg: algorithm, pub } as PublicJwk);
  if (jwk.crv !== crv) return 'crv does not fit alg';
  if (kty === 'EC') return wrongLength('x') ?? wrongLength('y') ?? ({ kty, crv, x, y } as PublicJwk);
  return wrongLength('x') ?? (isOfSmallOrder(read('x')) ? 'x is of small order' : ({ kty, crv, x } as PublicJwk));
}

/**
 * Returns those of the accepted algorithms that a JWK is meant for: by its purpose, where missing members allow
 * everything (RFC 7517 §4), its type, and its curve unless it names the algorithm. Otherwise, returns why it is for
 * none: `use is enc`. It may be malformed or weak.
 */
export function algorithmsFor(
  { use, key_ops, alg, kty, crv }: Members,
  accepted: readonly Algorithm[],
): readonly [Algorithm, ...Algorithm[]] | string {
  const says = (name: string, value: unknown) => {
    if (value === undefined) return `${name} is missing`;
    // An object has text of its own, or none.
    const isText = [value].flat().every((each) => typeof each !== 'object');
    return `${name} is ${isText ? printable(String(value), 32) : 'malformed'}`;
  };
  if (use !== undefined && use !== 'sig') return says('use', use);
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) return says('key_ops', key_ops);
  const named = accepted.filter((each) => alg === undefined || algorithmOf(alg) === each);
  if (named.length === 0) return says('alg', alg);
  const alike = named.filter((each) => algorithmRules[each].kty === kty);
  if (alike.length === 0) return says('kty', kty);
  // RFC 9964 §3: alg is required, because only alg tells the sizes apart.
  const isOfCurve = (each: Algorithm) => kty === 'RSA' || (kty !== 'AKP' && algorithmRules[each].crv === crv);
  const [first, ...others] = alg === undefined ? alike.filter(isOfCurve) : alike;
  if (first !== undefined) return [first, ...others];
  return kty === 'AKP' ? says('alg', alg) : says('crv', crv);
}

/** Returns the name of a member of a JWK that holds a private key or a secret (RFC 7518 §6, RFC 9964 §3), if any. */
export const privateMemberOf = (jwk: Members) =>
  ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'].find((name) => (jwk[name] ?? undefined) !== undefined);

/** Returns the imported key, or why there is none: a point that is not on the curve, or no support by the runtime. */
export async function importPublicJwk(
  jwk: PublicJwk,
  algorithm: Algorithm,
): Promise<CryptoKey | 'invalid' | 'unsupported'> {
  try {
    const key = await importJWK(jwk, algorithm);
    return key instanceof Uint8Array ? 'invalid' : key;
  } catch (error) {
    return error instanceof DOMException && error.name === 'NotSupportedError' ? 'unsupported' : 'invalid';
  }
}

/** Returns no bytes for anything that is not base64url. */
export function decodeMember(value: unknown, isCanonical = false): Uint8Array {
  const isReadable = typeof value === 'string' && (!isCanonical || isCanonicalBase64Url(value));
  return (isReadable && ifPossible(() => base64url.decode(value))) || new Uint8Array();
}

/**
 * Requires at least 2048 bits (RFC 7518 §3.3), an odd modulus, and an odd exponent from 3 to below the modulus. Bits
 * are counted here, because a CryptoKey rounds up to whole bytes. Other values allow forgeries, or no signature.
 */
function describeRsaWeakness(n: Uint8Array, e: Uint8Array, isOfClient: boolean): string | undefined {
  // OpenSSL and BoringSSL verify no signature with a longer modulus. One of four times the size takes sixteen times as
  // long to verify. Exponents are 3 or 65537 in practice: a large one makes verification hundreds of times slower.
  const [maxBits, maxExponentBytes] = isOfClient ? [4096, 4] : [16_384, Number.POSITIVE_INFINITY];
  if (n.length === 0) return 'n is malformed';
  if (isOfClient && (n[0] === 0 || e[0] === 0)) return 'n or e begins with zeros';
  const [modulus, exponent] = [toBigInt(n), toBigInt(e)];
  const bits = modulus.toString(2).length;
  if (bits < 2048 || bits > maxBits) return `${bits} bits`;
  if (modulus % 2n === 0n) return 'n is even';
  const isSound = exponent % 2n === 1n && exponent >= 3n && exponent < modulus && e.length <= maxExponentBytes;
  return isSound ? undefined : 'e is malformed';
}

const toBigInt = (bytes: Uint8Array): bigint => BigInt(`0x0${toHex(bytes)}`);

const toHex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * The y coordinates of all Ed25519 points of order 1, 2, 4 and 8, with the encodings of 0 and 1 that are not canonical
 * (RFC 8032 §5.1.3). Anyone can sign for such a key.
 */
const smallOrderCoordinates = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ...['ec', 'ed', 'ee'].map((first) => `${first}${'ff'.repeat(30)}7f`),
]);

function isOfSmallOrder(point: Uint8Array): boolean {
  // The highest bit is the sign of x.
  return smallOrderCoordinates.has(toHex(point.map((byte, index) => (index === 31 ? byte & 0x7f : byte))));
}
