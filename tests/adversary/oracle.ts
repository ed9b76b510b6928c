import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { cryptoOf } from '../../src/probe/forge/forge.ts';

/** The possible outcomes of a request, apart from scope, by the contract's code. */
type Outcome = 'accepted' | 'authorization_header_missing' | 'invalid_header' | 'invalid_claims' | 'token_expired';

/** The outcomes that the contract allows for a request: several only if a token has faults that it does not rank. */
export interface Decision {
  readonly outcomes: readonly Outcome[];
  /** Granted scopes; meaningful when the token is accepted. */
  readonly scopes: readonly string[];
}

export type AlgorithmName = `${'RS' | 'PS' | 'ES'}${256 | 384 | 512}` | 'EdDSA';

export interface World {
  /** The `keys` member of each issuer's key set, as published, by the issuer's name. */
  readonly issuers: Readonly<Record<string, readonly unknown[]>>;
  readonly audience: string;
  /** Seconds since 1970, fractions included. */
  readonly nowSeconds: number;
  /** The settings with the same names. */
  readonly clockToleranceSeconds: number;
  readonly algorithms: readonly AlgorithmName[];
  readonly scopeClaim: readonly string[];
  readonly scopePrefix: string;
  readonly audienceClaim: string;
  readonly requiredClaims: Readonly<Record<string, string>>;
}

/** What the settings say by default. */
export const DEFAULTS = {
  clockToleranceSeconds: 0,
  algorithms: ['RS256' as AlgorithmName],
  scopeClaim: ['scope'],
  scopePrefix: '',
  audienceClaim: 'aud',
  requiredClaims: {},
} as const;

export type Members = Readonly<Record<string, unknown>>;

const MAX_TOKEN_BYTES = 16_384;
const TYPES = ['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt'];

const only = (outcome: Outcome): Decision => ({ outcomes: [outcome], scopes: [] });

/**
 * Decides on an Authorization value by the text of the contract only. It shares no code with the service, and is plain,
 * not fast.
 */
export function decide(authorization: string | null, world: World): Decision {
  const parts = (authorization ?? '').split(/[ \t]+/).filter((part) => part !== '');
  if (parts.length === 0) return only('authorization_header_missing');
  const [scheme = '', token = ''] = parts;
  if (scheme.toLowerCase() !== 'bearer' || parts.length !== 2) return only('invalid_header');
  return decideOnToken(token, world);
}

function decideOnToken(token: string, world: World): Decision {
  const jws = readJws(token, MAX_TOKEN_BYTES);
  const named = readHeader(jws?.header, world);
  if (jws === undefined || named === undefined) return only('invalid_header');
  const published = keysOf(jws.claims, world);
  // A value that is not a JSON object also has no issuer. Either fault may be reported.
  if (published === undefined)
    return jws.claims ? only('invalid_claims') : { outcomes: ['invalid_claims', 'invalid_header'], scopes: [] };
  const keys = world.algorithms.flatMap((algorithm) => usableKeys(published, algorithm, world.algorithms));
  const isSigned = keys.some(
    ({ kid, algorithm, publicKey }) =>
      kid === named.kid && algorithm === named.algorithm && isSignedBy(publicKey, algorithm, jws),
  );
  return isSigned && jws.claims ? decideOnClaims(jws.claims, world) : only('invalid_header');
}

/** The token chooses one of several issuers; with one issuer there is no choice. */
function keysOf(claims: Members | undefined, { issuers }: World): readonly unknown[] | undefined {
  const [only, ...others] = Object.keys(issuers);
  const iss = others.length === 0 ? only : own(claims ?? {}, 'iss');
  return typeof iss === 'string' && Object.hasOwn(issuers, iss) ? issuers[iss] : undefined;
}

type Jws = NonNullable<ReturnType<typeof readJws>>;

/** Takes a JWS in its compact serialization apart (RFC 7515 §7.1). */
export function readJws(text: string, maxBytes: number) {
  const encoded = text.split('.');
  const [header, payload, signature] = encoded.map(decode);
  if (text.length > maxBytes || encoded.length !== 3 || !header || !payload || !signature) return undefined;
  const input = Buffer.from(text.slice(0, text.lastIndexOf('.')), 'latin1');
  return { header: parse(header), claims: parse(payload), input, signature };
}

/** RFC 4648 §5 without padding and §3.5: one spelling for each byte string. */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return text !== '' && bytes.toString('base64url') === text ? bytes : undefined;
}

