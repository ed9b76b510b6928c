import fc from 'fast-check';
import { publish, rsaKey } from '../support/keys.ts';
import { SIGNING_KID } from '../support/mint.ts';
import { build, type Plan, plans } from './mutations.ts';

const none = ['', ''] as const;
const goodPlan: Plan = { header: [], payload: [], wrapHeader: none, wrapPayload: none, signer: SIGNING_KID, edits: [] };

/** Every byte that a header value may have (RFC 9110 §5.5); fetch() itself refuses the others. */
const BYTES = ['\t', ...Array.from({ length: 95 }, (_, at) => String.fromCharCode(0x20 + at))];
const OBSOLETE_BYTES = Array.from({ length: 128 }, (_, at) => String.fromCharCode(0x80 + at));
const text = (units: readonly string[], maxLength: number) => fc.string({ unit: fc.constantFrom(...units), maxLength });

const scheme = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('Bearer', 'bearer', 'BEARER', 'bEaReR') },
  fc.constantFrom('Basic', 'DPoP', 'Bearer,', 'Bearer:', '"Bearer"', 'Bearer\u00a0', 'B\u00e9arer', 'Bearer=', ''),
  text(BYTES, 8),
);
const gap = fc.oneof({ weight: 6, arbitrary: fc.constant(' ') }, text([' ', '\t', '\u00a0', ','], 4));
const credentials = fc.oneof(
  { weight: 4, arbitrary: fc.constant(goodPlan).map(build) },
  plans.map(build),
  text([...BYTES, ...OBSOLETE_BYTES], 60),
  fc.integer({ min: 8190, max: 9000 }).map((length) => 'A'.repeat(length)),
);

/** Values of the Authorization header: forms of Bearer and a token, and anything a header may say. */
export const authorizations: fc.Arbitrary<string | null> = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(gap, scheme, gap, credentials, gap).map((pieces) => pieces.join('')) },
  { weight: 1, arbitrary: fc.tuple(scheme, gap, credentials, gap, credentials).map((pieces) => pieces.join('')) },
  { weight: 2, arbitrary: text([...BYTES, ...OBSOLETE_BYTES], 80) },
  { weight: 1, arbitrary: fc.constant(null) },
);

const names = [SIGNING_KID, 'first twin', 'second twin', 'stranger'] as const;
const oddValue = fc.oneof(
  fc.constantFrom<unknown>('', ' ', '!!!', 'AQAB', 'AA', 'sig', 'enc', 'RS256', 'RS512', 'RSA', 'EC', 'oct', 1, 0),
  fc.constantFrom<unknown>(null, true, ['verify'], ['sign'], [], ['sign', 'verify'], 'verify', {}, { verify: true }),
  fc.jsonValue(),
);
const overrides = fc.dictionary(
  fc.constantFrom('kty', 'kid', 'use', 'alg', 'key_ops', 'n', 'e', 'd', 'x5c', '__proto__'),
  fc.oneof({ weight: 3, arbitrary: oddValue }, fc.constant(undefined)),
  { maxKeys: 2, noNullPrototype: true },
);
const oddKey = fc
  .tuple(fc.constantFrom(...names), fc.constantFrom(SIGNING_KID, SIGNING_KID, 'twins', 'other'), overrides)
  .map(([name, kid, changed]) => publish(rsaKey(name), kid, changed));
const key = fc.oneof(
  { weight: 4, arbitrary: fc.constant(SIGNING_KID).map((kid) => publish(rsaKey(kid), kid)) },
  { weight: 6, arbitrary: oddKey },
  fc.constant(1024).map((bits) => publish(rsaKey('weak', bits), SIGNING_KID)),
  fc.jsonValue(),
);
const signers = fc.constantFrom(...names, 'weak').map((signer): Plan => ({ ...goodPlan, signer }));
const unscoped: Plan = { ...goodPlan, payload: [{ how: 'remove', member: ['scope', ''] }] };

/** Key sets with good, odd and broken keys in any order, and a token that one of them may verify. */
export const keySets = fc.record({
  keys: fc.array(key, { maxLength: 5 }),
  plan: fc.oneof({ weight: 8, arbitrary: signers }, fc.constant(unscoped), { weight: 2, arbitrary: plans }),
});
