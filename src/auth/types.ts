/*
 * The API on one page: options, requirements, authentications, events, stores. Rooms pick their types from here. This
 * file says what values mean and which bounds they have. It does not say how they are checked: options/ does.
 */
import type { RejectionDescription, RejectionReason } from './rejections.ts';

export type { RejectionDescription, RejectionReason };

/** An algorithm with which a DPoP proof can be signed. */
export type ProofAlgorithm = `${'ES' | 'RS' | 'PS'}${256 | 384 | 512}` | 'EdDSA';

/** A signature algorithm. All of them are asymmetric. */
export type Algorithm = ProofAlgorithm | `ML-DSA-${44 | 65 | 87}`;

/** `at+jwt` requires a token that says in `typ` that it is an access token (RFC 9068 §4). */
export type TokenType = 'jwt' | 'at+jwt';

/** Why an endpoint of protected-api/mcp itself rejects a request. These are not among `describeRejections`. */
export type McpReason = `mcp_${'host' | 'origin' | 'method' | 'session' | 'size' | 'message' | 'task'}`;

/** A method, so that TypeScript also takes a function for the reasons of a guard alone. */
interface RejectionCallback {
  call(
    request: GuardRequest,
    reason: RejectionReason | McpReason,
    given: { readonly expected: string | undefined },
  ): unknown;
}

/** One scope; a list, all of which are required; or `anyOf`, one of which is required. */
export type FixedScope =
  | string
  | readonly string[]
  | { readonly anyOf: readonly string[]; readonly allOf?: never; readonly oneOf?: never };

/** The authorization schemes for access tokens (RFC 6750 §2.1, RFC 9449 §7.1). */
export type Scheme = 'Bearer' | 'DPoP';

/** `on` accepts bearer tokens, and DPoP-bound ones with a proof. `required` rejects the former, `off` the latter. */
export type DpopMode = 'off' | 'on' | 'required';

/** The options of a guard. Lists are arrays; `issuer` and `audience` also take one string. */
export interface GuardOptions<Schema = ClaimsSchema, Accepted = ClaimsOf<Schema>>
  extends Optional<OptionValues<Schema, Accepted>> {
  /**
   * The `iss` of your tokens, such as `https://tenant.example.com/`. It is compared exactly. A list accepts the tokens
   * of several issuers. An issuer is an https URL without query, fragment, credentials or braces; http is allowed for
   * loopback hosts, or with `jwksAllowHttp`. With `jwksUri` or `keys`, an issuer can be any name, such as
   * `stytch.com/PROJECT_ID` or `http://adfs.example.com/adfs/services/trust`. It has at most 512 characters of
   * printable ASCII, without spaces, quotes or backslashes. An issuer of Microsoft Entra with `{tenantid}` in place of
   * the tenant stands for all tenants: list yours in `requiredClaims`, as `tid`. In code, a member of a list can be an
   * object with options for that issuer. A function instead of a list can look up the issuer of each token. Required.
   */
  readonly issuer: string | readonly (string | IssuerOptions)[] | FindIssuer;
  /**
   * The identifier of your API, such as `https://api.example.com`. A token must name it, or one of a list, in `aud`.
   * Required, unless each issuer has its own.
   */
  readonly audience: string | readonly string[];
}

type Optional<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined };

/**
 * The options that can be left out. One without `?` then has a default.
 * @hidden because the reference shows them as `GuardOptions`
 */