/** RFC 8259 §8.1: UTF-8, and no byte order mark. */
function parse(bytes: Buffer): Members | undefined {
  try {
    return membersOf(JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)));
  } catch {
    return undefined;
  }
}

export const membersOf = (value: unknown): Members | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined;

export const own = (members: Members, name: string): unknown =>
  Object.hasOwn(members, name) ? members[name] : undefined;

/** A member that is null counts as missing. */
const withoutNulls = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

/** RFC 9864: Ed25519 is EdDSA by another name. */
export const same = (name: unknown) => (name === 'Ed25519' ? 'EdDSA' : name);

function readHeader(header: Members | undefined, { algorithms }: World) {
  if (header === undefined || Object.hasOwn(header, 'crit')) return undefined;
  const algorithm = same(own(header, 'alg'));
  const typ = own(header, 'typ');
  const isTypeAllowed = typ === undefined || (typeof typ === 'string' && TYPES.includes(typ.toLowerCase()));
  const kid = own(header, 'kid');
  if (typeof algorithm !== 'string' || !algorithms.some((accepted) => accepted === algorithm)) return undefined;
  return isTypeAllowed && typeof kid === 'string' && kid !== '' ? { algorithm, kid } : undefined;
}

/** The members that a key for an algorithm must have, and the members that make the key. */
type Kind = readonly [type: Members, parameters: readonly string[]];
const RSA: Kind = [{ kty: 'RSA' }, ['n', 'e']];
const KINDS: Readonly<Record<string, Kind>> = {
  RS: RSA,
  PS: RSA,
  ES256: [{ kty: 'EC', crv: 'P-256' }, ['x', 'y']],
  ES384: [{ kty: 'EC', crv: 'P-384' }, ['x', 'y']],
  ES512: [{ kty: 'EC', crv: 'P-521' }, ['x', 'y']],
  EdDSA: [{ kty: 'OKP', crv: 'Ed25519' }, ['x']],
};
export const kindOf = (algorithm: string): Kind => KINDS[algorithm] ?? KINDS[algorithm.slice(0, 2)] ?? [{}, []];

function usableKeys(keys: readonly unknown[], algorithm: string, accepted: readonly AlgorithmName[]) {
  const first = accepted.find((other) => kindOf(other)[0].crv === kindOf(algorithm)[0].crv);
  return keys.flatMap((published) => {
    const key = withoutNulls(membersOf(published) ?? {});
    const kid = own(key, 'kid');
    if (typeof kid !== 'string' || kid === '' || !isForVerifying(key, algorithm)) return [];
    // A key without alg serves the first algorithm of its kind.
    if (own(key, 'alg') === undefined && algorithm !== first) return [];
    const publicKey = importKey(key, algorithm);
    return publicKey ? [{ algorithm, kid, publicKey }] : [];
  });
}

export function isForVerifying(key: Members, algorithm: string): boolean {
  const [use, alg, operations] = ['use', 'alg', 'key_ops'].map((name) => own(key, name));
  return (
    (use === undefined || use === 'sig') &&
    (alg === undefined || same(alg) === algorithm) &&
    (operations === undefined || (Array.isArray(operations) && operations.includes('verify')))
  );
}

const imported = new Map<string, KeyObject | undefined>();

/** Returns the key that these members make for an algorithm, if they make one. */
export function importKey(members: Members, algorithm: string): KeyObject | undefined {
  const [type, parameters] = kindOf(algorithm);
  if (Object.entries(type).some(([name, value]) => own(members, name) !== value)) return undefined;
  const values = parameters.map((name) => own(members, name));
  if (values.some((value) => typeof value !== 'string' || decode(value) === undefined)) return undefined;
  const jwk = { ...type, ...Object.fromEntries(parameters.map((name) => [name, members[name]])) };
  const id = JSON.stringify(jwk);
  if (!imported.has(id)) imported.set(id, importAnew(jwk));
  return imported.get(id);
}

export const numberOf = (text: unknown) => BigInt(`0x0${Buffer.from(String(text), 'base64url').toString('hex')}`);

/** RSA needs 2048 bits and an odd exponent of at least 3 (RFC 8017 §3.1), and an odd modulus. */
function importAnew(jwk: Members): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const [n, e] = [numberOf(jwk.n), numberOf(jwk.e)];
    const isSound = n >= 2n ** 2047n && n % 2n === 1n && e >= 3n && e % 2n === 1n;
    return jwk.kty !== 'RSA' || isSound ? key : undefined;
  } catch {
    return undefined;
  }
}

