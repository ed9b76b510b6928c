import { isUtf8 } from 'node:buffer';
import { createPublicKey, type KeyObject, verify } from 'node:crypto';

/** What a request can come to, scope aside, by the contract's code; the last is what an issuer without usable keys causes. */
export type Outcome =
  | 'accepted'
  | 'authorization_header_missing'
  | 'invalid_header'
  | 'invalid_claims'
  | 'token_expired'
  | 'key_set_unavailable';

/** What the contract lets a request come to: more than one outcome only where a token has faults that it does not rank. */
export interface Judgement {
  readonly outcomes: readonly Outcome[];
  /** Granted scopes; meaningful when the token is accepted. */
  readonly scopes: readonly string[];
}

/** The world in which a request is judged. */
export interface World {
  readonly issuer: string;
  readonly audience: string;
  /** Seconds since 1970, fractions included. */
  readonly nowSeconds: number;
  readonly toleranceSeconds: number;
  /** The `keys` member of the key set, as published. */
  readonly keys: readonly unknown[];
}

type Members = Readonly<Record<string, unknown>>;

const MAX_TOKEN_BYTES = 8192;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const TYPES = ['jwt', 'at+jwt', 'application/at+jwt'];

const only = (outcome: Outcome): Judgement => ({ outcomes: [outcome], scopes: [] });

/**
 * Judges an Authorization value (null: no such header) by the contract's text alone. It is written against node:crypto, shares no
 * code with the service and is as plain as it can be: what matters is that it is right, not that it is fast.
 */
export function judge(authorization: string | null, world: World): Judgement {
  const parts = (authorization ?? '').split(/[ \t]+/).filter((part) => part !== '');
  if (parts.length === 0) return only('authorization_header_missing');
  const [scheme = '', token = ''] = parts;
  if (scheme.toLowerCase() !== 'bearer' || parts.length !== 2) return only('invalid_header');
  return judgeToken(token, world);
}

function judgeToken(token: string, world: World): Judgement {
  const encoded = token.split('.');
  const [header, payload, signature] = encoded.map(decode);
  if (token.length > MAX_TOKEN_BYTES || encoded.length !== 3 || !header || !payload || !signature) {
    return only('invalid_header');
  }
  const kid = keyIdOf(parse(header));
  if (kid === undefined) return only('invalid_header');

  const input = Buffer.from(token.slice(0, token.lastIndexOf('.')), 'latin1');
  const judgeWith = (keys: readonly UsableKey[]) => {
    if (keys.length === 0) return only('key_set_unavailable');
    const isSigned = keys.some((key) => key.kid === kid && verify('RSA-SHA256', input, key.publicKey, signature));
    const claims = parse(payload);
    return isSigned && claims ? judgeClaims(claims, world) : only('invalid_header');
  };
  // Whether a key in a loose spelling of base64url is malformed is left open, so either is right.
  const keys = usableKeys(world.keys);
  const strict = judgeWith(keys.filter(({ isCanonical }) => isCanonical));
  const loose = judgeWith(keys);
  return { outcomes: [...strict.outcomes, ...loose.outcomes], scopes: loose.scopes };
}

/** RFC 4648 §5 without padding and §3.5: one spelling for each byte string. */
function decode(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text) || text.length % 4 === 1) return undefined;
  const spareBits = { 0: 0, 2: 0b1111, 3: 0b11 }[text.length % 4] ?? 0;
  return (ALPHABET.indexOf(text.slice(-1)) & spareBits) === 0 ? Buffer.from(text, 'base64url') : undefined;
}

/** RFC 8259 §8.1: UTF-8; a byte order mark may be skipped. */
function parse(bytes: Buffer): Members | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}

const own = (members: Members, name: string): unknown => (Object.hasOwn(members, name) ? members[name] : undefined);