export interface OptionValues<Schema = ClaimsSchema, Accepted = ClaimsOf<Schema>> {
  /**
   * URL of the key set (JWKS), for a single issuer. By default, the guard tries `.well-known/jwks.json` below an issuer
   * that ends with a slash, and then the URL in the issuer's metadata. Defaults to discovery.
   */
  readonly jwksUri?: string | undefined;
  /** Allows http for key sets and metadata on hosts other than loopback, in a private network. Defaults to false. */
  readonly jwksAllowHttp: boolean;
  /**
   * Accepted signature algorithms: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA (or Ed25519),
   * ML-DSA-44, ML-DSA-65 and ML-DSA-87. A key without `alg` is used only with the first listed algorithm that fits, so
   * put the issuer's algorithm first. HS256 is not accepted, because whoever can verify such a token can also sign one.
   * ML-DSA (RFC 9964) works on Bun, Deno and Node.js 24.7 or later. A signature of ML-DSA-87 takes 6,170 of the 16,384
   * characters that a token may have. Defaults to RS256.
   */
  readonly algorithms: readonly (Algorithm | 'Ed25519')[];
  /** `jwt`, or `at+jwt`: only tokens whose `typ` says that they are access tokens (RFC 9068 §4). Defaults to jwt. */
  readonly tokenType: TokenType;
  /** Claims that can list scopes. The first that is not empty is used. `/a/b` is a JSON Pointer. Defaults to scope. */
  readonly scopeClaim: readonly string[];
  /**
   * Rejects a token that grants no scope, on every route. Where one identifier names both an application and its API,
   * as in Microsoft Entra ID, this rejects ID tokens, and applications without a permission. Defaults to false.
   */
  readonly requireScope: boolean;
  /** A prefix that is removed from the scopes of tokens. Scopes without it are ignored. */
  readonly scopePrefix?: string | undefined;
  /**
   * A prefix that is added to the scopes in challenges, metadata and OpenAPI documents. Tokens of Microsoft Entra
   * contain `read`, but clients request `api://APPLICATION_ID/read`. Defaults to `scopePrefix`.
   */
  readonly scopeRequestPrefix?: string | undefined;
  /**
   * The narrower scopes that a broader scope grants, transitively. Names have no `scopePrefix`.
   * @example { admin: ['read:messages', 'write:messages'] }
   */
  readonly scopeImplies: Readonly<Record<string, readonly string[]>>;
  /**
   * For issuers whose tokens have no `aud`: the claim that names the audience instead, such as `client_id` (Amazon
   * Cognito) or `azp` (Clerk). By default, a token without `aud` is rejected. Defaults to aud.
   */
  readonly audienceClaim: string;
  /**
   * Claims that a token must have, each with the given value, or one of several. A claim that is a list must contain
   * the value. `null`, alone or in a list, stands for a claim that is missing. A name that begins with `/` is a JSON
   * Pointer. The setting is a JSON object without quotes around it, such as `{"groups":"CN=a,OU=b","act":null}`. It can
   * also be a list of `name=value`, in which `\,` and `\\` are a comma and a backslash. By default, ID, refresh,
   * offline and logout tokens are rejected if one of these claims says so: `token_use, token_usage, token_type,
   * tokenType, TokenType, tokenName, tok_type, typ, drn, events`. If you list one of them here, your value decides
   * instead.
   * @example { azp: 'my-client', email_verified: true, '/realm_access/roles': ['admin', 'operator'] }
   */
  readonly requiredClaims: Readonly<Record<string, RequiredValue | readonly RequiredValue[]>>;
  /**
   * `off`; `on`, to accept DPoP-bound tokens with a proof (RFC 9449) beside plain bearer tokens; or `required`, to
   * reject plain ones. `on` and `required` need `publicUrl`. Defaults to off.
   */
  readonly dpop: DpopMode;
  /**
   * Accepted algorithms of DPoP proofs: ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384, PS512 and EdDSA (or
   * Ed25519). Defaults to ES256, ES384, RS256, PS256, EdDSA.
   */
  readonly dpopAlgorithms: readonly (ProofAlgorithm | 'Ed25519')[];
  /**
   * How far a proof's `iat` may be from now, either way: 10 to 300. Used proofs are kept for 30 seconds longer.
   * Defaults to 60.
   */
  readonly dpopProofMaxAgeSeconds: number;
  /**
   * A secret of at least 32 characters, the same in all processes, or two while it is replaced. The server then gives
   * out nonces, which proofs must contain (RFC 9449 §9), each valid for `dpopProofMaxAgeSeconds`. The guard checks the
   * time of the nonce instead of `iat`, so the clock of a client may be wrong.
   */
  readonly dpopNonceSecret?: string | readonly string[] | undefined;
  /**
   * The https URL at which clients reach the API. Challenges then name the URL of its metadata (RFC 9728 §5.1). For an
   * API with several names, it is a list of URLs with different hosts. The `Host` header of a request selects the URL
   * for its challenge, metadata and proofs. For any other host, the first one counts.
   */
  readonly publicUrl?: string | readonly string[] | undefined;
  /**
   * Age at which a key set is refreshed in the background: 1 to 1,000,000. Defaults to 600. If `jwksMaxStaleSeconds` is
   * small, it is refreshed up to `jwksTimeoutSeconds` earlier, so that no key expires while the issuer responds.
   */
  readonly jwksMaxAgeSeconds: number;
  /** How long keys stay trusted after `jwksMaxAgeSeconds` in an issuer outage: 0 to 1,000,000. Defaults to 86,400. */
  readonly jwksMaxStaleSeconds: number;
  /**
   * Clients can cause at most one fetch of keys in this time: 1 to 3,600, and at most `jwksMaxAgeSeconds` +
   * `jwksMaxStaleSeconds`. It applies to an unknown `kid`, to a bad signature, and after a failed fetch. Until the
   * first success, retries start after 1, 2, 4, … seconds, up to this time. Defaults to 30.
   */
  readonly jwksCooldownSeconds: number;
  /**
   * Time limit of a fetch with its body, and of `isRevoked`, `introspect`, `issuer` and `replayStore`: 1 to 60.
   * Defaults to 5.
   */
  readonly jwksTimeoutSeconds: number;
  /** Tolerated clock difference for `exp`, `nbf` and `auth_time`: 0 to 300. Defaults to 0. */
  readonly clockToleranceSeconds: number;
  /**
   * How far a token's `iat` may be from now, either way: 1 to 31,536,000, plus `clockToleranceSeconds`. A token without
   * `iat` is then rejected. By default, a token is accepted until it expires, however old it is.
   */
  readonly maxTokenAgeSeconds?: number | undefined;
  /** How many verified tokens are cached, in at most 64 MiB: 0 (no cache) to 1,000,000. Defaults to 10,000. */
  readonly tokenCacheSize: number;
  /**
   * The name of the header in which a proxy sends the client's certificate. It contains a `Client-Cert` (RFC 9440),
   * base64 of DER, the URL-encoded PEM of nginx, or one element of Envoy's `X-Forwarded-Client-Cert`. Tokens with
   * `cnf["x5t#S256"]` are then accepted only with exactly that certificate (RFC 8705 §3). The proxy must set or delete
   * the header in every request. A header that clients set or proxies consume is not allowed, such as `authorization`,
   * `cookie`, `user-agent`, `host` or `connection`. In code, it can also be a function that returns the certificate, or
   * undefined. If it throws, or returns anything else, a warning is logged once.
   */
  readonly clientCertificate?: ClientCertificate | string | undefined;
  /**
   * The authorization servers in the metadata (RFC 9728), such as a proxy that registers clients for the issuer.
   * Defaults to the issuers, without those that are not URLs or that a function looks up.
   */
  readonly authorizationServers?: readonly string[] | undefined;
  /**
   * The identifier of the protected resource (RFC 9728). It must have the origin of `publicUrl`, its default, and can
   * have a query. Beside a list of `publicUrl`s, it is a path, such as `/mcp`, at each of them. Clients get it in
   * canonical form (RFC 3986 §6.2.2). `aud` is compared with `audience` only.
   */
  readonly resource?: string | undefined;
  /**
   * A JWK Set to use instead of fetching one, for a single issuer without `jwksUri`. In a list of issuers, each can
   * have its own. Each key needs the `kid` of the tokens that it verifies. To convert a public key in PEM with jose:
   * @example
   * import { exportJWK, importSPKI } from 'jose';
   *
   * const pem = process.env.PUBLIC_KEY ?? '';
   * const key = await importSPKI(pem, 'RS256', { extractable: true });
   * export const keys = { keys: [{ ...(await exportJWK(key)), kid: 'key-1' }] };
   */
  readonly keys?: JwkSet | undefined;
  /**
   * A synchronous schema of the claims, from any library that implements Standard Schema. A token that does not match
   * is rejected; handlers get the claims merged with the schema's output.
   */
  readonly claims?: Schema | undefined;
  /**
   * Stores which proofs were used. Several processes must share a store. If it throws or takes longer than
   * `jwksTimeoutSeconds`, the client gets a 503. Defaults to the memory of this process.
   */
  readonly replayStore?: ReplayStore | undefined;
  /**
   * `bearer` also accepts the token of a WebSocket upgrade without an Authorization header as a subprotocol, because
   * browsers cannot set that header: `new WebSocket(url, ['bearer', token])`. `bearer` must be the first subprotocol,
   * and the token the second. Proxies and loggers must not log `Sec-WebSocket-Protocol`. By default, only the
   * Authorization header has a token.
   */
  readonly webSocketProtocol?: 'bearer' | undefined;
  /**
   * Called with the claims of every request, cached tokens included. Any result but `false` rejects the request. If it
   * throws or takes longer than `jwksTimeoutSeconds`, which aborts `signal`, the client gets a 503.
   */
  readonly isRevoked?: IsRevoked<Accepted> | undefined;
  /**
   * Called for each request with a token that is not a JWT. Returns what an introspection endpoint responds (RFC 7662),
   * or what your own look-up found. Nothing is cached. The token is rejected unless `active` is `true`; then the object
   * is checked like the claims of a JWT. `iss` may be missing if there is a single issuer. With several, the guard
   * trusts the `iss` of the object. If the function belongs to one issuer of a list, another `iss` is rejected. If it
   * throws, returns no object or takes longer than `jwksTimeoutSeconds`, which aborts `signal`, the client gets a 503.
   * Text over 16,384 characters, or with characters that no token has (RFC 6750 §2.1), is rejected without a call.
   */
  readonly introspect?:
    | ((token: string, given: { readonly signal: AbortSignal }) => object | PromiseLike<object>)
    | undefined;
  /**
   * Called with the request and the claims of each accepted token, before requirements are checked. An exception fails
   * the request.
   */
  readonly onAccepted?: ((request: GuardRequest, claims: Accepted) => unknown) | undefined;
  /**
   * Called with the request and the internal reason of every rejection. For `proof_url`, `expected` is the URL that the
   * proof should have named: `publicUrl` and the path of the request. An exception fails the request.
   */
  readonly onRejected?: RejectionCallback['call'] | undefined;
  /** Called when keys were fetched, could not be fetched, or expired. Its exceptions are ignored. */
  readonly onKeySetEvent?: ((event: KeySetEvent) => unknown) | undefined;
  /** Called when the replay store fails, and when it works again. Exceptions are ignored. Defaults to a warning. */
  readonly onReplayStoreEvent?: ((event: ReplayStoreEvent) => unknown) | undefined;
  /**
   * Returns any of `status`, `body` and `contentType` for a rejection. Called once for each reason when the guard is
   * created. The challenge and `Retry-After` stay the same. By default, the body has `error` and `error_description`.
   */
  readonly formatRejection?: ((rejection: RejectionDescription) => RejectionFormat) | undefined;
  /**
   * Headers to add to every rejection, such as CORS headers. They do not replace the rejection's media type, challenge
   * and `Cache-Control`. `content-length` and headers of the connection, such as `transfer-encoding`, are not allowed.
   */
  readonly errorHeaders?: Readonly<Record<string, string>> | undefined;
  /**
   * Called with a promise for each fetch of keys, and each call of the function `issuer`, for which a check does not
   * wait. It is for runtimes that end background work with the request: `waitUntil` of
   * `cloudflare:workers` and `@vercel/functions`, `after` of Next.js. Its exceptions are ignored. `start()` and
   * `reload()` do not call it.
   */
  readonly waitUntil?: ((promise: Promise<unknown>) => unknown) | undefined;
  /** Fetches key sets and metadata, for proxies and tests. Defaults to the global `fetch`. */
  readonly fetch?: Fetch | undefined;
}