export function isSignedBy(key: KeyObject, algorithm: string, { input, signature }: Jws): boolean {
  const [hash, parameters] = cryptoOf(algorithm, key);
  return verify(hash, input, parameters, signature);
}

/** What no access token says that it is. */
const KIND = /^(?:id|id_token|refresh|refresh_token|offline|logout)$/i;
const LOGOUT = 'http://schemas.openid.net/event/backchannel-logout';

/** What a claim says that its token is, or nothing. */
function nameOfKind(value: unknown): string {
  if (Object.hasOwn(membersOf(value) ?? {}, LOGOUT)) return 'logout';
  return typeof value === 'string' ? value.replaceAll('-', '_') : '';
}

/**
 * A required value is met by itself, by a number or boolean with this JSON text, or by a list that has such a member.
 */
const meets = (claim: unknown, value: string) =>
  (Array.isArray(claim) ? claim : [claim]).some((one) =>
    typeof one === 'string'
      ? one === value
      : ['number', 'boolean'].includes(typeof one) && JSON.stringify(one) === value,
  );

const KIND_CLAIMS = 'token_use token_usage token_type tokenType TokenType tokenName tok_type typ events'.split(' ');

function decideOnClaims(given: Members, world: World): Decision {
  const claims = withoutNulls(given);
  const { issuers, audience, audienceClaim, requiredClaims, nowSeconds, clockToleranceSeconds } = world;
  const iss = own(claims, 'iss');
  if (typeof iss !== 'string' || !Object.hasOwn(issuers, iss)) return only('invalid_claims');
  const aud = own(claims, Object.hasOwn(claims, 'aud') ? 'aud' : audienceClaim);
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (audiences.some((one) => typeof one !== 'string') || !audiences.includes(audience)) return only('invalid_claims');
  if (Object.entries(requiredClaims).some(([name, value]) => !meets(own(claims, name), value)))
    return only('invalid_claims');
  const isLeft = (name: string) => !Object.hasOwn(requiredClaims, name);
  const isOther = (name: string) => isLeft(name) && KIND.test(nameOfKind(own(claims, name)));
  // Descope calls a refresh token so.
  if (KIND_CLAIMS.some(isOther) || (isLeft('drn') && own(claims, 'drn') === 'DSR')) return only('invalid_header');

  const exp = own(claims, 'exp');
  const others = ['iat', 'nbf'].map((name) => own(claims, name)).filter((time) => time !== undefined);
  const nbf = own(claims, 'nbf');
  const startsAt = Number(nbf ?? 0) - clockToleranceSeconds;
  const isExpired = typeof exp === 'number' && exp <= nowSeconds - clockToleranceSeconds;
  const isFaulty =
    !Number.isFinite(exp) ||
    others.some((time) => typeof time !== 'number') ||
    ['sub', 'client_id', 'jti'].some((name) => !['string', 'undefined'].includes(typeof own(claims, name))) ||
    (nbf !== undefined && !Number.isFinite(nbf)) ||
    startsAt > nowSeconds ||
    Object.hasOwn(claims, 'cnf');
  // A clock in whole seconds may treat an nbf in the current second as the future, which errs on the safe side.
  const isFaultyForSome = isFaulty || startsAt > Math.floor(nowSeconds);
  const outcomes: Outcome[] = isExpired || isFaulty ? [] : ['accepted'];
  if (isExpired) outcomes.push('token_expired');
  if (isFaultyForSome) outcomes.push('invalid_header');
  return { outcomes, scopes: scopesOf(claims, world) };
}

/** Only the first claim that the token has, and that is not empty, is used; only scopes with the prefix count. */
function scopesOf(claims: Members, { scopeClaim, scopePrefix }: World): readonly string[] {
  const values = scopeClaim.map((name) => (name.startsWith('/') ? pointedAt(claims, name) : own(claims, name)));
  const isEmpty = (one: unknown) =>
    one === undefined || one === null || one === '' || (Array.isArray(one) && one.length === 0);
  const value = values.find((candidate) => !isEmpty(candidate));
  const isList = Array.isArray(value) && value.every((element) => typeof element === 'string');
  const granted: readonly string[] = typeof value === 'string' ? value.split(/[ \t\n\v\f\r]/) : isList ? value : [];
  return granted.filter((one) => one.startsWith(scopePrefix)).map((one) => one.slice(scopePrefix.length));
}

/** RFC 6901, for pointers into objects only. */
const pointedAt = (claims: Members, pointer: string): unknown =>
  pointer
    .slice(1)
    .split('/')
    .reduce((value: unknown, name) => own(membersOf(value) ?? {}, name), claims);
