import { createHash } from 'node:crypto';
import {
  decode,
  importKey,
  isForVerifying,
  isSignedBy,
  kindOf,
  type Members,
  membersOf,
  numberOf,
  own,
  parse,
  sameAlgorithm,
} from './oracle.ts';

/** What a proof can come to, in the words of RFC 9449 §7.1. */
export type ProofOutcome = 'accepted' | 'invalid_dpop_proof' | 'invalid_token';

/** The request that a proof comes with, and when. */
export interface ProofWorld {
  readonly publicUrl: string;
  readonly method: string;
  /** As it was sent. */
  readonly path: string;
  readonly token: string;
  readonly thumbprint: string;
  readonly nowSeconds: number;
}

const ALGORITHMS = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'];
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');

/**
 * Judges the value of a DPoP header by the text of the contract only, except for replays. Like the oracle for tokens it is written against
 * node:crypto, shares no code with the service and is as plain as it can be.
 */
export function judgeProof(proof: string | null, world: ProofWorld): ProofOutcome {
  if (proof === null || proof.length > 4096) return 'invalid_dpop_proof';
  const encoded = proof.split('.');
  const [header, payload] = encoded.slice(0, 2).map((part) => parse(decode(part) ?? Buffer.alloc(0)));
  const signature = decode(encoded[2] ?? '');
  if (encoded.length !== 3 || !header || !payload || !signature) return 'invalid_dpop_proof';
  if (own(header, 'typ') !== 'dpop+jwt' || Object.hasOwn(header, 'crit')) return 'invalid_dpop_proof';

  const jwk = membersOf(own(header, 'jwk'));
  const input = Buffer.from(proof.slice(0, proof.lastIndexOf('.')), 'latin1');
  const isSigned = jwk !== undefined && isSignedByJwk(jwk, own(header, 'alg'), input, signature);
  if (!isSigned || !areClaimsGood(payload, world)) return 'invalid_dpop_proof';
  return thumbprintOf(jwk) === world.thumbprint ? 'accepted' : 'invalid_token';
}

function isSignedByJwk(jwk: Members, alg: unknown, input: Buffer, signature: Buffer): boolean {
  const algorithm = String(sameAlgorithm(alg));
  if (typeof alg !== 'string' || !ALGORITHMS.includes(algorithm) || !isForVerifying(jwk, algorithm)) return false;
  if (PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name))) return false;
  const publicKey = importKey(jwk, algorithm);
  if (publicKey === undefined) return false;
  // Nothing but this spelling of these values makes this key.
  const exported: Members = { ...publicKey.export({ format: 'jwk' }) };
  if (kindOf(algorithm)[1].some((name) => exported[name] !== jwk[name])) return false;
  if (jwk.kty === 'RSA' && (numberOf(jwk.n) >= 2n ** 4096n || numberOf(jwk.e) >= 2n ** 32n)) return false;
  if (jwk.kty === 'OKP' && isOfSmallOrder(jwk)) return false;
  if (jwk.kty === 'EC' && signature.length !== (algorithm === 'ES256' ? 64 : 96)) return false;
  return isSignedBy({ algorithm, publicKey }, input, signature);
}

/** RFC 8032 §5.1: y is 0, 1 or -1 for points of order 1, 2 and 4; doubling one of order 8 gives one of order 4, whose y is 0. */
function isOfSmallOrder(jwk: Members): boolean {
  const prime = 2n ** 255n - 19n;
  const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
  const littleEndian = Buffer.from(String(jwk.x), 'base64url').reverse().toString('base64url');
  const y = numberOf(littleEndian) % 2n ** 255n;
  return [y, y - 1n, y + 1n, d * y ** 4n + 2n * y ** 2n - 1n].some((value) => value % prime === 0n);
}

/** RFC 7638 §3: the required members in the order of their names. */
function thumbprintOf({ crv, e, kty, n, x, y }: Members): string {
  const members = { EC: { crv, kty, x, y }, OKP: { crv, kty, x }, RSA: { e, kty, n } }[String(kty)];
  return sha256(JSON.stringify(members));
}

function areClaimsGood(claims: Members, { publicUrl, method, path, token, nowSeconds }: ProofWorld): boolean {
  const [iat, jti, htu] = ['iat', 'jti', 'htu'].map((name) => own(claims, name));
  return (
    own(claims, 'htm') === method &&
    typeof htu === 'string' &&
    normalize(htu) === normalize(publicUrl + path) &&
    typeof iat === 'number' &&
    iat >= nowSeconds - 60 &&
    iat <= nowSeconds + 60 &&
    own(claims, 'ath') === sha256(token) &&
    typeof jti === 'string' &&
    jti.length >= 1 &&
    jti.length <= 256
  );
}

/** RFC 3986 §6.2: taken apart by its appendix B, normalized, and put together without query and fragment. */
function normalize(uri: string): string | undefined {
  const [, scheme = '', authority, path = ''] = /^(https?):\/\/([^/?#]+)([^?#]*)/is.exec(uri) ?? [];
  if (authority === undefined) return undefined;
  const port = lower(scheme) === 'https' ? /:(?:443)?$/ : /:(?:80)?$/;
  return `${lower(scheme)}://${lower(spell(authority)).replace(port, '')}${withoutDots(spell(path))}`;
}

const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** §6.2.2.1 and §6.2.2.2. */
const spell = (text: string) =>
  text.replace(/%[0-9A-Fa-f]{2}/g, (triplet) => {
    const character = String.fromCharCode(Number.parseInt(triplet.slice(1), 16));
    return /[A-Za-z0-9\-._~]/.test(character) ? character : triplet.toUpperCase();
  });

/** §5.2.4: a segment that is dots leaves an empty one at the end. */
function withoutDots(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/').slice(1)) {
    if (segment === '..') kept.pop();
    else if (segment !== '.') kept.push(segment);
  }
  return `/${[...kept, ...(/\/\.{1,2}$/.test(path) && kept.length > 0 ? [''] : [])].join('/')}`;
}
