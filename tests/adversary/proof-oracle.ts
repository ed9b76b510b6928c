import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { decode, isSignedBy, type Members, own, parse } from './oracle.ts';

/** What a proof can come to, in the words of RFC 9449 §7.1. */
export type ProofOutcome = 'accepted' | 'invalid_dpop_proof' | 'invalid_token';

/** The request that a proof comes with, and when. */
export interface ProofWorld {
  readonly publicUrl: string;
  readonly method: string;
  /** As it was sent. */
  readonly path: string;
  readonly token: string;
  readonly thumbprint: string;
  readonly nowSeconds: number;
}

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');

/**
 * Judges the value of a DPoP header by the text of the contract only, except for replays. Like the oracle for tokens it is written against
 * node:crypto, shares no code with the service and is as plain as it can be.
 */
export function judgeProof(proof: string | null, world: ProofWorld): ProofOutcome {
  if (proof === null || proof.length > 4096) return 'invalid_dpop_proof';
  const encoded = proof.split('.');
  const [header, payload] = encoded.slice(0, 2).map((part) => parse(decode(part) ?? Buffer.alloc(0)));
  const signature = decode(encoded[2] ?? '');
  if (encoded.length !== 3 || !header || !payload || !signature) return 'invalid_dpop_proof';
  if (own(header, 'typ') !== 'dpop+jwt' || Object.hasOwn(header, 'crit')) return 'invalid_dpop_proof';

  const jwk = membersOf(own(header, 'jwk'));
  const input = Buffer.from(proof.slice(0, proof.lastIndexOf('.')), 'latin1');
  const isSigned = jwk !== undefined && isSignedByJwk(jwk, own(header, 'alg'), input, signature);
  if (!isSigned || !areClaimsGood(payload, world)) return 'invalid_dpop_proof';
  return thumbprintOf(jwk) === world.thumbprint ? 'accepted' : 'invalid_token';
}

const membersOf = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined;

const KINDS: Readonly<
  Record<string, readonly [type: Readonly<Record<string, string>>, parameters: readonly string[]]>
> = {
  ES256: [{ kty: 'EC', crv: 'P-256' }, ['x', 'y']],
  ES384: [{ kty: 'EC', crv: 'P-384' }, ['x', 'y']],
  EdDSA: [{ kty: 'OKP', crv: 'Ed25519' }, ['x']],
  Ed25519: [{ kty: 'OKP', crv: 'Ed25519' }, ['x']],
  RS256: [{ kty: 'RSA' }, ['n', 'e']],
  PS256: [{ kty: 'RSA' }, ['n', 'e']],
};

function isSignedByJwk(jwk: Members, algorithm: unknown, input: Buffer, signature: Buffer): boolean {
  if (typeof algorithm !== 'string' || !Object.hasOwn(KINDS, algorithm)) return false;
  if (PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name)) || !isForVerifying(jwk, algorithm)) return false;
  const [type = {}, parameters = []] = KINDS[algorithm] ?? [];
  const publicKey = importKey(jwk, type, parameters);
  if (publicKey === undefined) return false;
  if (jwk.kty === 'RSA' ? !isSoundRsaKey(jwk) : jwk.kty === 'OKP' && isOfSmallOrder(jwk)) return false;
  if (jwk.kty === 'EC' && signature.length !== (algorithm === 'ES256' ? 64 : 96)) return false;
  return isSignedBy({ algorithm, publicKey }, input, signature);
}

function isForVerifying(jwk: Members, algorithm: unknown): boolean {
  const names = ['EdDSA', 'Ed25519'].includes(String(algorithm)) ? ['EdDSA', 'Ed25519'] : [algorithm];
  const operations = own(jwk, 'key_ops');
  return (
    [undefined, 'sig'].includes(own(jwk, 'use') as undefined) &&
    [undefined, ...names].includes(own(jwk, 'alg') as undefined) &&
    (operations === undefined || (Array.isArray(operations) && operations.includes('verify')))
  );
}

const imported = new Map<string, KeyObject | undefined>();

/** Every value in its one spelling; node:crypto itself would take others. */
function importKey(
  jwk: Members,
  type: Readonly<Record<string, string>>,
  names: readonly string[],
): KeyObject | undefined {
  const values = names.map((name) => own(jwk, name));
  const isOfType = Object.entries(type).every(([name, value]) => own(jwk, name) === value);
  if (!isOfType || !values.every((value) => typeof value === 'string' && decode(value) !== undefined)) return undefined;
  const key = { ...type, ...Object.fromEntries(names.map((name, index) => [name, values[index]])) };
  const id = JSON.stringify(key);
  if (!imported.has(id)) imported.set(id, importAnew(key, names));
  return imported.get(id);
}

function importAnew(jwk: Readonly<Record<string, unknown>>, names: readonly string[]): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const again: Members = { ...key.export({ format: 'jwk' }) };
    // Nothing but this spelling of these values makes this key.
    return names.every((name) => again[name] === jwk[name]) ? key : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 8032 §5.1: y is 0, 1 or -1 for points of order 1, 2 and 4; doubling one of order 8 gives one of order 4, whose y is 0. */