function keyIdOf(header: Members | undefined): string | undefined {
  if (header === undefined || own(header, 'alg') !== 'RS256' || Object.hasOwn(header, 'crit')) return undefined;
  const typ = own(header, 'typ');
  const isTypeAllowed = typ === undefined || (typeof typ === 'string' && TYPES.includes(typ.toLowerCase()));
  const kid = own(header, 'kid');
  return isTypeAllowed && typeof kid === 'string' && kid !== '' ? kid : undefined;
}

interface UsableKey {
  readonly kid: string;
  readonly publicKey: KeyObject;
  readonly isCanonical: boolean;
}

function usableKeys(keys: readonly unknown[]): readonly UsableKey[] {
  return keys.flatMap((key) => {
    const members = typeof key === 'object' && key !== null ? (key as Members) : {};
    const [n, e] = [own(members, 'n'), own(members, 'e')];
    const publicKey = isForVerifying(members) ? importKey(n, e) : undefined;
    const isCanonical = [n, e].every((text) => decode(String(text)) !== undefined);
    return publicKey ? [{ kid: String(own(members, 'kid')), publicKey, isCanonical }] : [];
  });
}

function isForVerifying(key: Members): boolean {
  const kid = own(key, 'kid');
  const operations = own(key, 'key_ops');
  return (
    own(key, 'kty') === 'RSA' &&
    typeof kid === 'string' &&
    kid !== '' &&
    [undefined, 'sig'].includes(own(key, 'use') as undefined) &&
    [undefined, 'RS256'].includes(own(key, 'alg') as undefined) &&
    (operations === undefined || (Array.isArray(operations) && operations.includes('verify')))
  );
}

const imported = new Map<string, KeyObject | undefined>();

function importKey(n: unknown, e: unknown): KeyObject | undefined {
  if (typeof n !== 'string' || typeof e !== 'string') return undefined;
  const name = `${n}.${e}`;
  if (!imported.has(name)) imported.set(name, importAnew(n, e));
  return imported.get(name);
}

function importAnew(n: string, e: string): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' });
    const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
    const isOdd = (Buffer.from(n, 'base64url').at(-1) ?? 0) % 2 === 1;
    return modulusLength >= 2048 && isOdd && publicExponent >= 3n && publicExponent % 2n === 1n ? key : undefined;
  } catch {
    return undefined;
  }
}

function judgeClaims(claims: Members, { issuer, audience, nowSeconds, toleranceSeconds }: World): Judgement {
  if (own(claims, 'iss') !== issuer) return only('invalid_claims');
  const aud = own(claims, 'aud');
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  const isAudience = audiences.every((one) => typeof one === 'string') && audiences.includes(audience);
  if (!isAudience) return only('invalid_claims');

  const exp = own(claims, 'exp');
  const others = ['iat', 'nbf'].map((name) => own(claims, name)).filter((time) => time !== undefined);
  const nbf = own(claims, 'nbf');
  const startsAt = Number(nbf ?? 0) - toleranceSeconds;
  const isExpired = typeof exp === 'number' && exp <= nowSeconds - toleranceSeconds;
  const isFaulty =
    !Number.isFinite(exp) ||
    others.some((time) => typeof time !== 'number') ||
    (nbf !== undefined && !Number.isFinite(nbf)) ||
    startsAt > nowSeconds ||
    Object.hasOwn(claims, 'cnf');
  // A clock of whole seconds may find an nbf of this very second still ahead: that errs on the safe side.
  const isFaultyForSome = isFaulty || startsAt > Math.floor(nowSeconds);
  const outcomes: Outcome[] = isExpired || isFaulty ? [] : ['accepted'];
  if (isExpired) outcomes.push('token_expired');
  if (isFaultyForSome) outcomes.push('invalid_header');
  const scope = own(claims, 'scope');
  return {
    outcomes,
    scopes: scopesIn(scope),
  };
}

function scopesIn(scope: unknown): readonly string[] {
  if (typeof scope === 'string') return scope.split(/\s/).filter((one) => one !== '');
  const isList = Array.isArray(scope) && scope.every((one) => typeof one === 'string');
  return isList ? scope : [];
}
