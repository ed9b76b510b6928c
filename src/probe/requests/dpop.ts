import { base64url, bytesOf, type Change, forge, keyNamed, withSignature } from '../forge/forge.ts';
import { hashOf, otherSignature, proofFor, thumbprintOf } from '../forge/proof.ts';
import { claims, headers } from '../row/changes.ts';
import type { Attempt, Trial } from '../row/row.ts';
import { accepted, finding, rejected, rejects, requests, response } from '../row/topic.ts';
import { nowSeconds } from '../values/time.ts';

// Proofs of possession (RFC 9449), where the challenge or the metadata of the target name DPoP.

const bound = (name = 'client') => ({ claims: { cnf: { jkt: thumbprintOf(name) } } });
/** A request with a bound token and a proof. */
const proven = (change: Change = {}, more: Attempt = {}): Attempt => ({
  token: () => bound(),
  scheme: 'DPoP',
  proofs: [change],
  ...more,
});
const withProof = (...changes: readonly Change[]) => rejected(...changes.map((change) => proven(change)));
/** As above, for changes that are made when they are sent. */
const later = (...makes: readonly ((trial: Trial) => Change)[]) =>
  finding('a rejection (4xx)', makes.length, (trial) => rejects(trial, ...makes.map((make) => proven(make(trial)))));
const claim = (name: string, ...values: readonly unknown[]) => withProof(...claims(name, ...values));
const proofHeader = (name: string, ...values: readonly unknown[]) => withProof(...headers(name, ...values));
const ago = (seconds: number) => later(() => ({ claims: { iat: nowSeconds() - seconds } }));
/** Sends a proof, and the same again as it is changed. */
const again = (change: (proof: string) => string) =>
  finding('a rejection of the second', 2, async (trial) => {
    const token = forge(trial.base, bound());
    const proof = proofFor(trial, token, {}, trial.nonce());
    const withIt = (text: string): Attempt => ({
      headers: [
        ['Authorization', `DPoP ${token}`],
        ['DPoP', text],
      ],
    });
    const { outcome, words } = await trial.send(withIt(proof));
    return outcome === 'served' ? rejects(trial, withIt(change(proof))) : { verdict: 'inconclusive', got: words };
  });
const once = {
  level: 'should',
  rule: 'RFC 9449 §11.1',
  remedy: 'Give the library a store of jti that all instances share',
  ownCode: 'Remember each jti until its proof is too old, and not the text of the proof',
  profiles: { fapi2: 'must' },
} as const;
const allChecks = 'Make all twelve checks of RFC 9449 §4.3, and compare the key with cnf.jkt of the token';
/** For a server that checks proofs, but not all of them. */
const cure = (remedy: string) => ({ remedy, ownCode: allChecks });
const compareHash = cure('Require ath, and compare it with the SHA-256 of the token');
const compareMethod = cure('Compare htm with the method of the request');
const compareUrl = cure('Compare htu with the whole URL that the client requested, without its query');
const hasDpop = (trial: Trial) => (trial.hasDpop ? undefined : 'Neither the challenge nor the metadata names DPoP');