/**
 * The value of a required claim. Numbers and booleans are compared by their JSON form: `true` is `'true'`. `null` is
 * met by a claim that is missing.
 */
type RequiredValue = string | number | boolean | null;

type IsRevoked<Accepted> = (
  claims: Accepted,
  given: { readonly token: string; readonly signal: AbortSignal },
) => boolean | PromiseLike<boolean>;

/** A JWK Set (RFC 7517 §5). */
export interface JwkSet {
  /** The keys (RFC 7517 §4). */
  readonly keys: readonly object[];
}

/** An issuer with its own options. Each replaces that of the guard, for the tokens of this issuer only. */
export interface IssuerOptions extends Optional<Pick<GuardOptions, OwnName>> {
  /** Its identifier, as in the option `issuer`. */
  readonly issuer: string;
}

/**
 * Returns the options of the issuer with this identifier, or undefined or null if its tokens are not accepted. Anyone
 * can choose `iss`, which comes from an unverified token: look it up, and never build a URL from it. It has the form of
 * an issuer and at most 512 characters. The object must have the same `issuer`. If it is not valid, or the function
 * throws, rejects or takes longer than `jwksTimeoutSeconds`, which aborts `signal`, the client gets a 503.
 *
 * Requests with the same issuer share one call. The result is kept, and looked up again after `jwksMaxAgeSeconds` and
 * by `reload()`. Limits are in the guide "Several issuers and tenants".
 */
