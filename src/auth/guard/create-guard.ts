import { ignoreRejection, isPromise, whenSettled } from '../jose/promises.ts';
import type { Clock } from '../keys/clock.ts';
import { createIssuerKeys } from '../keys/issuer-keys.ts';
import type { KeySetState } from '../keys/key-set.ts';
import { type CheckedOptions, checkOptions, type GuardOptions } from '../options.ts';
import { createBindingCheck } from '../proof/binding.ts';
import { isSamePresentation, type Presentation } from '../proof/presentation.ts';
import { Refusal, refuse } from '../refusals.ts';
import type { Scheme } from '../schemes.ts';
import type { Claims } from '../token/claims.ts';
import { createClaimsReader } from '../token/claims-schema.ts';
import { createVerifier, type VerifiedToken, type Verifier, type VerifierState } from '../token/verifier.ts';
import { createCredentialsReader } from './credentials.ts';
import { createMetadata, type RespondMetadata, resourceMetadataUrl } from './metadata.ts';
import { createReject } from './rejection.ts';
import { createRequirementReader, type Requirement, type Requirements, type Wanted } from './requirements.ts';

/** What a request is accepted with. */
export interface Accepted<AcceptedClaims extends Claims = Claims> {
  readonly claims: AcceptedClaims;
  /** The access token, for calls to other services on behalf of the client. */
  readonly token: string;
  /**
   * All scopes that the token grants, implied ones included, without the prefix. For information: to require a scope, give
   * `scope` to `check`.
   */
  readonly scopes: readonly string[];
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
  /** Decides about a request as of now. Checks of one request share the verification of its token and the use of its proof. */
  decide(request: Request, requirement: Requirement, isOptional: boolean): Decision | Promise<Decision>;
  /** Returns the response to a request whose token was accepted, but which is rejected for what it asks for. */
  reject(request: Request, refusal: Refusal, wanted: Wanted): Response;
  readonly metadata: RespondMetadata;
  start(): void;
  stop(): void;
  reload(): Promise<GuardState>;
  state(): GuardState;
}

/** What the checks of one request share. Whatever differs in the same object is another request. */
interface Shared {
  readonly presented: Presentation;
  /** The verified token, or its pending verification. A refusal is not kept: time passes, and outages end. */
  verified: VerifiedToken | Promise<VerifiedToken | Refusal> | undefined;
  /** Whether `onAccepted` was called. */
  isAnnounced: boolean;
}

/** What a request is accepted with, and the claims as its token has them. */
interface Authenticated {
  readonly accepted: Accepted;
  readonly ownClaims: Claims;
}

/**
 * Creates a guard.
 * @throws {TypeError} an option is missing, mistyped, out of range or unknown
 */
export function createGuardCore(given: GuardOptions, { clock, now, random }: GuardEnvironment = {}): GuardCore {
  const options = checkOptions(given);
  const { onRefused } = options;
  const readCredentials = createCredentialsReader(options.dpop);
  const keys = createIssuerKeys(options, { clock, random });
  const verifier = createVerifier({ ...options, keySets: keys.byIssuer, now, random });
  const { readRequirements, readReturnedScope: readScope, scopesOf } = createRequirementReader({ ...options, now });
  const authenticate = createAuthenticator(options, verifier, scopesOf, now);
  const respond = createReject({ ...options, resourceMetadata: resourceMetadataUrl(options) });

  function reject(request: Request, refusal: Refusal, scheme: Scheme, wanted: Wanted): Response {
    ignoreRejection(onRefused?.(request, refusal.reason));
    return respond(refusal, scheme, wanted);
  }

  const state = () => ({ ...verifier.state(), issuers: keys.state() });

  return {
    options,
    readRequirements,
    readScope,
    reject(request, refusal, wanted) {
      return reject(request, refusal, readCredentials(request.headers.get('authorization')).scheme, wanted);
    },
    decide(request, requirement, isOptional) {
      const { scheme, token } = readCredentials(request.headers.get('authorization'));
      const conclude = (outcome: Authenticated | Refusal): Decision => {
        const refusal = outcome instanceof Refusal ? outcome : requirement.judge(outcome.ownClaims);
        if (refusal === undefined) return (outcome as Authenticated).accepted;
        if (isOptional && requirement.isEmpty && refusal.reason === 'credentials_missing') return undefined;
        const response = reject(request, refusal, scheme, requirement.wanted);
        if (isOptional) response.headers.append('vary', 'Authorization');
        return response;
      };
      return token instanceof Refusal ? conclude(token) : whenSettled(authenticate(request, scheme, token), conclude);
    },
    metadata: createMetadata(options),
    start: keys.start,
    stop: keys.stop,
    reload: () => keys.reload().then(state),
    state,
  };
}

/** Returns the walk of a token: token, proof, claims. Requirements follow, because each route has its own. */
function createAuthenticator(
  options: CheckedOptions,
  verifier: Verifier,
  scopesOf: (claims: Claims) => readonly string[],
  now: GuardEnvironment['now'],
) {
  const { dpop, isRevoked, onAccepted } = options;
  const refuseBinding = createBindingCheck({ ...options, now });
  const readClaims = createClaimsReader(options.claims);
  const sharedBy = new WeakMap<Request, Shared>();

  function share(request: Request, token: string): Shared {
    const { method, url, headers } = request;
    const presented = { method, url, token, proof: dpop === 'off' ? null : (headers.get('dpop') ?? null) };
    const known = sharedBy.get(request);
    if (known !== undefined && isSamePresentation(known.presented, presented)) return known;
    const shared = { presented, verified: undefined, isAnnounced: false };
    sharedBy.set(request, shared);
    return shared;
  }

  function verify(shared: Shared): VerifiedToken | Refusal | Promise<VerifiedToken | Refusal> {
    if (isPromise(shared.verified)) return shared.verified;
    const outcome = verifier.verify(shared.presented.token, shared.verified);
    if (isPromise(outcome)) shared.verified = outcome;
    return outcome;
  }

  function accept(request: Request, shared: Shared, verified: VerifiedToken): Authenticated | Refusal {
    const claims = readClaims(verified);
    if (claims instanceof Refusal) return claims;
    if (isRevoked && returnsOtherThanFalse(isRevoked(claims))) return refuse('token_revoked');
    if (onAccepted && !shared.isAnnounced) {
      ignoreRejection(onAccepted(request, claims));
      shared.isAnnounced = true;
    }
    const { token } = shared.presented;
    const { claims: ownClaims } = verified;
    return {
      accepted: {
        claims,
        token,
        get scopes() {
          return scopesOf(ownClaims);
        },
      },
      ownClaims,
    };
  }

  return (
    request: Request,
    scheme: Scheme,
    token: string,
  ): Authenticated | Refusal | Promise<Authenticated | Refusal> => {
    const shared = share(request, token);
    const next = (verified: VerifiedToken | Refusal) => {
      shared.verified = verified instanceof Refusal ? undefined : verified;
      if (verified instanceof Refusal) return verified;
      const refusal = refuseBinding(request, scheme, shared.presented, verified.claims);
      return whenSettled(refusal, (settled) => settled ?? accept(request, shared, verified));
    };
    return whenSettled(verify(shared), next, (error) => {
      shared.verified = undefined;
      throw error;
    });
  };
}

/** Anything but `false` rejects. A promise does too, and its own rejection is caught. */
function returnsOtherThanFalse(returned: unknown): boolean {
  ignoreRejection(returned);
  return returned !== false;
}
