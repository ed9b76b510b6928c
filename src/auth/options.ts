import { type Algorithm, algorithmOf, algorithms } from './jose/algorithms.ts';
import { isJsonObject, isListOf, isText, namesIn } from './jose/encoding.ts';
import type { Fetch } from './keys/fetch-json.ts';
import type { KeySetEvent } from './keys/key-set.ts';
import { isSecureUrl } from './keys/url.ts';
import {
  boolean,
  callback,
  choice,
  code,
  integer,
  list,
  type OptionRule,
  oneOrMore,
  pairs,
  text,
  withDefault,
} from './option-kinds.ts';
import type { ClientCertificate } from './proof/certificate.ts';
import type { GuardRequest } from './proof/presentation.ts';
import { type ProofAlgorithm, proofAlgorithmOf, proofAlgorithms } from './proof/proof-key.ts';
import type { ReplayStore } from './proof/replay-store.ts';
import type { ErrorBody, RefusalDescription, RefusalReason } from './refusals.ts';
import type { DpopMode } from './schemes.ts';
import { type Claims, isScope } from './token/claims.ts';
import { type ClaimsSchema, isStandardSchema } from './token/claims-schema.ts';
import { type CheckedIssuer, type IssuerOptions, identifierOf, type OwnName, ownNames } from './token/issuer-rules.ts';

const isUrl = (value: string, allowHttp = false) => isSecureUrl(value, allowHttp) && !value.includes('?');
const readClaimName = (value: unknown) =>
  isText(value) && !(value.startsWith('/') && /~(?![01])/.test(value)) ? value : undefined;

function areHeaders(value: unknown): boolean {
  if (!isJsonObject(value) || !Object.values(value).every((member) => typeof member === 'string')) return false;
  try {
    return new Headers(value as Record<string, string>) !== undefined;
  } catch {
    return false;
  }
}

/** Returns the issuers. None may be named twice, other than by equal strings. */
function readIssuers(value: unknown): readonly (string | CheckedIssuer)[] | undefined {
  const given = new Set<unknown>(Array.isArray(value) ? value : [value]);
  const issuers = [...given].flatMap((entry) => readIssuer(entry) ?? []);
  const identifiers = new Set(issuers.map(identifierOf));
  return given.size > 0 && identifiers.size === given.size ? issuers : undefined;
}

function readIssuer(value: unknown): string | CheckedIssuer | undefined {
  if (!isJsonObject(value)) return isText(value) && isUrl(value, true) ? value : undefined;
  const own: Record<string, unknown> = {};
  // Options may be getters of a class, which are not enumerable.
  for (const name of new Set(['issuer', ...ownNames, ...namesIn(value)])) {
    const rule: OptionRule | undefined = ownNames.includes(name as OwnName) ? optionRules[name as OwnName] : undefined;
    const { [name]: given } = value;
    if (name === 'issuer' && typeof given === 'string') own.issuer = readIssuer(given);
    else if (given !== undefined || !rule) own[name] = rule?.read(given);
  }
  const isValid = own.issuer !== undefined && !Object.values(own).includes(undefined);
  return isValid ? (own as unknown as CheckedIssuer) : undefined;
}

const maxDurationSeconds = 1_000_000;
export const anHttpsUrl =
  'an https URL without query, fragment, credentials, quotes or braces (http is allowed for loopback hosts)';