export type FindIssuer<Found extends IssuerOptions = LookedUpIssuer> = (
  iss: string,
  given: { readonly signal: AbortSignal },
) => Found | undefined | null | PromiseLike<Found | undefined | null>;

/** What a function `issuer` returns. */
export interface LookedUpIssuer extends IssuerOptions {
  /** Allows a private address as host of keys and metadata. Not for customers' issuers. Defaults to false. */
  readonly jwksAllowPrivate?: boolean | undefined;
  /** Can only be an option of the guard: a token that is not a JWT names no issuer. */
  readonly introspect?: undefined;
}

/** The options that a single issuer of a guard can have. */
export type OwnName =
  | 'jwksUri'
  | 'keys'
  | 'jwksAllowHttp'
  | 'algorithms'
  | 'requiredClaims'
  | 'scopeClaim'
  | 'audience'
  | 'introspect';

/**
 * The options of a guard that needs no `audience`, because each issuer has its own. TypeScript describes mistakes by
 * the last form of a union: version 5 by its place in `OptionsFor`, version 7 by its name, so this one is first.
 */
export interface AudienceByIssuerOptions<Schema = ClaimsSchema, Accepted = ClaimsOf<Schema>>
  extends Omit<GuardOptions<Schema, Accepted>, 'audience' | 'issuer'> {
  /** The authorization servers whose tokens are accepted, each with the identifiers of this API. Required. */
  readonly issuer:
    | readonly (IssuerOptions & Pick<GuardOptions, 'audience'>)[]
    | FindIssuer<LookedUpIssuer & Pick<GuardOptions, 'audience'>>;
}

