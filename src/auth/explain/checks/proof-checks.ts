import { decodeMember } from '../../keys/jwk.ts';
import { readProofKey } from '../../proof/check-proof.ts';
import { proofAlgorithmOf } from '../../proof/proof-algorithms.ts';
import { rejections } from '../../rejections.ts';
import { isJsonObject, type Members } from '../../values/json.ts';
import { parseUrl } from '../../values/url.ts';
import {
  type Check,
  check,
  type Explained,
  type ExplainedProof,
  expectedBy,
  joined,
  show,
  showTime,
} from './explained.ts';

/** Returns the checks of a proof in the order of the guard. */
export function describeProof(
  explained: Explained,
  { pasted: { header, claims, method, text }, thumbprint, later }: ExplainedProof,
): readonly Check[] {
  const { claims: token, options, rejected, nowSeconds, nameOf } = explained;
  const { url = '', ath: tokenHash } = rejected?.expected ?? {};
  const { htm, htu, iat, ath, jti, nonce } = claims;
  const { dpopAlgorithms, dpopProofMaxAgeSeconds: window } = options;
  const { jkt } = isJsonObject(token.cnf) ? token.cnf : {};
  const maxAge = `${nameOf('dpopProofMaxAgeSeconds')} is ${window}`;
  const isCritical = rejected?.reason === 'proof_critical_header';
  const replaced = 'the client must make a new proof for each request';
  return [
    check('proof', show(header.typ), 'a proof is one JWT of at most 4096 characters with the typ dpop+jwt', {
      proof_missing: '',
      proof_oversized: '',
      proof_repeated: '',
      proof_malformed: '',
      proof_type: '',
    }),
    check('proof alg', show(header.alg), isCritical ? 'no proof with crit is accepted' : expectedBy(explained), {
      proof_critical_header: '',
      proof_algorithm: proofAlgorithmOf(header.alg)
        ? `set ${nameOf('dpopAlgorithms')} to a list with ${show(header.alg)}`
        : `the client must sign with one of ${joined(dpopAlgorithms)}`,
    }),
    check('proof jwk', show(keyTypeOf(header)), keyFaultOf(header), {
      proof_key: `the client must send its public key for ${show(header.alg)} in jwk`,
    }),
    check('htm', show(htm), `the method of the request is ${method}`, {
      proof_method:
        String(htm).toUpperCase() === method
          ? 'methods are case-sensitive: the client must write it in upper case'
          : 'the client must make a proof for the method of the request',
    }),
    check('htu', show(htu), `the URL of the request is ${url}`, {
      proof_url: urlAdvice(show(htu), url, nameOf('publicUrl')),
    }),
    check('iat', showTime(iat, nowSeconds), maxAge, { proof_time: timeAdvice(claims, nowSeconds, window, later) }),
    check('ath', show(ath), `the hash of the token is ${tokenHash}`, {
      proof_token_hash:
        ath === undefined
          ? 'the client predates RFC 9449, which requires ath: update its library, such as the proof builder of @inrupt'
          : 'the proof was made for another token, or ath is not base64url of the SHA-256 hash of its text',
    }),
    check('jti', show(jti), 'jti must be a string of 1 to 256 characters', { proof_id: replaced }),
    check('proof sig', `by the key ${thumbprint ?? 'none'}`, signatureFaultOf(header, text), {
      proof_signature: 'the client must sign with the key in jwk',
    }),
    check('jkt', show(jkt), `the thumbprint of the key in jwk is ${thumbprint}`, {
      proof_key_mismatch: 'the client must sign with the key for which it requested the token',
      // The scheme of the request is Bearer.
      token_key_bound: 'the client must send the token with the scheme DPoP',
    }),
    check('nonce', options.dpopNonceSecret && show(nonce), `${nameOf('dpopNonceSecret')} is set`, {
      proof_nonce_missing: 'the client must repeat the request with the nonce of the DPoP-Nonce header',
      proof_nonce_stale: 'the client must repeat the request with the nonce of the DPoP-Nonce header',
      proof_replayed: replaced,
    }),
  ];
}

const keyTypeOf = ({ jwk }: Members) =>
  isJsonObject(jwk) ? [jwk.kty, jwk.crv].filter((part) => part !== undefined).join(' ') : undefined;

/** Returns what is wrong with the key of a proof. Only importing it shows that its point is off its curve. */
function keyFaultOf({ jwk, alg }: Members): string {
  const algorithm = proofAlgorithmOf(alg);
  const read = algorithm && readProofKey(jwk, algorithm);
  return typeof read === 'string' ? read : 'its point is not on the curve';
}

function urlAdvice(htu: string, expected: string, publicUrl: string): string {
  const [claimed, wanted] = [htu, expected].map(parseUrl);
  if (!claimed) return 'the client must write the URL of the request, with https and the host';
  if (claimed.origin !== wanted?.origin)
    return `set ${publicUrl} to ${claimed.origin} if clients reach the API there, otherwise they must call it at ${wanted?.origin}`;
  return `the client must make a proof for the URL of the request. If a proxy or a mount changes the path, end ${publicUrl} with what it removes`;
}

function timeAdvice(
  { iat, exp, nbf }: Members,
  nowSeconds: number,
  window: number,
  later: ExplainedProof['later'],
): string {
  if (typeof iat !== 'number') return 'iat must be a number of seconds since 1970';
  if (iat > nowSeconds * 100) return 'iat must be in seconds: these are milliseconds';
  if (Math.abs(iat - nowSeconds) <= window)
    return `exp ${showTime(exp, nowSeconds)} and nbf ${showTime(nbf, nowSeconds)} must fit too`;
  if (iat > nowSeconds) return 'the clock of the client is ahead';
  const then = later ? `it is rejected too: ${rejections[later.reason].description}` : 'the request is accepted';
  return `the clock of the client is behind, or the request is old. As of then, ${then}`;
}

/** Returns why a signature does not match. For ECDSA, JWS has the form of fixed length (RFC 7518 §3.4). */
function signatureFaultOf({ alg }: Members, text: string): string {
  const [, , signature] = text.split('.');
  const { 0: tag, length } = decodeMember(signature);
  return String(alg).startsWith('ES') && tag === 0x30 && ![64, 96, 132].includes(length)
    ? 'it is in DER, as Android, Go and OpenSSL write it, but must be R and S, one after the other'
    : 'the signature does not match the key in jwk';
}
