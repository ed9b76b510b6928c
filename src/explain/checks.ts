import type { CheckedOptions } from 'protected-api/guard';

/** The decoded parts of a token, not verified. Empty if they cannot be decoded. */
export interface DecodedToken {
  readonly text: string;
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** What is known where a check is explained. */
export interface Explained {
  readonly token: DecodedToken;
  readonly settings: CheckedOptions;
  readonly nowSeconds: number;
  /** Why the keys cannot be fetched; empty if they were fetched. */
  readonly fetchFailure: string;
}

/** A check of the guard. The reasons with which it rejects say that it did. */
export interface Check {
  readonly name: string;
  readonly reasons: readonly string[];
  /** Returns what the token has, or undefined if the check does not concern it. */
  readonly has: (explained: Explained) => string | undefined;
  /** Returns what the settings want. */
  readonly wants: (explained: Explained) => string;
  readonly passed: string;
}

/** Returns a value from a token as one line of text. It is not escaped. */
export function show(value: unknown): string {
  if (value === undefined) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const list = (values: readonly string[]) => values.join(', ');

const format: Check = {
  name: 'format',
  reasons: [
    'credentials_missing',
    'credentials_malformed',
    'token_oversized',
    'token_opaque',
    'token_encrypted',
    'token_malformed',
  ],
  has: ({ token: { text } }) => `${text.length} characters in ${text.split('.').length} parts`,
  wants: () => 'a signed JWT has three parts of base64url and at most 8192 characters',
  passed: 'signed JWT',
};

const algorithm: Check = {
  name: 'algorithm',
  reasons: ['algorithm_unsupported'],
  has: ({ token }) => show(token.header.alg),
  wants: ({ settings }) => `ALGORITHMS is ${list(settings.algorithms)}`,
  passed: 'accepted',
};

const type: Check = {
  name: 'type',
  reasons: ['type_unsupported', 'critical_header'],
  has: ({ token: { header } }) => (header.crit === undefined ? show(header.typ) : `crit ${show(header.crit)}`),
  wants: ({ settings, token: { header } }) =>
    header.crit === undefined ? `TOKEN_TYPE is ${settings.tokenType}` : 'no token with crit is accepted',
  passed: 'accepted',
};

const key: Check = {
  name: 'key',
  reasons: ['key_id_missing', 'key_unknown', 'keys_unavailable'],
  has: ({ token }) => show(token.header.kid),
  wants: ({ settings, token, fetchFailure }) => {
    const source = settings.jwksUri === undefined ? `ISSUER is ${issuerOf(settings, token)}` : 'JWKS_URI is set';
    return fetchFailure === '' ? source : `${source}, ${fetchFailure}`;
  },
  passed: 'found in the key set',
};

const signature: Check = {
  name: 'signature',
  reasons: ['signature_invalid'],
  has: ({ token }) => `by the key ${show(token.header.kid)}`,
  wants: () => 'no key with this kid has signed the token',
  passed: 'verified',
};

const issuer: Check = {
  name: 'issuer',
  reasons: ['issuer_mismatch'],
  has: ({ token }) => show(token.claims.iss),
  wants: ({ settings }) => `ISSUER is ${list(settings.issuer)}`,
  passed: 'accepted',
};

const audience: Check = {
  name: 'audience',
  reasons: ['audience_mismatch'],
  has: ({ token: { claims }, settings }) => show(claims.aud ?? claims[settings.audienceClaim]),
  wants: ({ settings }) => `AUDIENCE is ${list(settings.audience)}`,
  passed: 'accepted',
};

const requiredClaims: Check = {
  name: 'claims',
  reasons: ['required_claim_mismatch'],
  has({ token: { claims }, settings }) {
    const names = Object.keys(settings.requiredClaims);
    return names.length === 0 ? undefined : list(names.map((name) => `${name}=${show(claims[name])}`));
  },
  wants: ({ settings }) =>
    `REQUIRED_CLAIMS is ${list(Object.entries(settings.requiredClaims).map(([name, value]) => `${name}=${value}`))}`,
  passed: 'accepted',
};

const expiry: Check = {
  name: 'expiry',
  reasons: ['token_expired', 'claims_malformed'],
  has: ({ token, nowSeconds }) => showTime(token.claims.exp, nowSeconds),
  wants: ({ settings }) => `CLOCK_TOLERANCE_SECONDS is ${settings.clockToleranceSeconds}`,
  passed: 'accepted',
};

const start: Check = {
  name: 'not before',
  reasons: ['token_not_yet_valid'],
  has: ({ token: { claims }, nowSeconds }) => (claims.nbf === undefined ? undefined : showTime(claims.nbf, nowSeconds)),
  wants: expiry.wants,
  passed: 'accepted',
};

/** Any other reason is one of the binding: a proof or a certificate that a token alone does not have. */
const binding: Check = {
  name: 'binding',
  reasons: [],
  has: ({ token: { claims }, settings }) =>
    claims.cnf === undefined && settings.dpop !== 'required' ? undefined : show(claims.cnf),
  wants({ token, settings: { dpop, clientCertificate } }) {
    const certificates = `, CLIENT_CERT_HEADER is ${clientCertificate ? 'set' : 'not set'}`;
    return `DPOP is ${dpop}${isBoundBy('x5t#S256', token) ? certificates : ''}`;
  },
  passed: 'accepted',
};

/** Whether the token is bound to a certificate, or to a key, by this method. */
export function isBoundBy(method: 'jkt' | 'x5t#S256', { claims: { cnf } }: DecodedToken): boolean {
  return typeof cnf === 'object' && cnf !== null && method in cnf;
}

/** Returns the checks in the order in which the guard makes them. With several issuers, the issuer decides which keys are used. */
export function checksFor({ issuer: issuers }: CheckedOptions): readonly Check[] {
  const keys = issuers.length > 1 ? [issuer, key, signature] : [key, signature, issuer];
  return [format, algorithm, type, ...keys, audience, requiredClaims, expiry, start, binding];
}

/** With several issuers, the one of the token. */
export function issuerOf({ issuer: issuers }: CheckedOptions, { claims }: DecodedToken): string {
  return issuers.find((name) => name === claims.iss) ?? list(issuers);
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** Returns a time of a token in words: `in 23 hours`, `2 minutes ago`. */
function showTime(value: unknown, nowSeconds: number): string {
  if (typeof value !== 'number' || !Number.isFinite(value)) return show(value);
  const seconds = Math.trunc(value - nowSeconds);
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  return new Intl.RelativeTimeFormat('en').format(Math.trunc(seconds / size), unit);
}
