import fc from 'fast-check';
import { ISSUER } from '../support/checked.ts';
import { publish, rsaKey, signingKey } from '../support/keys.ts';
import { AUDIENCE, baseOf, mintToken, SCOPE, SIGNING_KID } from '../support/mint.ts';
import { acceptedTokens, type TokenRow, tokenFaults } from '../support/token-faults.ts';
import { anyMember, edited, editsOf, few, member, merged } from './arbitraries.ts';

/** The second issuer of worlds that have two. Its identifier has no trailing slash. */
const OTHER_ISSUER = 'https://other.example.test/tenant';
/** The time at which generated tokens are verified: between two seconds, so fractions of a second count. */
export const NOW_SECONDS = 1_900_000_000.5;

/** The algorithms that both issuers of a world with two sign with; PS512 and the others share RSA keys with RS256. */
const ALGORITHMS = ['RS256', 'RS512', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const SHARED_KID = 'shared';

/** What each of two issuers publishes: keys of every kind under one `kid`, beside keys for one algorithm only. */
export function publishedByTwo(): Readonly<Record<string, readonly unknown[]>> {
  const keysOf = (issuer: string) => [
    null,
    publish(rsaKey('encrypting'), SHARED_KID, { use: 'enc', alg: 'RSA-OAEP' }),
    ...['RS256', 'ES256', 'ES384', 'ES512', 'EdDSA'].map((alg) => publish(signingKey(alg, issuer), SHARED_KID)),
    ...['RS512', 'PS256'].map((alg) => publish(signingKey(alg, issuer), SHARED_KID, { alg })),
    publish(signingKey('PS256', issuer), 'PS256 only', { alg: 'PS256' }),
    publish(signingKey('EdDSA', issuer), 'Ed25519 by name', { alg: 'Ed25519' }),
    publish(signingKey('ES256', issuer), 'for ES384, it says', { alg: 'ES384' }),
  ];
  return { [ISSUER]: keysOf(ISSUER), [OTHER_ISSUER]: keysOf(OTHER_ISSUER) };
}

/** How a token is made, readable in a counterexample. */
interface Plan {
  /** The good token that it begins with; `signer` is the name of the key. */
  readonly base: { readonly issuer: string; readonly alg: string; readonly kid: string; readonly signer: string };
  readonly changes: readonly TokenRow[];
  readonly edits: Parameters<typeof edited>[1];
}
const onlyBase = { issuer: ISSUER, alg: 'RS256', kid: SIGNING_KID, signer: SIGNING_KID };

/** Makes the token of a plan, with a real signature over the header and payload that the plan produced. */
export function build({ base: { issuer, alg, kid, signer }, changes, edits }: Plan): string {
  const made = changes.map(([, change]) => (typeof change === 'function' ? change(baseOf(issuer)) : change));
  const overrides = made.filter((one) => typeof one !== 'string');
  const claims = { token_use: 'access', permissions: [`api/${SCOPE}`] };
  const token = mintToken(issuer, {
    ...Object.assign(
      { signedAs: alg, key: signingKey(alg, signer) },
      ...overrides.map((one) => (one.key ? { signedAs: 'RS256', ...one } : one)),
    ),
    header: merged([{ alg, kid }, ...overrides.map((one) => one.header)]),
    claims: merged([claims, ...overrides.map((one) => one.claims)]),
    reshape: (minted) => overrides.reduce((reshaped, { reshape }) => reshape?.(reshaped) ?? reshaped, minted),
  });
  return edited(made.find((one) => typeof one === 'string') ?? token, edits);
}

const times = [-86_400, -300, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 300, 86_400].map((delta) => NOW_SECONDS + delta);
const audiences = [AUDIENCE, [AUDIENCE], ['other', AUDIENCE], [AUDIENCE, 1], 'other', { aud: AUDIENCE }];
const header = fc.oneof(
  member('alg', [...ALGORITHMS, 'Ed25519', 'PS512', 'HS256', 'none']),
  member('kid', ['twins', 'with-alg', 'for-ps256', SHARED_KID, 'PS256 only', 'Ed25519 by name', 'for ES384, it says']),
  anyMember(['alg', 'typ', 'kid', 'crit', 'Alg', '__proto__', 'constructor']),
);
const claims = fc.oneof(
  ...['exp', 'exp', 'nbf', 'iat'].map((name) => member(name, times)),
  member('iss', [ISSUER, OTHER_ISSUER, `${OTHER_ISSUER}/`]),
  ...['aud', 'client_id', 'azp'].map((name) => member(name, audiences)),
  member('scope', [SCOPE, 'other', `other ${SCOPE}`, `${SCOPE}\tother`, [SCOPE], `${SCOPE}s`]),
  member('scp', [SCOPE, [SCOPE], ['other', SCOPE], [SCOPE, 1], `${SCOPE}\tother`]),
  member('permissions', [[SCOPE], [`api/${SCOPE}`], `other api/${SCOPE}`, ['api/'], { [SCOPE]: true }]),
  member('realm', [{ roles: [SCOPE] }, { roles: SCOPE }, { roles: { [SCOPE]: {} } }, { roles: null }, [[SCOPE]]]),
  member('token_use', ['access', 'id', 'ACCESS', ['access']]),
  anyMember(['iss', 'aud', 'exp', 'nbf', 'scope', 'sub', 'jti', 'Exp', '__proto__']),
);
/** Servers reject headers of the length of the other one themselves. */
const sentFaults = tokenFaults.filter(({ reason }) => reason !== 'token_oversized');
/** Rows of the table of faults, each reason as likely as any other, and members that are anything. */
const change: fc.Arbitrary<TokenRow> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...acceptedTokens) },
  ...Object.values(Object.groupBy(sentFaults, ({ reason }) => reason)).map((faults = []) =>
    fc.constantFrom(...faults.map(({ name, token }): TokenRow => [name, token])),
  ),
  { weight: 4, arbitrary: header.map((changed): TokenRow => ['header', { header: changed }]) },
  { weight: 20, arbitrary: claims.map((changed): TokenRow => ['claims', { claims: changed }]) },
  fc
    .tuple(fc.constantFrom(...ALGORITHMS), fc.constantFrom(ISSUER, OTHER_ISSUER, 'first twin', 'stranger'))
    .map(([scheme, name]): TokenRow => {
      const by = { signedAs: scheme, key: signingKey(scheme, name) };
      return [`a signature of ${scheme} by ${name}`, by];
    }),
);
const plansFrom = (base: fc.Arbitrary<Plan['base']>) =>
  fc.record<Plan>({ base, changes: few(change, 3, 3), edits: editsOf(8) });

