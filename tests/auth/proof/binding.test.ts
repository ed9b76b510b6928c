import { describe, expect, spyOn, test } from 'bun:test';
import { type BindingOptions, createBindingCheck } from '../../../src/auth/proof/binding.ts';
import { clientCertificateFromHeader } from '../../../src/auth/proof/certificate.ts';
import type { Scheme } from '../../../src/auth/types.ts';
import { certificate } from '../../support/certificates.ts';
import { anyProof, bound, makeProof, useVerified } from '../../support/proof.ts';

const publicUrl = 'https://api.example.test';
const url = `${publicUrl}/api/private`;
const token = 'header.payload.signature';
const claimsWith = (cnf?: unknown) => ({ iss: '', aud: '', exp: 0, ...(cnf !== undefined && { cnf }) });

describe('createBindingCheck()', () => {
  const held = certificate('a');
  const certified = { 'x5t#S256': held.thumbprint };
  const both = { ...bound, ...certified };

  const methods = ['jwk', 'jwe', 'kid', 'jku', 'osc'];
  const unset = { replayStore: undefined, clientCertificate: undefined };
  type Outcome = string | undefined;
  /** One outcome without, one with the option `clientCertificate`, if it differs. No request has a proof. */
  const rows: readonly (readonly [scheme: Scheme, cnf: unknown, without: Outcome, withIt?: Outcome])[] = [
    ['Bearer', undefined, undefined],
    ['Bearer', bound, 'token_key_bound'],
    ['Bearer', null, 'token_bound'],
    ['Bearer', {}, 'token_bound'],
    ['Bearer', [certified], 'token_bound'],
    ['Bearer', JSON.stringify(certified), 'token_bound'],
    ['Bearer', certified, 'token_bound', undefined],
    ['Bearer', { 'x5t#S256': certificate('b').thumbprint }, 'token_bound', 'certificate_mismatch'],
    ['Bearer', { 'x5t#S256': 1 }, 'token_bound', 'certificate_mismatch'],
    ['Bearer', both, 'token_key_bound'],
    ['Bearer', { ...certified, kid: 'x' }, 'token_bound', 'token_confirmation_unsupported'],
    ['Bearer', { jwk: {} }, 'token_bound'],
    ['Bearer', { 'kc-jkt-type': 'DPoP' }, 'token_bound'],
    ['Bearer', { ...certified, 'kc-jkt-type': 'DPoP' }, 'token_bound', undefined],
    ['DPoP', undefined, 'token_unbound'],
    ['DPoP', null, 'token_unbound'],
    ['DPoP', { jkt: 1 }, 'token_unbound'],
    // RFC 7800 §3.1: the registered methods are rejected, and unregistered ones are ignored (Keycloak).
    ...methods.map((name) => ['DPoP', { ...bound, [name]: 'x' }, 'token_confirmation_unsupported'] as const),
    ['DPoP', { ...bound, 'kc-jkt-type': 'DPoP' }, 'proof_missing'],
    ['DPoP', { kid: 'x' }, 'token_confirmation_unsupported'],
    ['DPoP', certified, 'token_certificate_bound', 'token_unbound'],
    ['DPoP', both, 'token_certificate_bound', 'proof_missing'],
    ['DPoP', { ...both, 'x5t#S256': 'x' }, 'token_certificate_bound', 'certificate_mismatch'],
    ['DPoP', bound, 'proof_missing'],
  ];
  type Options = Partial<BindingOptions>;
  const outcomeOf = async (options: Options, scheme: Scheme, cnf: unknown, proof: string | null = null) => {
    const check = createBindingCheck({ ...anyProof, ...unset, dpop: 'on', publicUrl, ...options });
    const presented = { method: 'GET', url, token, proof };
    return (await useVerified(check(new Request(url), scheme, presented, claimsWith(cnf)))) as Outcome;
  };
  const clientCertificate = () => held.der;
  for (const [scheme, cnf, without, ...different] of rows) {
    const [withIt] = [...different, without];
    test(`returns ${without}, with a certificate ${withIt}, for ${scheme} and cnf ${JSON.stringify(cnf)}`, async () => {
      expect(await outcomeOf({}, scheme, cnf)).toBe(without);
      expect(await outcomeOf({ clientCertificate }, scheme, cnf)).toBe(withIt);
      if (scheme === 'DPoP') return;
      // Where no proof is accepted, none is asked for.
      const off = (reason: Outcome) => (reason === 'token_key_bound' ? 'token_bound' : reason);
      expect(await outcomeOf({ dpop: 'off' }, scheme, cnf)).toBe(off(without));
      expect(await outcomeOf({ dpop: 'off', clientCertificate }, scheme, cnf)).toBe(off(withIt));
      expect(await outcomeOf({ dpop: 'required', clientCertificate }, scheme, cnf)).toBe('dpop_required');
    });
  }

  test.each<[string, (request: never) => unknown, said: string | undefined]>([
    ['throws', () => JSON.parse('secret'), 'threw SyntaxError'],
    [
      'reads a connection that it does not have',
      () => Object(undefined).socket.getPeerCertificate(),
      'threw TypeError',
    ],
    ['is asynchronous', async () => held.der, 'returned a promise, but it must be synchronous'],
    ['returns a chain', () => held.pem + held.pem, 'returned no DER, PEM or X509Certificate'],
    ['returns nothing', () => undefined, undefined],
    ['returns another certificate', () => certificate('b').der, undefined],
    ['is the name of a header that has something else', clientCertificateFromHeader('authorization'), undefined],
  ])('warns once if the function clientCertificate %s', async (_, clientCertificate, said) => {
    const warn = spyOn(console, 'warn').mockImplementation(() => {});
    const check = createBindingCheck({
      ...anyProof,
      ...unset,
      dpop: 'off',
      clientCertificate: clientCertificate as never,
    });
    const presented = { method: 'GET', url, token, proof: null };
    const request = new Request(url, { headers: { authorization: 'x' } });
    for (const _ of 'two') await check(request, 'Bearer', presented, claimsWith(certified));
    const warnings = warn.mock.calls.map(String);
    warn.mockRestore();
    const prefix = 'Cannot read client certificates: the function clientCertificate';
    expect(warnings).toEqual(said ? [`${prefix} ${said}. Tokens that are bound to a certificate are rejected`] : []);
  });

  test('accepts a token that is bound to a key and a certificate only with both, and uses no proof without the certificate', async () => {
    const now = () => 1_900_000_000_000;
    const proof = makeProof({ url, token, nowSeconds: 1_900_000_000 });
    const present = (certificate: Buffer | undefined) =>
      outcomeOf({ clientCertificate: () => certificate ?? JSON.parse(''), now }, 'DPoP', both, proof);
    expect(await present(undefined)).toBe('certificate_unreadable');
    expect(await present(held.der)).toBeUndefined();
    // Guards without a store of their own share one.
    expect(await present(held.der)).toBe('proof_replayed');
  });
});
