import { createBindingCheck } from '../proof/binding.ts';
import { isSamePresentation, type Presentation } from '../proof/presentation.ts';
import type { PublicNames } from '../proof/public-names.ts';
import { Rejected, rejectFor } from '../rejections.ts';
import { createClaimsReader } from '../token/claims-schema.ts';
import type { Verification, VerifiedToken, Verifier } from '../token/verifier.ts';
import type { CheckedOptions, Claims, GuardRequest } from '../types.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { createFaultWarning, nameOfFault } from '../values/faults.ts';
import { attempt, ignoreRejection, isPromise, run, type Steps, wait, whenSettled } from '../values/promises.ts';
import { Limited, type WithinLimit } from '../values/time-limit.ts';
import { createCredentialsReader } from './credentials.ts';
import { createAnonymous, createAuthentication, type Decision } from './decision.ts';
import type { createReject } from './rejection.ts';
import type { RoutePolicy } from './requirements.ts';

/*
 * The order in which a request is checked. Each check is in the room that its import names. What a rejection says is
 * decided in rejection.ts, and what a route requires in requirements.ts.
 */

interface DecideParts extends Pick<TimeAndRandom, 'now'> {
  readonly names: PublicNames;
  readonly verifier: Verifier;
  readonly reject: ReturnType<typeof createReject>;
  readonly withinLimit: WithinLimit;
  /** Whether a token grants a scope at all, if that is required of every token. */
  readonly checkAnyScope: RoutePolicy['check'] | undefined;
  readonly scopesOf: (claims: Claims) => readonly string[];
}

/**
 * Returns a function that decides about a request: at once if its token is cached, otherwise as a promise. The first
 * check that fails decides. Does NOT check `jti` of a token, that there is a `sub`, nor who may see which resource.
 */
export function createDecide(options: CheckedOptions, parts: DecideParts) {
  const { verifier, reject, checkAnyScope, scopesOf, now } = parts;
  const { onAccepted } = options;
  const readCredentials = createCredentialsReader(options);
  const share = createSharing(options, parts.names);
  const checkBinding = createBindingCheck({ ...options, withinLimit: parts.withinLimit, now });
  const applySchema = createClaimsReader(options.claims);
  const checkRevocation = createRevocationCheck(options, parts.withinLimit);
  const authenticate = createAuthentication(scopesOf);
  const anonymous = createAnonymous();

  function* decide(request: GuardRequest, policy: RoutePolicy): Steps<Decision> {
    // One Authorization header with one scheme and one token (RFC 6750 §2.1, RFC 9449 §7.1). No other place is looked
    // at, apart from the subprotocols of a WebSocket with `webSocketProtocol`.
    const { scheme, token } = readCredentials(request);
    const rejected = (rejection: Rejected) => reject(request, rejection, scheme, policy);
    if (token instanceof Rejected) {
      const isAnonymous = policy.isOptional && policy.isEmpty && token.reason === 'credentials_missing';
      return isAnonymous ? anonymous : rejected(token);
    }
    const shared = share(request, token);
    // Header, key, signature, then issuer, audience, required claims, time (RFC 7515 §5.2, RFC 7519 §7.2, RFC 9068 §4).
    const verification = verifyOnce(verifier, shared);
    const verified = isPromise(verification) ? yield* wait(verification) : verification;
    shared.verified = verified instanceof Rejected ? undefined : verified;
    if (verified instanceof Rejected) return rejected(verified);
    const { claims: ownClaims } = verified;
    // The key or the certificate that the token is bound to (RFC 9449 §4.3 and §7.1, RFC 8705 §3).
    const binding = checkBinding(request, scheme, shared, ownClaims);
    const proof = isPromise(binding) ? yield* wait(binding) : binding;
    if (proof instanceof Rejected) return rejected(proof);
    const claims = applySchema(verified);
    if (claims instanceof Rejected) return rejected(claims);
    const revocation = checkRevocation?.(claims, token);
    const revoked = isPromise(revocation) ? yield* wait(revocation) : revocation;
    if (revoked) return rejected(revoked);
    // After all that can fail by itself, so that a client can repeat the request with the same proof.
    const used = proof && (yield* wait(proof.use()));
    if (used) return rejected(used);
    // Meanwhile the token may have expired, or its key have left: then it is verified by what is trusted now.
    const hasWaited = isPromise(verification) || isPromise(binding) || isPromise(revocation);
    const again = hasWaited ? verifier.verify(token, verified) : verified;
    const current = isPromise(again) ? yield* wait(again) : again;
    if (current instanceof Rejected) return rejected(current);
    announce(request, shared, claims);
    // Step-up (RFC 9470 §4), then scope (RFC 6750 §3.1).
    const unmet = policy.check(ownClaims) ?? checkAnyScope?.(ownClaims);
    return unmet ? rejected(unmet) : authenticate(current, claims, token, proof?.nextNonce);
  }

  function announce(request: GuardRequest, shared: Shared, claims: Claims): void {
    if (!onAccepted || shared.isAnnounced) return;
    // Before the call, because the function may check the request itself.
    shared.isAnnounced = true;
    try {
      ignoreRejection(onAccepted(request, claims));
    } catch (error) {
      shared.isAnnounced = false;
      throw error;
    }
  }

  return {
    decide: (request: GuardRequest, policy: RoutePolicy) => run(decide(request, policy)),
    schemeOf: (request: GuardRequest) => readCredentials(request).scheme,
  };
}