/** Plans for tokens: about a third are valid, and the rest have one or several faults. */
export const plans = plansFrom(fc.constant(onlyBase));

export const plansOfTwo = (algorithms: readonly string[]): fc.Arbitrary<Plan> => {
  const accepted = algorithms.filter((alg) => ALGORITHMS.includes(alg));
  const alg = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...accepted) }, fc.constantFrom(...ALGORITHMS));
  const issuer = fc.constantFrom(ISSUER, OTHER_ISSUER);
  return plansFrom(fc.tuple(issuer, alg).map(([name, alg]) => ({ issuer: name, alg, kid: SHARED_KID, signer: name })));
};

/** Every character that a header value may have (RFC 9110 §5.5); fetch() itself rejects the others. */
const character = fc
  .oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff }), fc.constant(0x09))
  .map((code) => String.fromCharCode(code));
const before = fc.constantFrom(
  ...['Bearer ', 'Bearer ', 'bearer\t', 'bEaReR  ', '\tBEARER ', 'Bearer', 'Bearer, ', 'Bearer\u00a0', 'B\u00e9arer '],
  ...['"Bearer" ', 'Basic ', 'DPoP ', ''],
);
const credentials = fc.oneof(
  { weight: 4, arbitrary: plans.map(build) },
  { weight: 1, arbitrary: fc.string({ unit: character, maxLength: 80 }) },
);
const after = fc.constantFrom(...['', '', '', '', ' ', '\t', ',', ' x', '\u00a0']);

/** Values of the Authorization header: forms of Bearer and a token, and anything a header may say. */
export const authorizations: fc.Arbitrary<string | null> = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(before, credentials, after).map((pieces) => pieces.join('')) },
  { weight: 1, arbitrary: fc.tuple(before, credentials, before, credentials).map((pieces) => pieces.join('')) },
  { weight: 1, arbitrary: fc.constantFrom(null, '', ' ', '\t') },
);
