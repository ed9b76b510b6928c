import type { Clock } from '../keys/clock.ts';
import { createIssuerKeys } from '../keys/issuer-keys.ts';
import type { KeySetState } from '../keys/key-set.ts';
import { type CheckedOptions, checkOptions, type GuardOptions } from '../options.ts';
import { createBindingCheck } from '../proof/binding.ts';
import { Refusal, refuse } from '../refusals.ts';
import type { Scheme } from '../schemes.ts';
import type { Claims } from '../token/claims.ts';
import { createClaimsReader } from '../token/claims-schema.ts';
import { createVerifier, type VerifiedToken, type VerifierState } from '../token/verifier.ts';
import { createCredentialsReader } from './credentials.ts';
import { createReject, resourceMetadataUrl } from './rejection.ts';
import { createRequirementReader, type Requirement, type Requirements, type Wanted } from './requirements.ts';

/** What a request is accepted with. */
export interface Accepted<AcceptedClaims extends Claims = Claims> {
  readonly claims: AcceptedClaims;
  /** The access token, for calls to other services on behalf of the client. */
  readonly token: string;
}

/** What is known of the keys and the tokens of a guard: enough for a readiness probe and for metrics. */
export interface GuardState extends VerifierState {
  /** In the order of the option `issuer`. */
  readonly issuers: readonly KeySetState[];
}

/** The environment of a guard, for tests. */
export interface GuardEnvironment {
  /** Monotonic time, for the age of keys. */
  readonly clock?: Clock;
  /** Wall-clock time in milliseconds since 1970, for `exp` and `nbf`. */
  readonly now?: () => number;
  /** At least 0 and below 1. */
  readonly random?: () => number;
}

/** A decision about a request: what it is accepted with, nothing where a token is optional, or the response that rejects it. */
export type Decision = Accepted | Response | undefined;

/** The parts of a guard that adapters use. */
export interface GuardCore {
  readonly options: CheckedOptions;
  readRequirements(requirements: Requirements): Requirement;
  /** Reads the scope that a function of the application returned. */
  readScope(returned: unknown): Requirement;
  /** Judges the token, once for each request, and the requirement. */
  decide(request: Request, requirement: Requirement, isOptional: boolean): Decision | Promise<Decision>;
  /** Returns the response to a request whose token was accepted, but which is rejected for what it asks for. */
  reject(request: Request, refusal: Refusal, wanted: Wanted): Promise<Response>;
  start(): void;
  stop(): void;
  reload(): Promise<GuardState>;
  state(): GuardState;
}

/** What is known of a request apart from requirements: the scheme of its credentials, and its token or why that is rejected. */
type Identity = { readonly scheme: Scheme } & (
  | { readonly refusal: Refusal }
  | { readonly refusal: undefined; readonly accepted: Accepted; readonly ownClaims: Claims }
);

/**
 * Creates a guard.
 * @throws {TypeError} an option is missing, mistyped, out of range or unknown
 */
export function createGuardCore(given: GuardOptions, { clock, now, random }: GuardEnvironment = {}): GuardCore {
  const options = checkOptions(given);
  const { dpop, isRevoked, onAccepted, onRefused, clientCertificate } = options;
  const readCredentials = createCredentialsReader(dpop);
  const keys = createIssuerKeys(options, { clock, random });
  const acceptsBoundTokens = dpop !== 'off' || clientCertificate !== undefined;
  const verifier = createVerifier({ ...options, keySets: keys.byIssuer, acceptsBoundTokens, now, random });
  const refuseBinding = createBindingCheck({ ...options, now });
  const readClaims = createClaimsReader(options.claims);
  const { readRequirements, readReturnedScope: readScope } = createRequirementReader({ ...options, now });
  const resource = options.resource ?? options.publicUrl;
  const respond = createReject({ ...options, resourceMetadata: resource && resourceMetadataUrl(resource) });
  const identities = new WeakMap<Request, Identity | Promise<Identity>>();

  /** The walk of a request: header, token, proof, claims. Requirements follow, because each route has its own. */
  function identify(request: Request): Identity | Promise<Identity> {
    const { scheme, token } = readCredentials(request.headers.get('authorization'));
    if (token instanceof Refusal) return { scheme, refusal: token };
    return whenSettled(verifier.verify(token), (verified) => {
      if (verified instanceof Refusal) return { scheme, refusal: verified };
      return whenSettled(refuseBinding?.(request, { scheme, token }, verified.claims), (refusal) =>
        refusal ? { scheme, refusal } : accept(request, scheme, token, verified),
      );
    });
  }

  function accept(request: Request, scheme: Scheme, token: string, verified: VerifiedToken): Identity {
    const claims = readClaims(verified);
    if (claims instanceof Refusal) return { scheme, refusal: claims };
    if (isRevoked && answersOtherThanFalse(isRevoked(claims))) return { scheme, refusal: refuse('token_revoked') };
    ignoreRejection(onAccepted?.(request, claims));
    return { scheme, refusal: undefined, accepted: { claims, token }, ownClaims: verified.claims };
  }

  function identityOf(request: Request): Identity | Promise<Identity> {
    const known = identities.get(request) ?? attempt(() => identify(request));
    identities.set(request, known);
    return known;
  }

  function reject(request: Request, refusal: Refusal, { scheme }: Identity, wanted: Wanted): Response {
    ignoreRejection(onRefused?.(request, refusal.reason));
    return respond(refusal, scheme, wanted);
  }

  const state = () => ({ ...verifier.state(), issuers: keys.state() });

  return {
    options,
    readRequirements,
    readScope,
    async reject(request, refusal, wanted) {
      return reject(request, refusal, await identityOf(request), wanted);
    },
    decide(request, requirement, isOptional) {
      return whenSettled(identityOf(request), (identity) => {
        const refusal = identity.refusal ?? requirement.judge(identity.ownClaims);
        if (refusal === undefined) return (identity as { readonly accepted: Accepted }).accepted;
        if (isOptional && requirement.isEmpty && refusal.reason === 'credentials_missing') return undefined;
        const response = reject(request, refusal, identity, requirement.wanted);
        if (isOptional) response.headers.append('vary', 'Authorization');
        return response;
      });
    },
    start: keys.start,
    stop: keys.stop,
    reload: () => keys.reload().then(state),
    state,
  };
}

/**
 * Goes on at once if there is nothing to wait for: each promise costs a request a microsecond. What is pending is known by its
 * `then`, because an application can replace `Promise`, and must never pass for a result.
 */
export function whenSettled<Value, Result>(
  value: Value | Promise<Value>,
  next: (settled: Value) => Result | Promise<Result>,
  fail?: (error: unknown) => Result,
): Result | Promise<Result> {
  return isPending(value) ? value.then(next, fail) : next(value);
}

function isPending<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return typeof value === 'object' && value !== null && 'then' in value;
}

/** Returns an exception as a rejected promise. */
export function attempt<Result>(run: () => Result | Promise<Result>): Result | Promise<Result> {
  try {
    return run();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Anything but `false` rejects. A promise does too, and its own rejection is caught. */
function answersOtherThanFalse(answer: unknown): boolean {
  ignoreRejection(answer);
  return answer !== false;
}

/** Ignores what a callback returns. Without this, a rejected promise would end the process. */
function ignoreRejection(returned: unknown): void {
  if (returned instanceof Promise) returned.catch(() => {});
}
