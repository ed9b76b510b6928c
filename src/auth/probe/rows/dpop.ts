import { createHash, randomUUID } from 'node:crypto';
import { nowSeconds } from '../../issuer/signer.ts';
import { assemble, type Change, forge, keyNamed, publish, withSignature } from '../forge.ts';
import { type Attempt, accepted, claims, finding, headers, isBearer, type Row, refused, refuses, response, type Trial, topic } from '../row.ts';

// Proofs of possession (RFC 9449), where the challenge or the metadata of the target name DPoP.

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url');
const jwkOf = (name: string) => {
  const { use: _, kid: __, ...jwk } = publish(keyNamed(name, 'ES256'), '');
  return jwk;
};
/** Returns the thumbprint of a key for proofs (RFC 7638). */
export const thumbprintOf = (name: string): string => {
  const { crv, kty, x, y } = jwkOf(name);
  return hashOf(JSON.stringify({ crv, kty, x, y }));
};

/** Returns a proof for a request with a token, changed. */
export function proofFor(request: { readonly method: string; readonly url: string }, token: string, change: Change = {}, nonce?: string): string {
  const claims = { jti: randomUUID(), htm: request.method, htu: request.url.replace(/[?#].*$/s, ''), iat: nowSeconds(), ath: hashOf(token), nonce };
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: jwkOf('client') };
  return assemble({ header, claims }, { key: keyNamed('client', 'ES256'), signedAs: 'ES256', ...change });
}

const bound = (name = 'client') => ({ claims: { cnf: { jkt: thumbprintOf(name) } } });
/** A request with a bound token and a proof. */
const proven = (change: Change = {}, more: Attempt = {}): Attempt => ({ token: () => bound(), scheme: 'DPoP', proofs: [change], ...more });
const withProof = (...changes: readonly Change[]) => refused(...changes.map((change) => proven(change)));
/** As above, for changes that are made when they are sent. */
const later = (...makes: readonly ((trial: Trial) => Change)[]) => finding('a refusal (4xx)', (trial) => refuses(trial, ...makes.map((make) => proven(make(trial)))));
const claim = (name: string, ...values: readonly unknown[]) => withProof(...claims(name, ...values));
const proofHeader = (name: string, ...values: readonly unknown[]) => withProof(...headers(name, ...values));
const ago = (seconds: number) => later(() => ({ claims: { iat: nowSeconds() - seconds } }));
const hasDpop = (trial: Trial) => (trial.hasDpop ? undefined : 'Neither the challenge nor the metadata name DPoP');

// biome-ignore format: a row is a line.
export const dpopRows: readonly Row[] = [
  ...topic('dpop', { rule: 'RFC 9449 §4.3', needs: 'issuer', remedy: 'Check a proof with a library for RFC 9449, and all twelve points of §4.3', skip: hasDpop }, {
    accepts: ['a bound token with its proof', accepted(proven()), { rule: 'RFC 9449 §7.1' }],
    'no-proof': ['a bound token and no proof', refused(proven({}, { proofs: [] })), { rule: 'RFC 9449 §7.1' }],
    bearer: ['a bound token with the scheme Bearer', refused(proven({}, { scheme: 'Bearer', proofs: [] })), { rule: 'RFC 9449 §7.2' }],
    'bearer-proof': ['a bound token with the scheme Bearer, and its proof', refused(proven({}, { scheme: 'Bearer' })), { rule: 'RFC 9449 §7.2' }],
    unbound: ['a token that is bound to no key, with a proof', refused(proven({}, { token: { claims: { cnf: undefined } } })), { rule: 'RFC 9449 §7.1' }],
    'other-key': ['a token bound to another key', refused(proven({}, { token: () => bound('other') })), { rule: 'RFC 9449 §7.1' }],
    'two-proofs': ['two proofs', refused(proven({}, { proofs: [{}, {}] }))],
    replay: ['a proof twice', finding('a refusal of the second', async (trial) => {
      const token = forge(trial.base, bound());
      const attempt: Attempt = { headers: [['Authorization', `DPoP ${token}`], ['DPoP', proofFor(trial, token, {}, trial.nonce())]] };
      const { outcome, words } = await trial.send(attempt);
      return outcome === 'served' ? refuses(trial, attempt) : { verdict: 'inconclusive', got: words };
    }), { level: 'should', rule: 'RFC 9449 §11.1', profiles: { fapi2: 'must' } }],
    type: ['a proof of another type', proofHeader('typ', 'JWT', undefined)],
    'alg-none': ['a proof with alg none', withProof({ header: { alg: 'none' }, signWith: () => new Uint8Array() }, { header: { alg: 'none' } })],
    'alg-symmetric': ['a proof with alg HS256', proofHeader('alg', 'HS256', 'HS512')],
    signature: ['a proof by another key than it shows', later(() => ({ key: keyNamed('other', 'ES256') }), () => ({ reshape: (proof) => withSignature(proof, 'A'.repeat(86)) }))],
    'private-key': ['a proof that shows a private key', later(() => ({ header: { jwk: { ...keyNamed('client', 'ES256').export({ format: 'jwk' }) } } }))],
    'no-key': ['a proof without a key', proofHeader('jwk', undefined, null, { kty: 'oct', k: 'AAAA' })],
    'claim-missing': ['a proof without jti, htm, htu or iat', withProof(...['jti', 'htm', 'htu', 'iat'].flatMap((name) => claims(name, undefined)))],
    'ath-missing': ['a proof without ath', claim('ath', undefined), { rule: 'RFC 9449 §7' }],
    'other-method': ['a proof for another method', claim('htm', 'DELETE')],
    'method-case': ['a proof for the method in lower case (RFC 9110 §9.1)', later(({ method }) => ({ claims: { htm: method.toLowerCase() } })), { level: 'should' }],
    'other-url': ['a proof for another URL', claim('htu', 'https://other.invalid/')],
    'other-path': ['a proof for another path', later(({ url }) => ({ claims: { htu: `${url}/other` } }))],
    'other-host': ['a proof for the Host that the request forwards', finding('a refusal (4xx)', (trial) => refuses(trial, proven({ claims: { htu: `https://evil.invalid${new URL(trial.url).pathname}` } }, { headers: [['X-Forwarded-Host', 'evil.invalid'], ['X-Forwarded-Proto', 'https']] })))],
    'other-token': ['a proof for another token', claim('ath', hashOf('other'), 'x')],
    old: ['a proof of six minutes ago', ago(360)],
    future: ['a proof six minutes ahead', ago(-360), { level: 'should' }],
    expired: ['a proof whose own exp is past', claim('exp', 1), { level: 'should', rule: 'RFC 7519 §4.1.4' }],
    crit: ['a proof with crit', proofHeader('crit', ['x-policy']), { rule: 'RFC 7515 §4.1.11' }],
    challenge: ['a faulty proof', response('error="invalid_dpop_proof" and algs', proven({ claims: { ath: 'x' } }), ({ status, headers: sent }) => { const told = sent.get('www-authenticate') ?? ''; return status !== 401 || (/DPoP /.test(told) && /invalid_dpop_proof/.test(told) && /algs="/.test(told)) ? undefined : told; }), { level: 'should', rule: 'RFC 9449 §7.1' }],
  }),
  ...topic('bound', { rule: 'RFC 9449 §7.2; RFC 7800 §3; RFC 8705 §3', needs: 'issuer', level: 'should', remedy: 'Reject a token with cnf, unless its binding was checked', skip: isBearer }, {
    key: ['a token bound to a key, as a bearer token', { claims: { cnf: { jkt: 'x' } } }],
    certificate: ['a token bound to a certificate, without one', { claims: { cnf: { 'x5t#S256': 'x' } } }],
    other: ['a token bound in other ways', [{ claims: { cnf: { jwk: {} } } }, { claims: { cnf: {} } }]],
  }),
];