function isOfSmallOrder(jwk: Members): boolean {
  const prime = 2n ** 255n - 19n;
  const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
  const bytes = decode(String(own(jwk, 'x'))) ?? Buffer.alloc(0);
  const y = BigInt(`0x0${Buffer.from(bytes).reverse().toString('hex')}`) % 2n ** 255n;
  return [y, y - 1n, y + 1n, d * y ** 4n + 2n * y ** 2n - 1n].some((value) => value % prime === 0n);
}

function isSoundRsaKey(jwk: Members): boolean {
  const [n, e] = ['n', 'e'].map((name) => BigInt(`0x${decode(String(own(jwk, name)))?.toString('hex')}`));
  if (n === undefined || e === undefined) return false;
  return n >= 2n ** 2047n && n < 2n ** 4096n && n % 2n === 1n && e >= 3n && e < 2n ** 32n && e % 2n === 1n;
}

/** RFC 7638 §3: the required members in the order of their names. */
function thumbprintOf(jwk: Members): string {
  const names =
    { EC: ['crv', 'kty', 'x', 'y'], OKP: ['crv', 'kty', 'x'], RSA: ['e', 'kty', 'n'] }[String(jwk.kty)] ?? [];
  return sha256(`{${names.map((name) => `"${name}":${JSON.stringify(jwk[name])}`).join(',')}}`);
}

function areClaimsGood(claims: Members, { publicUrl, method, path, token, nowSeconds }: ProofWorld): boolean {
  const [iat, jti, htu] = ['iat', 'jti', 'htu'].map((name) => own(claims, name));
  return (
    own(claims, 'htm') === method &&
    typeof htu === 'string' &&
    normalize(htu) === normalize(publicUrl + path) &&
    typeof iat === 'number' &&
    iat >= nowSeconds - 60 &&
    iat <= nowSeconds + 60 &&
    own(claims, 'ath') === sha256(token) &&
    typeof jti === 'string' &&
    jti.length >= 1 &&
    jti.length <= 256
  );
}

/** RFC 3986, by its own appendix B and its own steps: taken apart, normalized, put together without query and fragment. */
function normalize(uri: string): string | undefined {
  const [, , scheme = '', , authority = '', path = ''] =
    /^(([^:/?#]+):)?(\/\/([^/?#]*))?([^?#]*)(\?([^#]*))?(#(.*))?$/s.exec(uri) ?? [];
  const protocol = lower(scheme);
  if (authority === '' || !['http', 'https'].includes(protocol)) return undefined;
  const [host, port] = splitPort(lower(spell(authority)));
  const isDefault = ['', protocol === 'https' ? '443' : '80'].includes(port);
  return `${protocol}://${host}${isDefault ? '' : `:${port}`}${withoutDots(spell(path)) || '/'}`;
}

const lower = (text: string) => [...text].map((one) => (one >= 'A' && one <= 'Z' ? one.toLowerCase() : one)).join('');

function splitPort(authority: string): readonly [host: string, port: string] {
  const colon = authority.lastIndexOf(':');
  const hasPort = colon !== -1 && [...authority.slice(colon + 1)].every((one) => one >= '0' && one <= '9');
  return hasPort ? [authority.slice(0, colon), authority.slice(colon + 1)] : [authority, ''];
}

/** §6.2.2.1 and §6.2.2.2. */
function spell(text: string): string {
  let spelt = '';
  for (let at = 0; at < text.length; at += 1) {
    const digits = text.slice(at + 1, at + 3);
    if (text[at] !== '%' || !/^[0-9A-Fa-f]{2}$/.test(digits)) {
      spelt += text[at];
      continue;
    }
    const code = Number.parseInt(digits, 16);
    const isUnreserved = code < 128 && /[A-Za-z0-9\-._~]/.test(String.fromCharCode(code));
    spelt += isUnreserved ? String.fromCharCode(code) : `%${digits.toUpperCase()}`;
    at += 2;
  }
  return spelt;
}

/** §5.2.4, step by step. */
function withoutDots(path: string): string {
  let input = path;
  let output = '';
  while (input !== '') {
    if (input.startsWith('../')) input = input.slice(3);
    else if (input.startsWith('./')) input = input.slice(2);
    else if (input.startsWith('/./')) input = input.slice(2);
    else if (input === '/.') input = '/';
    else if (input.startsWith('/../') || input === '/..') {
      input = `/${input.slice(4)}`;
      output = output.slice(0, Math.max(0, output.lastIndexOf('/')));
    } else if (input === '.' || input === '..') input = '';
    else {
      const end = input.indexOf('/', 1);
      const segment = end === -1 ? input : input.slice(0, end);
      output += segment;
      input = input.slice(segment.length);
    }
  }
  return output;
}
