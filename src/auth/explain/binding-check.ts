import { isJsonObject, type Members } from '../jose/encoding.ts';
import type { Check, Explained } from './checks.ts';
import { list, show } from './words.ts';

/** Whether the token is bound to a certificate, or to a key, by this method. */
export function isBoundBy(method: 'jkt' | 'x5t#S256', { cnf }: Members): boolean {
  return isJsonObject(cnf) && method in cnf;
}

/** Returns the check of the proof or certificate that a token needs, which it does not have by itself. */
export function describeBinding({ claims, options, nameOf }: Explained): Check {
  const { dpop, dpopAlgorithms, clientCertificate } = options;
  const header = nameOf('clientCertificate');
  const isByCertificate = isBoundBy('x5t#S256', claims);
  const certificates = isByCertificate ? `, ${header} is ${clientCertificate ? 'set' : 'not set'}` : '';
  const readCertificate = `set ${header} to ${header === 'clientCertificate' ? 'a function that returns' : 'the header in which a proxy sends'} the client's certificate`;
  const acceptBound =
    isByCertificate && !isBoundBy('jkt', claims)
      ? readCertificate
      : `set ${nameOf('dpop')} to on for clients that send proofs`;
  return {
    name: 'binding',
    has: claims.cnf === undefined && dpop !== 'required' ? undefined : show(claims.cnf),
    wants: `${nameOf('dpop')} is ${dpop}${certificates}`,
    advice: {
      token_bound: `${acceptBound}, or request a token that is not bound`,
      token_certificate_bound: readCertificate,
      token_confirmation_unsupported:
        'request a token that is bound to a key (jkt), to a certificate (x5t#S256) or not at all',
      certificate_missing: "a request also needs the client's certificate, which cannot be checked here",
      token_unbound: `set ${nameOf('dpop')} to on to accept tokens without a proof as well`,
      proof_missing: `a request also needs a proof in the header DPoP, signed with one of ${nameOf('dpopAlgorithms')} (${list(dpopAlgorithms)}), which cannot be checked here`,
    },
  };
}