/** Options of either form. */
export type OptionsFor<Schema, Accepted = ClaimsOf<Schema>> =
  | AudienceByIssuerOptions<Schema, Accepted>
  | GuardOptions<Schema, Accepted>;

/** The options that are read into one form. */
export interface ReadOptions {
  /** A list, or the function that looks issuers up. */
  readonly issuer: readonly (string | CheckedIssuer)[] | FindIssuer;
  /** A list, which is empty if each issuer has its own. */
  readonly audience: readonly string[];
  /** EdDSA stands for Ed25519. */
  readonly algorithms: readonly Algorithm[];
  /** EdDSA stands for Ed25519. */
  readonly dpopAlgorithms: readonly ProofAlgorithm[];
  /** The new secret first. */
  readonly dpopNonceSecret: readonly string[] | undefined;
  /** The accepted values of each claim; null if it may be missing. */
  readonly requiredClaims: Readonly<Record<string, readonly (string | null)[]>>;
  /** A function, for the name of a header too. */
  readonly clientCertificate: ClientCertificate | undefined;
}

/** The options, validated and with defaults. */
export type CheckedOptions = ReadOptions & Omit<OptionValues, keyof ReadOptions>;

/** An issuer whose options are checked: only those that it has. */
export type CheckedIssuer = { readonly issuer: string } & {
  readonly [Name in OwnName]?: NonNullable<CheckedOptions[Name]>;
};

/** The part of a Web-standard Request that a guard reads. The object itself identifies the request. */
export interface GuardRequest {
  /** The HTTP method. */
  readonly method: string;
  /** The absolute URL. */
  readonly url: string;
  /** Its headers, by names in any case. */
  readonly headers: { get(name: string): string | null };
  /** The request of Node.js, in its frameworks: `clientCertificate` can read the certificate of its connection. */
  readonly incoming?:
    | {
        readonly socket: {
          readonly remoteAddress?: string | undefined;
          readonly getPeerCertificate?: () => { readonly raw?: Uint8Array };
        };
      }
    | undefined;
}

/** The claims of a verified access token (RFC 7519 §4, RFC 9068 §2.2), frozen with everything in them. */
export interface Claims {
  /** The issuer, as in the option `issuer`. */
  readonly iss: string;
  /** Missing if the claim that the option `audienceClaim` names was checked instead. */
  readonly aud?: string | readonly string[];
  /** When the token expires, in seconds since 1970. */
  readonly exp: number;
  /** The user or client that the token is about. */
  readonly sub?: string;
  /** The client that requested the token. */
  readonly client_id?: string;
  /** Other claims are not validated: check their types before using them. */
  readonly [name: string]: unknown;
}

/** A schema of any library that implements Standard Schema 1: zod, valibot, arktype and others. */
export interface ClaimsSchema<Output = unknown> {
  /** What Standard Schema specifies. */
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly unknown[] };

/** The claims that a guard with this schema accepts: those of every token, merged with the schema's output. */
export type ClaimsOf<Schema> = Schema extends ClaimsSchema<infer Output> ? MergedClaims<Output> : Claims;

/** The claims of a token. The output of a schema replaces those that it names. */
export type MergedClaims<Output> = [Extract<NameIn<Output>, NameIn<Claims>>] extends [never]
  ? Claims & Output
  : { readonly [Name in keyof Claims as Exclude<Name, NameIn<Output>>]: Claims[Name] } & Output;

/** The names of an object without those of its index signature. */
type NameIn<Members> = keyof { [Name in keyof Members as string extends Name ? never : Name]: unknown };

/** What a token must have besides being valid. */
export interface Requirements {
  /** The accepted authentication context class references: the token's `acr` must be one of them (RFC 9470 §4). */
  readonly acr?: string | readonly string[];
  /** Maximum seconds since the end user was authenticated, by the token's `auth_time` (RFC 9470 §4): 1 or more. */
  readonly maxAge?: number;
  /** One scope; a list, all of which are required; or `anyOf`, one of which is required. */
  readonly scope?: FixedScope;
}

/** What `check` and `requireToken` take: requirements, and whether a token is optional. */
export interface CheckRequirements<Optional extends boolean = boolean> extends Requirements {
  /** Accepts requests without an Authorization header, with `claims` undefined. Defaults to false. */
  readonly optional?: Optional;
}

