import type { RefusalReason } from '../../../src/auth/types.ts';
import { AUDIENCE, nowSeconds } from '../../support/mint.ts';
import { attackersKeys, claims, headers, type TokenRow } from '../../support/token-rows.ts';
import { beforeKeys } from './faults-before-keys.ts';
import { withKeys } from './faults-with-keys.ts';

/** A token that is rejected, by the reason of the verifier. */
export interface Fault {
  readonly name: string;
  readonly reason: RefusalReason;
  readonly token: TokenRow[1];
}

export const acceptedTokens: readonly TokenRow[] = [
  ['nothing special', {}],
  ...headers('typ', 'RFC 7515 §4.1.9', [undefined, 'JWT', 'jwt', 'Jwt', 'at+jwt', 'AT+JWT', 'application/jwt']),
  ...headers('typ', 'RFC 9068 §2.1', ['application/at+jwt', 'Application/AT+JWT']),
  ...headers('x-note', 'RFC 7515 §4', [{ deep: [1] }]),
  ['keys of an attacker in its header', (issuer) => ({ header: attackersKeys(issuer) })],
  ...claims('aud', 'RFC 7519 §4.1.3', [[AUDIENCE], ['https://other.example.test/', AUDIENCE]]),
  ['no iat, sub and scope', { claims: { iat: undefined, sub: undefined, scope: undefined } }],
  ['an exp with a fraction', () => ({ claims: { exp: nowSeconds() + 3600.5 } })],
  ...claims('nbf', 'RFC 7519 §4.1.5', [1]),
  ['unknown claims', { claims: { azp: 'client-1', 'https://example.test/x': [{ y: null }], name: 'Zoë 🦊' } }],
];

const faultsIn = (table: Readonly<Partial<Record<RefusalReason, readonly TokenRow[]>>>): readonly Fault[] =>
  Object.entries(table).flatMap(([reason, rows]) =>
    rows.map(([name, token]) => ({ name, reason: reason as RefusalReason, token })),
  );

export const faultsBeforeKeys = faultsIn(beforeKeys);
/** Every fault of a token but its scope: known attacks with their advisories, and sections of standards. */
export const tokenFaults: readonly Fault[] = [...faultsBeforeKeys, ...faultsIn(withKeys)];