/** Every option of a guard: its meaning, its default, its bounds and how it is validated. The settings of the service use it too. */
export const optionRules = {
  /**
   * The authorization servers whose tokens are accepted, compared exactly with `iss`: https URLs without query, fragment,
   * credentials or braces. http is allowed for loopback hosts, or with `jwksAllowHttp`. Required.
   */
  issuer: {
    kind: 'list',
    expected: `the URL of the authorization server: ${anHttpsUrl}; or a list of URLs, and of objects of issuer and ${ownNames.join(', ')}`,
    read: readIssuers,
  } as OptionRule<readonly (string | CheckedIssuer)[], string | readonly (string | IssuerOptions)[]>,
  /** The identifiers of this API; a token must name at least one in `aud`. Required. */
  audience: oneOrMore('the API identifier that tokens contain in aud'),
  /**
   * URL of the key set, for a single issuer. By default `.well-known/jwks.json` below an issuer that ends with a slash, or else
   * the URL in the issuer's metadata.
   */
  jwksUri: text(
    'an https URL without fragment or credentials (http is allowed for loopback hosts, and with jwksAllowHttp)',
    (value) => isSecureUrl(value, true),
  ),
  /** Allows plain http for key sets and metadata on hosts other than loopback, for a private network: true or false. Defaults to false. */
  jwksAllowHttp: boolean(false),
  /**
   * Accepted signature algorithms: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, also named Ed25519, and
   * ML-DSA-44, ML-DSA-65 and ML-DSA-87 (RFC 9964; Bun, Deno and Node.js from 24.7), whose signatures take 3,227, 4,412 and
   * 6,170 of the 8,192 characters of a token. A key without `alg` serves the first that fits its type, so put the issuer's
   * algorithm first. Defaults to RS256.
   */
  algorithms: withDefault(
    list<Algorithm, readonly (Algorithm | 'Ed25519')[]>(`a list of ${algorithms.join(', ')} or Ed25519`, algorithmOf),
    ['RS256'],
  ),
  /** jwt, or at+jwt to accept only tokens whose header says that they are access tokens (RFC 9068 §4). Defaults to jwt. */
  tokenType: choice(['jwt', 'at+jwt'], 'jwt'),
  /**
   * Claims that contain scopes. Only the first one that a token has is used. A name that begins with `/` is a JSON Pointer (RFC
   * 6901). Defaults to scope.
   */
  scopeClaim: withDefault(list('a list of claim names, or JSON Pointers that begin with /', readClaimName), ['scope']),
  /** Only scopes with this prefix count, and they count without it. Challenges name scopes with the prefix. */
  scopePrefix: text('printable ASCII without spaces, quotes or backslashes', isScope),
  /**
   * The narrower scopes that a broader scope grants, transitively. Names are without the prefix.
   * @example { admin: ['read:messages', 'write:messages'] }
   */
  scopeImplies: pairs('an object that maps each scope to the scopes it grants', (broad, narrow) =>
    isScope(broad) && isListOf(narrow, isScope) ? [...narrow] : undefined,
  ),
  /**
   * The claim that names the audience of a token without `aud`, such as `client_id` (Amazon Cognito) or `azp` (Clerk). Defaults
   * to aud: a token without it is rejected.
   */
  audienceClaim: withDefault(text('the name of a claim'), 'aud'),
  /**
   * Claims that must have exactly these values.
   * @example { azp: 'my-client' }
   */
  requiredClaims: pairs('an object that maps claim names to required strings', (name, value) =>
    isText(name) && typeof value === 'string' ? value : undefined,
  ),
  /**
   * off; on, to accept DPoP-bound tokens with a proof (RFC 9449) as well as plain bearer tokens; or required, to reject plain
   * ones. on and required need `publicUrl`. Defaults to off.
   */
  dpop: choice<DpopMode>(['off', 'on', 'required'], 'off'),
  /** Accepted algorithms of DPoP proofs: ES256, ES384, RS256, PS256 and EdDSA, also named Ed25519. Defaults to all. */
  dpopAlgorithms: withDefault(
    list<ProofAlgorithm, readonly (ProofAlgorithm | 'Ed25519')[]>(
      `a list of ${proofAlgorithms.join(', ')} or Ed25519`,
      proofAlgorithmOf,
    ),
    proofAlgorithms,
  ),
  /** The https URL at which clients reach the API. Challenges then name the URL of its metadata (RFC 9728 §5.1). */
  publicUrl: text(anHttpsUrl, (value) => isUrl(value)),
  /** Age at which a key set is refreshed in the background: 1 to 1,000,000. Defaults to 600. */
  jwksMaxAgeSeconds: integer(600, 1, maxDurationSeconds),
  /**
   * How long keys stay trusted after `jwksMaxAgeSeconds` while the issuer cannot be reached: 0 to 1,000,000. Defaults to
   * 86,400.
   */
  jwksMaxStaleSeconds: integer(86_400, 0, maxDurationSeconds),
  /**
   * Minimum time between the starts of two fetches from one issuer: 1 to 3,600. Until the first success, retries start
   * after 1, 2, 4, … seconds, up to this time. Defaults to 30.
   */
  jwksCooldownSeconds: integer(30, 1, 3600),
  /** Time limit of one fetch, body included: 1 to 60. Defaults to 5. */
  jwksTimeoutSeconds: integer(5, 1, 60),
  /** Tolerated clock difference for `exp`, `nbf` and `auth_time`: 0 to 300. Defaults to 0. */
  clockToleranceSeconds: integer(0, 0, 300),
  /** Verified tokens to cache, in at most 64 MiB: 0 (no cache) to 1,000,000. Defaults to 10,000. */
  tokenCacheSize: integer(10_000, 0, 1_000_000),
  /** The identifier of the protected resource (RFC 9728). It has the origin of `publicUrl`, and is `publicUrl` by default. */
  resource: code<string>(anHttpsUrl, (value) => isText(value) && isUrl(value)),
  /** A JWK Set to use instead of fetching one. Only for a single issuer, and not together with `jwksUri`. */
  keys: code<{ readonly keys: readonly object[] }>(
    'a JWK Set',
    (value) => isJsonObject(value) && isListOf(value.keys, isJsonObject) && value.keys.length > 0,
  ),
  /**
   * A schema of the claims, from any library that implements Standard Schema. A token that does not match is rejected; handlers
   * get the claims merged with the schema's output. The schema must be synchronous.
   */
  claims: code<ClaimsSchema>('a schema that implements Standard Schema', isStandardSchema),
  /** Stores which proofs were used. Defaults to the memory of this process. Several processes must share a store. */
  replayStore: code<ReplayStore>(
    'an object with a markUsed method',
    (value) => isJsonObject(value) && typeof value.markUsed === 'function',
  ),
  /**
   * Returns the client's certificate as DER or PEM, or undefined. Tokens with `cnf["x5t#S256"]` are then accepted together with
   * exactly that certificate (RFC 8705 §3).
   */
  clientCertificate: callback<ClientCertificate>(),
  /**
   * Called for every request, including those with a cached token. Anything but `false` rejects the request; an exception fails
   * it (500). It is synchronous: keep the list of revoked tokens in memory.
   */
  isRevoked: callback<(claims: Claims) => boolean>(),
  /** Called with the claims of every accepted token, before requirements are checked. An exception fails the request. */
  onAccepted: callback<(request: GuardRequest, claims: Claims) => unknown>(),
  /** Called with the internal reason of every rejection. An exception fails the request. */
  onRefused: callback<(request: GuardRequest, reason: RefusalReason) => unknown>(),
  /** Called when keys were fetched, could not be fetched, or expired. Exceptions are ignored. */
  onKeySetEvent: callback<(event: KeySetEvent) => unknown>(),
  /** Returns the body of a rejection. Defaults to the Error object. It is synchronous, and cannot change status or challenge. */
  errorBody: callback<(refusal: RefusalDescription) => ErrorBody & { readonly then?: never }>(),
  /** Headers to add to every rejection, such as CORS headers. They cannot replace its media type or challenge. */
  errorHeaders: code<Readonly<Record<string, string>>>('an object of header names and values', areHeaders),
  /** Fetches key sets and metadata, for proxies and tests. Defaults to the global `fetch`. */
  fetch: callback<Fetch>(),
} as const;