export const dpopRows = requests(
  'dpop',
  {
    rule: 'RFC 9449 §4.3',
    needs: 'issuer',
    remedy: 'Turn on DPoP in the library, with the public URL of the API',
    ownCode: allChecks,
    skip: hasDpop,
  },
  {
    accepts: { sent: 'a bound token with its proof', ...accepted(proven()), rule: 'RFC 9449 §7.1' },
    'no-proof': { sent: 'a bound token and no proof', ...rejected(proven({}, { proofs: [] })), rule: 'RFC 9449 §7.1' },
    bearer: {
      sent: 'a bound token with the scheme Bearer',
      ...rejected(proven({}, { scheme: 'Bearer', proofs: [] })),
      rule: 'RFC 9449 §7.2',
    },
    'bearer-proof': {
      sent: 'a bound token with the scheme Bearer, and its proof',
      ...rejected(proven({}, { scheme: 'Bearer' })),
      rule: 'RFC 9449 §7.2',
    },
    unbound: {
      sent: 'a token that is bound to no key, with a proof',
      ...rejected(proven({}, { token: { claims: { cnf: undefined } } })),
      rule: 'RFC 9449 §7.1',
    },
    'other-key': {
      sent: 'a token bound to another key',
      ...rejected(proven({}, { token: () => bound('other') })),
      ...cure('Compare the key of the proof with cnf.jkt of the token'),
      rule: 'RFC 9449 §7.1',
    },
    'two-proofs': { sent: 'two proofs', ...rejected(proven({}, { proofs: [{}, {}] })) },
    replay: {
      sent: 'a proof twice',
      ...again((proof) => proof),
      ...once,
    },
    'replay-respelled': {
      sent: 'a proof twice, with the other signature that ECDSA has for it',
      ...again((proof) => withSignature(proof, base64url(otherSignature(bytesOf(proof.replace(/.*\./, '')))))),
      ...once,
    },
    type: { sent: 'a proof of another type', ...proofHeader('typ', 'JWT', undefined) },
    'alg-none': {
      sent: 'a proof with alg none',
      ...withProof({ header: { alg: 'none' }, signWith: () => new Uint8Array() }, { header: { alg: 'none' } }),
      ...cure('Accept proofs with listed asymmetric algorithms only'),
    },
    'alg-symmetric': { sent: 'a proof with alg HS256', ...proofHeader('alg', 'HS256', 'HS512') },
    signature: {
      sent: 'a proof by another key than it shows',
      ...later(
        () => ({ key: keyNamed('other', 'ES256') }),
        () => ({ reshape: (proof) => withSignature(proof, 'A'.repeat(86)) }),
      ),
    },
    'private-key': {
      sent: 'a proof that shows a private key',
      ...later(() => ({ header: { jwk: { ...keyNamed('client', 'ES256').export({ format: 'jwk' }) } } })),
    },
    'no-key': { sent: 'a proof without a key', ...proofHeader('jwk', undefined, null, { kty: 'oct', k: 'AAAA' }) },
    'claim-missing': {
      sent: 'a proof without jti, htm, htu or iat',
      ...withProof(...['jti', 'htm', 'htu', 'iat'].flatMap((name) => claims(name, undefined))),
      ...cure('Require jti, htm, htu and iat, do not only compare them'),
    },
    'ath-missing': { sent: 'a proof without ath', ...claim('ath', undefined), ...compareHash, rule: 'RFC 9449 §7' },
    'other-method': { sent: 'a proof for another method', ...claim('htm', 'DELETE'), ...compareMethod },
    'method-case': {
      sent: 'a proof for the method in lower case (RFC 9110 §9.1)',
      ...later(({ method }) => ({ claims: { htm: method.toLowerCase() } })),
      level: 'should',
    },
    'other-url': { sent: 'a proof for another URL', ...claim('htu', 'https://other.invalid/'), ...compareUrl },
    'other-path': {
      sent: 'a proof for another path',
      ...later(({ url }) => ({ claims: { htu: `${url}/other` } })),
      ...compareUrl,
    },
    'other-host': {
      sent: 'a proof for the Host that the request forwards',
      ...finding('a rejection (4xx)', 1, (trial) =>
        rejects(
          trial,
          proven(
            { claims: { htu: `https://evil.invalid${new URL(trial.url).pathname}` } },
            {
              headers: [
                ['X-Forwarded-Host', 'evil.invalid'],
                ['X-Forwarded-Proto', 'https'],
              ],
            },
          ),
        ),
      ),
    },
    'other-token': { sent: 'a proof for another token', ...claim('ath', hashOf('other'), 'x'), ...compareHash },
    old: { sent: 'a proof of six minutes ago', ...ago(360), ...cure('Reject a proof whose iat is minutes ago') },
    future: { sent: 'a proof six minutes ahead', ...ago(-360), level: 'should' },
    expired: { sent: 'a proof whose own exp is past', ...claim('exp', 1), level: 'should', rule: 'RFC 7519 §4.1.4' },
    crit: { sent: 'a proof with crit', ...proofHeader('crit', ['x-policy']), rule: 'RFC 7515 §4.1.11' },
    challenge: {
      sent: 'a faulty proof',
      ...response(
        'error="invalid_dpop_proof" and algs',
        proven({ claims: { ath: 'x' } }),
        ({ status, headers: sent }) => {
          const told = sent.get('www-authenticate') ?? '';
          return status !== 401 || (/DPoP /.test(told) && /invalid_dpop_proof/.test(told) && /algs="/.test(told))
            ? undefined
            : told;
        },
      ),
      level: 'should',
      rule: 'RFC 9449 §7.1',
      remedy: 'Send DPoP error="invalid_dpop_proof", algs="ES256" with that 401',
    },
  },
);