/** The options of the Elysia plugin. */
export interface PluginSettings<Optional extends boolean = boolean> {
  /** Accepts requests without an Authorization header, with `claims` undefined. Defaults to false. */
  readonly optional?: Optional | undefined;
  /**
   * Declares that the routes which the instance already has are public. Without it, they are an error, unless the token
   * is `optional`. A route with a requirement is always an error there. Defaults to false.
   */
  readonly publicBefore?: boolean | undefined;
  /** Whether OpenAPI documents have the rejections of guarded routes. Defaults to true. */
  readonly responses?: boolean | undefined;
}

/** Misspelt route options: TypeScript finds no others beside a schema or an option. At run time, all are errors. */
export type MisspeltRequirements = Misspelt<'scope', 'scopes' | 'Scope' | 'requiredScope' | 'requiredScopes'> &
  Misspelt<'maxAge', 'maxage' | 'max_age'> &
  Misspelt<'acr', 'acr_values'> &
  Misspelt<'authorize', 'authorise' | 'authorization'>;

/** The error of TypeScript quotes the type, which says what to write. */
type Misspelt<Name extends string, Wrong extends string> = { readonly [Each in Wrong]?: `Did you mean ${Name}?` };

/** The route options of the Elysia plugin. */
export interface RouteRequirements<AcceptedClaims = Claims> extends Required<Pick<Requirements, 'acr' | 'maxAge'>> {
  /** Requires this scope, all of these scopes, or any of `anyOf`, fixed or as a function of the context. */
  readonly scope: FixedScope | OfContext<AcceptedClaims, FixedScope>;
  /** Decides last whether the token allows this request. Anything but `true` is a 403. */
  readonly authorize: OfContext<AcceptedClaims, boolean>;
}

/** The type of a method, whose parameter can be annotated with what the schema of a route says. */
type OfContext<AcceptedClaims, Value> = {
  method(context: RequirementContext<AcceptedClaims>): Value | Promise<Value>;
}['method'];

/**
 * The context of functions in route options. What a schema of the route can convert is `unknown`: annotate it.
 * @example
 * authorize: ({ claims, params }: RequirementContext & { params: { id: number } }) => ownerOf(params.id) === claims.sub
 */
export interface RequirementContext<AcceptedClaims = Claims> {
  /** The claims of the token. */
  readonly claims: AcceptedClaims;
  /** The request. */
  readonly request: Request;
  /** The parameters of the path. */
  readonly params: Readonly<Record<string, unknown>>;
  /** The query. */
  readonly query: Readonly<Record<string, unknown>>;
  /** The headers, by names in lower case. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** The body. */
  readonly body: unknown;
}

/** The result for an accepted request. */
export interface Authentication<AcceptedClaims extends object = Claims> {
  /** The claims of the token, merged with the output of the schema. */
  readonly claims: AcceptedClaims;
  /** The access token, for calls to other services on behalf of the client. */
  readonly token: string;
  /** The client that requested the token: the first string of `client_id`, `azp`, `cid` and `appid`. */
  readonly clientId: string | undefined;
  /** All scopes of the token, implied ones included, without the prefix. To require one, pass `scope` to `check`. */
  readonly scopes: readonly string[];
  /**
   * The nonce for the client's next proof (RFC 9449 §8.2), once the one it used is older than half its life.
   * `requireToken` and the Elysia plugin send it. After `check`, send it as `DPoP-Nonce`, with `Cache-Control:
   * no-store`.
   */
  readonly dpopNonce?: string | undefined;
}

/** A request without credentials, where a token is optional. Its list of scopes is empty. */
export interface Anonymous extends Pick<Authentication, 'scopes'>, Undefined<Omit<Authentication, 'scopes'>> {}

type Undefined<Members> = { readonly [Name in keyof Members]: undefined };

/** The result for a request that is not rejected. */
export type Accepted<AcceptedClaims extends object, Optional extends boolean> =
  | Authentication<AcceptedClaims>
  | (Optional extends true ? Anonymous : never);

/** What `authOf` returns. For a route where a token is optional, the type parameter is `Claims | undefined`. */
export type AuthOf<AcceptedClaims extends object | undefined> = AcceptedClaims extends object
  ? Authentication<AcceptedClaims>
  : Anonymous;

/** The third argument of `requireToken` for a framework. */
export interface RejectionOptions {
  /** `throw` passes a `RejectionError` to the framework, whose error handler then responds. Defaults to `send`. */
  readonly rejection?: 'send' | 'throw';
}

/** The second argument of `authOf`. */
export interface OptionalAuth {
  /** Returns undefined if no guard has accepted the request, instead of throwing: for logs, which see every request. */
  readonly optional: true;
}

/** A guard, as far as its types are concerned. */
export interface KnownGuard<AcceptedClaims> {
  /** Never set. Editors offer no symbol among the options of a guard. */
  readonly [Symbol.species]?: AcceptedClaims | undefined;
}