/** What `isRevoked` gets besides the claims. */
class RevocationCheck extends Limited {
  constructor(readonly token: string) {
    super();
  }
}

/** Returns a function that asks the application whether a token is revoked. A fault is not the token's: it is a 503. */
function createRevocationCheck({ isRevoked }: CheckedOptions, withinLimit: WithinLimit) {
  if (!isRevoked) return undefined;
  const warn = createFaultWarning('check for revocation', 'the function isRevoked', 'Requests are rejected');
  return (claims: Claims, token: string) => {
    const limited = new RevocationCheck(token);
    return whenSettled<unknown, Rejected | undefined>(
      attempt(() => withinLimit(limited, isRevoked(claims, limited))),
      (returned) => {
        if (typeof returned !== 'boolean') warn(`returned ${typeof returned}, not a boolean`);
        return returned === false ? undefined : rejectFor('token_revoked');
      },
      (fault) => {
        warn(`failed: ${nameOfFault(fault)}`);
        return rejectFor('revocation_unavailable');
      },
    );
  };
}

/** What the checks of one request share. If anything differs in the same object, it is another request. */
interface Shared extends Presentation {
  /** The verified token, or its pending verification. A rejection is not kept: time passes, and outages end. */
  verified: VerifiedToken | Promise<Verification> | undefined;
  /** Whether `onAccepted` was called. */
  isAnnounced: boolean;
}

/**
 * Returns a function that finds what earlier checks of a request by this guard left. proof.ts keeps the result of a
 * proof by what is shared here, and use-once.ts the use of a proof by request, because several guards can check it.
 */
function createSharing({ dpop }: CheckedOptions, names: PublicNames): (request: GuardRequest, token: string) => Shared {
  const sharedBy = new WeakMap<GuardRequest, Shared>();
  return (request, token) => {
    const { method, url, headers } = request;
    const proof = dpop === 'off' ? null : headers.get('dpop');
    const name = names.find(request);
    const shared = { method, url, name, token, proof, verified: undefined, isAnnounced: false };
    const known = sharedBy.get(request);
    if (known !== undefined && isSamePresentation(known, shared)) return known;
    sharedBy.set(request, shared);
    return shared;
  };
}

/** Verifies the token, unless another check of the request is doing so. A verification that throws is forgotten. */
function verifyOnce(verifier: Verifier, shared: Shared): Verification | Promise<Verification> {
  if (isPromise(shared.verified)) return shared.verified;
  const outcome = verifier.verify(shared.token, shared.verified);
  if (!isPromise(outcome)) return outcome;
  shared.verified = outcome;
  outcome.catch(() => {
    shared.verified = undefined;
  });
  return outcome;
}
