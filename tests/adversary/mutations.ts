import type { KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { ecKey, publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SCOPE, SIGNING_KID } from '../support/mint.ts';
import { EDITS, type Edit } from './edits.ts';

export const ISSUER = 'https://issuer.example.test/';
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

/** A member of a JSON object by its text, so that names can repeat and numbers need not fit. */
type Member = readonly [name: string, valueText: string];

interface Change {
  readonly how: 'set' | 'append' | 'prepend' | 'remove';
  readonly member: Member;
}

/** How a token is made: readable, so that a counterexample tells by itself what was done. */
export interface Plan {
  readonly header: readonly Change[];
  readonly payload: readonly Change[];
  readonly wrapHeader: readonly [string, string];
  readonly wrapPayload: readonly [string, string];
  readonly signer: string;
  readonly edits: readonly Edit[];
}

const json = (value: unknown) => JSON.stringify(value);
const goodHeader: readonly Member[] = [
  ['alg', '"RS256"'],
  ['typ', '"JWT"'],
  ['kid', json(SIGNING_KID)],
];
const goodPayload: readonly Member[] = [
  ['iss', json(ISSUER)],
  ['aud', json(AUDIENCE)],
  ['sub', '"client-1"'],
  ['iat', String(NOW_SECONDS - 10)],
  ['exp', String(NOW_SECONDS + 300)],
  ['scope', json(SCOPE)],
];

function apply(members: readonly Member[], changes: readonly Change[], [before, after]: readonly [string, string]) {
  let result = members;
  for (const { how, member } of changes) {
    const others = result.filter(([name]) => name !== member[0]);
    if (how === 'remove') result = others;
    else if (how === 'set') result = [...others, member];
    else result = how === 'append' ? [...result, member] : [member, ...result];
  }
  return `${before}{${result.map(([name, text]) => `${json(name)}:${text}`).join(',')}}${after}`;
}

/** Makes the token of a plan, with a real signature over whatever the plan left of header and payload. */
export function build({ header, payload, wrapHeader, wrapPayload, signer, edits }: Plan): string {
  const key = SIGNERS[signer]?.();
  const token = mintToken(ISSUER, {
    headerText: apply(goodHeader, header, wrapHeader),
    payloadText: apply(goodPayload, payload, wrapPayload),
    ...(key && { key }),
  });
  return edits.reduce((edited, edit) => EDITS[edit.how](edited, edit), token);
}

const seconds = [-86_400, -300, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 300, 86_400].map((delta) =>
  String(NOW_SECONDS + delta),
);
const oddValues = [
  'null',
  'true',
  'false',
  '0',
  '-1',
  '-0',
  '""',
  '" "',
  '[]',
  '{}',
  '[[]]',
  '1e400',
  '-1e400',
  '1e308',
];
const times = [...seconds, ...oddValues, '0.1', `"${NOW_SECONDS + 300}"`, `[${NOW_SECONDS + 300}]`, '9007199254740993'];
const algorithms = [
  'RS256',
  'rs256',
  'RS256 ',
  'RS384',
  'RS512',
  'PS256',
  'HS256',
  'ES256',
  'EdDSA',
  'none',
  'None',
  'nOnE',
];
const keyIds = [
  SIGNING_KID,
  'twins',
  'weak',
  'encrypting',
  'elliptic',
  'symmetric',
  'unknown',
  '__proto__',
  'SIGNING-KEY',
];
const issuers = [
  ISSUER,
  ISSUER.slice(0, -1),
  `${ISSUER}/`,
  `${ISSUER}x`,
  ISSUER.toUpperCase(),
  ` ${ISSUER}`,
  [ISSUER],
  { 0: ISSUER },
];
const audiences = [
  AUDIENCE,
  [AUDIENCE],
  ['other', AUDIENCE],
  [AUDIENCE, 1],
  [[AUDIENCE]],
  AUDIENCE.slice(0, -1),
  'other',
  ['other'],
  { aud: AUDIENCE },
];
const scopes = [
  SCOPE,
  'other',
  `other ${SCOPE}`,
  `${SCOPE}s`,
  `${SCOPE}\tother`,
  SCOPE.toUpperCase(),
  [SCOPE],
  'read',
  '*',
  ' ',
];
const types = [
  'JWT',
  'jwt',
  'at+jwt',
  'AT+JWT',
  'application/at+jwt',
  'application/jwt',
  'id+jwt',
  'logout+jwt',
  'dpop+jwt',
  '',
];

const oneOf = (name: string, values: readonly unknown[]): fc.Arbitrary<Member> =>
  fc.constantFrom(...values.map(json), ...oddValues).map((text): Member => [name, text]);
const anyMember = (names: readonly string[]): fc.Arbitrary<Member> =>
  fc.tuple(fc.oneof(fc.constantFrom(...names), fc.string()), fc.jsonValue().map(json));

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
  oneOf('scp', [SCOPE, [SCOPE]]),
  oneOf('permissions', [[SCOPE]]),
  oneOf('cnf', [{ jkt: 'x' }]),
  anyMember(['iss', 'aud', 'exp', 'nbf', 'scope', 'sub', 'jti', 'Exp', '__proto__']),
);

const changes = (member: fc.Arbitrary<Member>) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Change[]>([]) },
    {
      weight: 2,
      arbitrary: fc.array(fc.record<Change>({ how: fc.constantFrom('set', 'append', 'prepend', 'remove'), member }), {
        minLength: 1,
        maxLength: 3,
      }),
    },
  );
const wrap = fc.oneof(
  { weight: 30, arbitrary: fc.constant(['', ''] as const) },
  fc.constantFrom(
    [' ', '\n'],
    ['\ufeff', ''],
    ['', '\0'],
    ['[', ']'],
    ['', '{}'],
    ['', ','],
    ['"', '"'],
    ['/**/', ''],
    ['', 'x'] as const,
  ),
);
/** A character a header value may have, and some that base64url has not. */
const letters = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom(...'ABCxyz019-_.'), minLength: 1, maxLength: 4 }) },
  fc.string({ unit: fc.constantFrom(...'=+/ ~,;:"\\%{}[]\t\u00e9\u00ff'), minLength: 1, maxLength: 3 }),
  fc.constantFrom('e30', 'eyJhbGciOiJub25lIn0', 'AA', 'AAAA', 'null'),
);
const place = fc.double({ min: 0, max: 0.999999, noNaN: true });
const edit = fc.record<Edit>({
  how: fc.constantFrom(...(Object.keys(EDITS) as (keyof typeof EDITS)[])),
  from: place,
  to: place,
  text: letters,
});

/** Plans for tokens: about a third ends up valid, the rest is wrong in one way or several at once. */
export const plans: fc.Arbitrary<Plan> = fc.record({
  header: changes(headerMember),
  payload: changes(payloadMember),
  wrapHeader: wrap,
  wrapPayload: wrap,
  signer: fc.oneof({ weight: 12, arbitrary: fc.constant(SIGNING_KID) }, fc.constantFrom(...Object.keys(SIGNERS))),
  edits: fc.oneof(
    { weight: 1, arbitrary: fc.constant<Edit[]>([]) },
    { weight: 1, arbitrary: fc.array(edit, { minLength: 1, maxLength: 2 }) },
  ),
});
