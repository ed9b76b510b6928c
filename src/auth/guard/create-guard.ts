import { type CheckedOptions, checkOptions, type GuardOptions } from '../check-options.ts';
import { ignoreRejection, whenSettled } from '../jose/promises.ts';
import type { Clock } from '../keys/clock.ts';
import { createIssuerKeys } from '../keys/issuer-keys.ts';
import type { KeySetState } from '../keys/key-set.ts';
import type { GuardRequest } from '../proof/presentation.ts';
import { Refusal } from '../refusals.ts';
import type { Scheme } from '../schemes.ts';
import type { Claims } from '../token/claims.ts';
import { optionsByIssuer } from '../token/issuer-rules.ts';
import { createVerifier, type VerifierState } from '../token/verifier.ts';
import { type AcceptedToken, createAuthenticator, createCredentialsReader } from './authenticate.ts';
import { createMetadata, type RespondMetadata, resourceMetadataUrl } from './metadata.ts';
import { createReject } from './rejection.ts';
import { type ChallengeParameters, createPolicyReader, type Requirements, type RoutePolicy } from './requirements.ts';

/** The state of a guard's keys and token cache: enough for a readiness probe and for metrics. */
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
export type Decision = AcceptedToken | Response | undefined;

/** The parts of a guard that adapters use. */
export interface GuardCore {
  readonly options: CheckedOptions;
  readRequirements(requirements: Requirements): RoutePolicy;
  /** Reads the scope that a function of the application returned. */
  readScope(returned: unknown): RoutePolicy;
  /** Decides about a request as of now. Checks of one request share the verification of its token and the use of its proof. */
  decide(request: GuardRequest, policy: RoutePolicy, isOptional: boolean): Decision | Promise<Decision>;
  /** Returns the scopes that a token grants, without the prefix. */
  scopesOf(claims: Claims): readonly string[];
  /** Returns the rejection of a request whose token was accepted, but does not allow what the request does. */
  reject(request: GuardRequest, refusal: Refusal, challenge: ChallengeParameters): Response;
  readonly metadata: RespondMetadata;
  start(): void;
  stop(): void;
  reload(): Promise<GuardState>;
  state(): GuardState;
}

/**
 * Creates a guard.
 * @throws {TypeError} an option is missing, mistyped, out of range or unknown
 */
export function createGuardCore(given: GuardOptions, { clock, now, random }: GuardEnvironment = {}): GuardCore {
  const options = checkOptions(given);
  const { onRefused } = options;
  const readCredentials = createCredentialsReader(options.dpop);
  const keys = createIssuerKeys(optionsByIssuer(options), { clock, random });
  const verifier = createVerifier({ ...options, keySets: keys.byIssuer, now, random });
  const { readRequirements, readReturnedScope: readScope, scopesOf } = createPolicyReader({ ...options, now });
  const authenticate = createAuthenticator(options, verifier, now);
  const respond = createReject({ ...options, resourceMetadata: resourceMetadataUrl(options) });

  function reject(request: GuardRequest, refusal: Refusal, scheme: Scheme, challenge: ChallengeParameters): Response {
    ignoreRejection(onRefused?.(request, refusal.reason));
    return respond(refusal, scheme, challenge);
  }

  const state = () => ({ ...verifier.state(), issuers: keys.state() });

  return {
    options,
    readRequirements,
    readScope,
    scopesOf,
    reject(request, refusal, challenge) {
      return reject(request, refusal, readCredentials(request.headers.get('authorization')).scheme, challenge);
    },
    decide(request, policy, isOptional) {
      const { scheme, token } = readCredentials(request.headers.get('authorization'));
      const conclude = (outcome: AcceptedToken | Refusal): Decision => {
        const refusal = outcome instanceof Refusal ? outcome : policy.check(outcome.ownClaims);
        if (refusal === undefined) return outcome as AcceptedToken;
        if (isOptional && policy.isEmpty && refusal.reason === 'credentials_missing') return undefined;
        const response = reject(request, refusal, scheme, policy.challenge);
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