/** Decides about requests. */
export interface Guard<AcceptedClaims extends object = Claims> extends KnownGuard<AcceptedClaims> {
  /**
   * Returns the claims and the token of the request. Does NOT check `jti`, that there is a `sub`, or who may see what.
   * @throws {RejectionError} the request is rejected: its `response` is the complete 400, 401, 403 or 503
   * @throws {TypeError} `request` is not a Web-standard Request, or a requirement is not valid
   */
  requireToken<Optional extends boolean = false>(
    request: GuardRequest,
    requirements?: CheckRequirements<Optional>,
  ): Promise<Accepted<AcceptedClaims, Optional>>;
  /**
   * Like `requireToken`, but returns the response that rejects a request: a caller that ignores the result accepts
   * every request. Whatever a client or an issuer sends, the promise is fulfilled. Each call decides as of now. Calls
   * with the same request object share the verification of its token and the use of its proof, as long as method, URL,
   * token and proof are the same.
   * @throws {TypeError} `request` is not a Web-standard Request, or a requirement is not valid
   */
  check<Optional extends boolean = false>(
    request: GuardRequest,
    requirements?: CheckRequirements<Optional>,
  ): Promise<Accepted<AcceptedClaims, Optional> | Response>;
  /**
   * Returns the metadata from which clients learn the issuers and scopes of this API (RFC 9728), its preflight
   * response, or a 405 for another method, all readable by every origin. Returns undefined for any other request, and
   * without `publicUrl`.
   * @throws {TypeError} `request` is not a Web-standard Request, or a member is not valid
   */
  metadata(request: GuardRequest, members?: MetadataMembers): Response | undefined;
  /** Fetches keys ahead of the first request, and refreshes them in the background. Returns at once. */
  start(): void;
  /** Stops the background refresh. `check` still works and fetches keys on demand. */
  stop(): void;
  /**
   * Fetches the keys of every issuer now, even during the cooldown, to stop trusting a compromised key; given an
   * issuer, looks up and fetches that one only, such as one that was just added. Resolves to the state after all
   * fetches: if `lastFailure` is set, the old keys stay trusted. Never let clients call it.
   * @throws {TypeError} the guard has no such issuer, or if a function looks issuers up, none can have this name
   */
  reload(issuer?: string): Promise<GuardState>;
  /** Returns the state of the keys and the token cache. */
  state(): GuardState;
}

/** What a rejection has instead of the defaults. The body is sent as JSON, or as text with its media type. */
export type RejectionFormat = { readonly status?: number | undefined } & (
  | { readonly body?: object | undefined; readonly contentType?: string | undefined }
  | { readonly body: string; readonly contentType: string }
);

/** What the metadata of a protected resource shows to people (RFC 9728 §2). */
export interface ResourceMembers {
  /** The name of the API. */
  readonly resourceName?: string | undefined;
  /** URL of a page for developers. */
  readonly resourceDocumentation?: string | undefined;
  /** URL of a page on how clients may use the data. */
  readonly resourcePolicyUri?: string | undefined;
  /** URL of the terms of service. */
  readonly resourceTosUri?: string | undefined;
}

/** What the metadata of a protected resource says besides the options of the guard (RFC 9728 §2). */
export interface MetadataMembers extends ResourceMembers {
  /** The scopes that the API requires, without the prefix. */
  readonly scopes?: readonly string[] | undefined;
}

/** The state of a guard's keys and token cache: enough for a readiness probe and for metrics. */
export interface GuardState {
  /**
   * In the order of the option `issuer`. If that is a function, those that are kept: first the one whose token was
   * verified last.
   */
  readonly issuers: readonly KeySetState[];
  /** Number of tokens that were found in the cache since the start. */
  readonly cacheHits: number;
  /** Number of tokens in the cache. */
  readonly cacheEntries: number;
}

/** The state of the keys of an issuer. */
export interface KeySetState {
  /** The issuer, as in the option `issuer`. */
  readonly issuer: string;
  /** The host of the proxy that the environment names for this issuer. Undefined with `keys` and with `fetch`. */
  readonly proxy?: string | undefined;
  /** Number of trusted key IDs; 0 means that no token can be verified. */
  readonly keys: number;
  /** Age of the keys in milliseconds; undefined without keys. */
  readonly ageMs: number | undefined;
  /** Why the last fetch failed; undefined after a success and before the first fetch. */
  readonly lastFailure: FetchFault | undefined;
  /** Whether a fetch is in progress. */
  readonly isFetching: boolean;
  /** Milliseconds until the next scheduled fetch; 0 during a fetch, before the first, and with given keys. */
  readonly nextAttemptMs: number;
}

/** What happened to the keys of an issuer. */
export type KeySetEvent = { readonly issuer: string } & KeySetChange;

