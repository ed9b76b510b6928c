import type { KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { ecKey, publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SCOPE, SIGNING_KID } from '../support/mint.ts';
import { signAs, signingKey } from '../support/signatures.ts';
import {
  anyMember,
  apply,
  type Change,
  changesOf,
  type Edit,
  edited,
  editsOf,
  json,
  type Member,
  ODD_VALUES,
  oneOf,
} from './edits.ts';

export const ISSUER = 'https://issuer.example.test/';
/** The other issuer of the worlds that have two: it names itself without a slash. */
export const OTHER_ISSUER = 'https://other.example.test/tenant';
/** When generated tokens are judged: between two seconds, so that fractions of one count. */
export const NOW_SECONDS = 1_900_000_000.5;

/** Private keys that sign generated tokens. The last two are published nowhere. */
const SIGNERS: Readonly<Record<string, () => KeyObject>> = {
  [SIGNING_KID]: () => rsaKey(SIGNING_KID),
  'first twin': () => rsaKey('first twin'),
  'second twin': () => rsaKey('second twin'),
  weak: () => rsaKey('weak', 1024),
  encrypting: () => rsaKey('encrypting'),
  stranger: () => rsaKey('stranger'),
  'strange and strong': () => rsaKey('strange and strong', 3072),
};

/** What the issuer publishes while tokens are mutated: good keys, twins, and every kind that must not verify. */
export function publishedKeys(): readonly unknown[] {
  return [
    null,
    { kty: 'RSA' },
    publish(rsaKey(SIGNING_KID), SIGNING_KID),
    publish(rsaKey('first twin'), 'twins'),
    publish(rsaKey('second twin'), 'twins'),
    publish(rsaKey('weak', 1024), 'weak'),
    publish(rsaKey('encrypting'), 'encrypting', { use: 'enc' }),
    publish(ecKey('elliptic'), 'elliptic'),
    { kty: 'oct', kid: 'symmetric', use: 'sig', k: Buffer.alloc(32, 1).toString('base64url') },
  ];
}

/** The algorithms that both issuers of a world with two sign with; PS512 and the others share RSA keys with RS256. */
const ALGORITHMS = ['RS256', 'RS512', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const;
/** Every key of both issuers has this `kid`. */
const SHARED_KID = 'shared';

/** Where a plan begins: a good token of an issuer. */
interface Base {
  readonly issuer: string;
  readonly alg: string;
  readonly kid: string;
}

/** By the name of the signer whose token it is. */
const BASES: ReadonlyMap<string, Base> = new Map(
  [ISSUER, OTHER_ISSUER].flatMap((issuer) =>
    ALGORITHMS.map((alg): [string, Base] => [`${alg} of ${issuer}`, { issuer, alg, kid: SHARED_KID }]),
  ),
);

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

/** How a token is made: readable, so that a counterexample can be understood. */
export interface Plan {
  /** Name of the good token that it begins with; by default that of the only issuer. */
  readonly base?: string;
  readonly header: readonly Change[];
  readonly payload: readonly Change[];
  readonly wrapHeader: readonly [string, string];
  readonly wrapPayload: readonly [string, string];
  readonly signer: string;
  readonly edits: readonly Edit[];
}

const goodHeader = ({ alg, kid }: Base): readonly Member[] => [
  ['alg', json(alg)],
  ['typ', '"JWT"'],
  ['kid', json(kid)],
];
const goodPayload = ({ issuer }: Base): readonly Member[] => [
  ['iss', json(issuer)],
  ['aud', json(AUDIENCE)],
  ['sub', '"client-1"'],
  ['iat', String(NOW_SECONDS - 10)],
  ['exp', String(NOW_SECONDS + 300)],
  ['scope', json(SCOPE)],
  ['token_use', '"access"'],
  ['permissions', json([`api/${SCOPE}`])],
];
const onlyBase: Base = { issuer: ISSUER, alg: 'RS256', kid: SIGNING_KID };

const wrapped = ([before, after]: readonly [string, string], text: string) => before + text + after;

/** Makes the token of a plan, with a real signature over whatever the plan left of header and payload. */
export function build({ base = '', header, payload, wrapHeader, wrapPayload, signer, edits }: Plan): string {
  const good = BASES.get(base) ?? onlyBase;
  const signedBy = BASES.get(signer);
  const scheme = signedBy?.alg ?? 'RS256';
  const key = signedBy ? signingKey(scheme, signedBy.issuer) : SIGNERS[signer]?.();
  const token = mintToken(ISSUER, {
    headerText: wrapped(wrapHeader, apply(goodHeader(good), header)),
    payloadText: wrapped(wrapPayload, apply(goodPayload(good), payload)),
    ...(key && { signWith: (input) => signAs(scheme, key, input) }),
  });
  return edited(token, edits);
}

const seconds = [-86_400, -300, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 300, 86_400].map((delta) =>
  String(NOW_SECONDS + delta),
);
const times = [
  ...seconds,
  ...ODD_VALUES,
  '0.1',
  `"${NOW_SECONDS + 300}"`,
  `[${NOW_SECONDS + 300}]`,
  '9007199254740993',
];
const algorithms = [...ALGORITHMS, 'Ed25519', 'PS512', 'rs256', 'RS256 ', 'RS384', 'HS256', 'none', 'None', 'nOnE'];
const keyIds = [
  ...[SIGNING_KID, 'twins', 'weak', 'encrypting', 'elliptic', 'symmetric', 'unknown', '__proto__', 'SIGNING-KEY'],
  ...[SHARED_KID, 'PS256 only', 'Ed25519 by name', 'for ES384, it says'],
];
const issuers = [
  ...[ISSUER, OTHER_ISSUER, `${OTHER_ISSUER}/`, ISSUER.slice(0, -1), `${ISSUER}/`, `${ISSUER}x`],
  ...[ISSUER.toUpperCase(), ` ${ISSUER}`, [ISSUER], { 0: ISSUER }],
];
const audiences = [
  ...[AUDIENCE, [AUDIENCE], ['other', AUDIENCE], [AUDIENCE, 1], [[AUDIENCE]], AUDIENCE.slice(0, -1)],
  ...['other', ['other'], { aud: AUDIENCE }],
];
const scopes = [
  ...[SCOPE, 'other', `other ${SCOPE}`, `${SCOPE}s`, `${SCOPE}\tother`, SCOPE.toUpperCase(), [SCOPE], 'read', '*', ' '],
];
const types = 'JWT jwt at+jwt AT+JWT application/at+jwt application/jwt id+jwt logout+jwt dpop+jwt '.split(' ');

const headerMember = fc.oneof(
  oneOf('alg', algorithms),
  oneOf('typ', types),
  { weight: 2, arbitrary: oneOf('kid', keyIds) },
  oneOf('crit', [['exp'], ['b64'], ['alg']]),
  oneOf('b64', []),
  oneOf('zip', ['DEF']),
  oneOf('cty', ['JWT']),
  fc.constant<Member>(['jwk', json(publish(rsaKey('stranger'), 'stranger'))]),
  fc.constantFrom<Member[]>(
    ['jku', '"https://evil.example.test/keys"'],
    ['x5u', '"https://evil.example.test/x"'],
    ['x5c', '["AA"]'],
  ),
  anyMember(['alg', 'typ', 'kid', 'crit', 'Alg', '__proto__', 'constructor']),
);
const payloadMember = fc.oneof(
  oneOf('iss', issuers),
  oneOf('aud', audiences),
  { weight: 2, arbitrary: fc.constantFrom(...times, ...seconds).map((text): Member => ['exp', text]) },
  { weight: 2, arbitrary: fc.constantFrom(...times).map((text): Member => ['nbf', text]) },
  fc.constantFrom(...times).map((text): Member => ['iat', text]),
  oneOf('scope', scopes),
  oneOf('scp', [SCOPE, [SCOPE], ['other', SCOPE], [SCOPE, 1], `${SCOPE}\tother`]),
  oneOf('permissions', [[SCOPE], [`api/${SCOPE}`], `other api/${SCOPE}`, ['api/'], { [SCOPE]: true }]),
  oneOf('realm', [{ roles: [SCOPE] }, { roles: SCOPE }, { roles: { [SCOPE]: {} } }, { roles: null }, [[SCOPE]]]),
  oneOf('token_use', ['access', 'id', 'ACCESS', ['access']]),
  oneOf('client_id', audiences),
  oneOf('azp', audiences),
  oneOf('cnf', [{ jkt: 'x' }]),
  anyMember(['iss', 'aud', 'exp', 'nbf', 'scope', 'sub', 'jti', 'Exp', '__proto__']),
);

const wrap = fc.oneof(
  { weight: 30, arbitrary: fc.constant(['', ''] as const) },
  fc.constantFrom(
    ...([' |\n', '\ufeff|', '|\0', '[|]', '|{}', '|,', '"|"', '/**/|', '|x'].map((pair) => pair.split('|')) as [
      string,
      string,
    ][]),
  ),
);
const planOf = <Signer>(signer: fc.Arbitrary<Signer>) => ({
  header: changesOf(headerMember, 3, 1.5),
  payload: changesOf(payloadMember, 3, 1.5),
  wrapHeader: wrap,
  wrapPayload: wrap,
  signer,
  edits: editsOf(1),
});

/** Plans for tokens: about a third ends up valid, the rest is wrong in one way or several at once. */
export const plans: fc.Arbitrary<Plan> = fc.record(
  planOf(fc.oneof({ weight: 12, arbitrary: fc.constant(SIGNING_KID) }, fc.constantFrom(...Object.keys(SIGNERS)))),
);

/**
 * The same for tokens of two issuers, mostly with these algorithms; one in five is signed as a token of another issuer or
 * algorithm.
 */
export function plansOfTwo(algorithms: readonly string[]): fc.Arbitrary<Plan> {
  const names = [...BASES.keys()];
  const accepted = names.filter((name) => algorithms.includes(BASES.get(name)?.alg ?? ''));
  const base = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...accepted) }, fc.constantFrom(...names));
  const signer = fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, fc.constantFrom(...names));
  return fc
    .tuple(base, signer)
    .chain(([begun, signed = begun]) => fc.record({ base: fc.constant(begun), ...planOf(fc.constant(signed)) }));
}
