import { createHash, type KeyObject } from 'node:crypto';
import { smallOrder } from '../support/signatures.ts';
import type { Members } from './oracle.ts';
import { importKey, isSignedBy, kindOf, membersOf, numberOf, own, readJws, same } from './oracle.ts';

/** The request that contains a proof, and its time. */
interface ProofWorld {
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
 * Decides on a DPoP header as RFC 9449 §7.1 does, by the text of the contract only and without the code of the service.
 */
export function decideOnProof(
  proof: string | null,
  world: ProofWorld,
): 'accepted' | 'invalid_dpop_proof' | 'invalid_token' {
  const jws = readJws(proof ?? '', 4096);
  if (!jws?.header || !jws.claims) return 'invalid_dpop_proof';
  const typ = own(jws.header, 'typ');
  if (typeof typ !== 'string' || !['dpop+jwt', 'application/dpop+jwt'].includes(typ.toLowerCase()))
    return 'invalid_dpop_proof';
  if (Object.hasOwn(jws.header, 'crit')) return 'invalid_dpop_proof';

  const algorithm = same(own(jws.header, 'alg'));
  const jwk = membersOf(own(jws.header, 'jwk'));
  if (typeof algorithm !== 'string' || !ALGORITHMS.includes(algorithm) || !jwk) return 'invalid_dpop_proof';
  const key = soundKey(jwk, algorithm);
  // Of the two ways to spell an ECDSA signature, JOSE has the one of fixed length.
  const length = { ES256: 64, ES384: 96 }[algorithm] ?? jws.signature.length;
  const isSigned = key !== undefined && jws.signature.length === length && isSignedBy(key, algorithm, jws);
  if (!isSigned || !areClaimsGood(jws.claims, world)) return 'invalid_dpop_proof';
  // RFC 7638 §3: the required members in the order of their names.
  const thumbprint = sha256(JSON.stringify(key.export({ format: 'jwk' }), ['crv', 'e', 'kty', 'n', 'x', 'y']));
  return thumbprint === world.thumbprint ? 'accepted' : 'invalid_token';
}

/** Returns the key of a proof, unless it is private, weak or not canonically encoded. */
function soundKey(jwk: Members, algorithm: string): KeyObject | undefined {
  const key = importKey(jwk, algorithm);
  if (key === undefined) return undefined;
  const exported: Members = { ...key.export({ format: 'jwk' }) };
  const isFaulty =
    PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name) && jwk[name] !== null) ||
    kindOf(algorithm)[1].some((name) => exported[name] !== jwk[name]) ||
    (jwk.kty === 'RSA' && (numberOf(jwk.n) >= 2n ** 4096n || numberOf(jwk.e) >= 2n ** 32n)) ||
    (jwk.kty === 'OKP' && smallOrder.includes(String(jwk.x)));
  return isFaulty ? undefined : key;
}

function areClaimsGood(claims: Members, { publicUrl, method, path, token, nowSeconds }: ProofWorld): boolean {
  const [iat, exp, nbf, jti, htu] = ['iat', 'exp', 'nbf', 'jti', 'htu'].map((name) => own(claims, name));
  return (
    own(claims, 'htm') === method &&
    typeof htu === 'string' &&
    normalize(htu) === normalize(publicUrl + path) &&
    (exp === undefined || (Number.isFinite(exp) && Number(exp) > nowSeconds - 60)) &&
    (nbf === undefined || (Number.isFinite(nbf) && Number(nbf) <= nowSeconds + 60)) &&
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
  // §3.2: one port at most.
  if (authority === undefined || /:\d*:/.test(authority)) return undefined;
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
  for (const segment of path.split('/').slice(1))
    if (segment === '..') kept.pop();
    else if (segment !== '.') kept.push(segment);

  return `/${[...kept, ...(/\/\.{1,2}$/.test(path) && kept.length > 0 ? [''] : [])].join('/')}`;
}