/** What happened. Key IDs are shortened and escaped. */
export type KeySetChange =
  | {
      readonly type: 'fetched';
      /** IDs of the keys that were added and removed. A replaced key is in both. */
      readonly added: readonly string[];
      readonly removed: readonly string[];
      /** Number of failed fetches since the previous success. */
      readonly afterFailures: number;
    }
  | (FetchFault & {
      readonly type: 'failed';
      /** Number of consecutive failures. */
      readonly failures: number;
    })
  /** The keys are too old to be trusted. */
  | { readonly type: 'expired' }
  | {
      /**
       * `ambiguous`, reported once: keys without `alg` fit several accepted algorithms, and are used only with the
       * first. Reported when such keys appear: `unsupported`: the runtime lacks the algorithm of these keys, so they
       * are skipped. `unusable`: these keys are for an accepted algorithm, but malformed or weak, so they are skipped.
       */
      readonly type: 'ambiguous' | 'unsupported' | 'unusable';
      /** IDs of these keys, without those that were reported before. */
      readonly keys: readonly string[];
      /** Why each of these keys is skipped, by its ID: `{ k1: '1024 bits' }`. Undefined for `ambiguous`. */
      readonly reasons?: Readonly<Record<string, string>> | undefined;
    };

/** Why an issuer's document cannot be used: a word from a fixed list, for metrics. */
export type FetchFailure =
  | 'timeout'
  | 'network'
  | 'redirect'
  | 'status'
  | 'encoded'
  | 'too_large'
  | 'malformed'
  | 'issuer_mismatch'
  | 'insecure_address'
  | 'no_usable_key';

/** The details of a failed fetch. Text that an issuer chose is shortened and escaped. */
export interface FetchFault {
  /** What is wrong. */
  readonly failure: FetchFailure;
  /** The URL that was fetched, without credentials, query and fragment. */
  readonly address: string | undefined;
  /**
   * Why there was no response (`network`): a code such as `ENOTFOUND`, `ERR_ACCESS_DENIED` (the runtime gives no
   * permission), `ERR_PROXY_TUNNEL` (a proxy rejected) or `issuer_unavailable` (the function `issuer` failed).
   */
  readonly cause: string | undefined;
  /** The HTTP status, for the failures `status` and `redirect`. */
  readonly status: number | undefined;
  /** Host of the proxy that the environment names for this URL, and may be at fault. Only with the global `fetch`. */
  readonly proxy?: string | undefined;
  /** What was wrong with each URL, in the order in which they were tried; undefined if there was only one. */
  readonly tried?: readonly string[] | undefined;
  /**
   * What the document has instead: for `issuer_mismatch`, its issuer; for `insecure_address`, the URL of the key set;
   * for `no_usable_key`, why each key cannot be used, such as `k1: use is enc`; for `encoded`, the encoding; for
   * `malformed`, what the document is, such as `metadata`.
   */
  readonly found: string | undefined;
}

/** A function like the global `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A certificate as DER or PEM, as an `X509Certificate`, or as `getPeerCertificate()` of Node.js returns it. */
export type Certificate = Uint8Array | ArrayBuffer | string | { readonly raw?: Uint8Array };

/** Returns the certificate with which the client authenticated its connection, or undefined if there is none. */
export type ClientCertificate = (request: GuardRequest) => Certificate | undefined;

/** Stores which proofs were used. Processes with one public URL must share a store, or each accepts a proof once. */
export interface ReplayStore {
  /**
   * Marks `key` as used for `lifetimeMs`. Returns true for the first caller, and false for all others until that time
   * has passed. Throws, or rejects its promise, if it is unknown whether the key was used. If it takes longer than
   * `jwksTimeoutSeconds`, which aborts `signal`, the client gets a 503.
   * @param key at most 64 characters of base64url
   * @param lifetimeMs a whole number from 30000 to 630000
   * @param issuedAtMs when the proof was created, in milliseconds since 1970: a store must throw for a proof that is
   * older than its data, because it may have been used before
   */
  markUsed(
    key: string,
    lifetimeMs: number,
    issuedAtMs: number,
    given: { readonly signal: AbortSignal },
  ): boolean | Promise<boolean>;
}

/** Whether the replay store, which may be one of the application, can tell if a proof was used. */
export type ReplayStoreEvent =
  | {
      readonly type: 'failed';
      /** What `markUsed` threw: its `code` or name, `TimeoutError` for silence, or for the default store a sentence. */
      readonly cause: string;
    }
  /** `failures` counts the requests that got a 503. */
  | { readonly type: 'recovered'; readonly failures: number };

/** What {@link optionsFromEnvironment} throws. */
export interface EnvironmentError extends TypeError {
  /** One line for each mistake: the setting, what it must be, and its value without credentials, query and fragment. */
  readonly problems: readonly string[];
}
