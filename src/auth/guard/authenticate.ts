import type { CheckedOptions } from '../check-options.ts';
import { ignoreRejection, isPromise, whenSettled } from '../jose/promises.ts';
import { createBindingCheck } from '../proof/binding.ts';
import { type GuardRequest, isSamePresentation, type Presentation } from '../proof/presentation.ts';
import { Refusal, refuse } from '../refusals.ts';
import { acceptedSchemes, type DpopMode, type Scheme } from '../schemes.ts';
import type { Claims } from '../token/claims.ts';
import { createClaimsReader } from '../token/claims-schema.ts';
import type { Verification, VerifiedToken, Verifier } from '../token/verifier.ts';

/** The result for an accepted request. */
export interface Authentication<AcceptedClaims extends Claims = Claims> {
  readonly claims: AcceptedClaims;
  /** The access token, for calls to other services on behalf of the client. */
  readonly token: string;
  /**
   * All scopes that the token grants, implied ones included, without the prefix. For information only: to require a scope, pass
   * `scope` to `check`.
   */
  readonly scopes: readonly string[];
}

/** The content of an Authorization header: a scheme, with a token or why there is none. */
export interface Credentials {
  /** The scheme of the request, or the first accepted one. Challenges name it. */
  readonly scheme: Scheme;
  readonly token: string | Refusal;
}

/**
 * Returns a function that reads an Authorization header: one scheme and one token. Two headers arrive joined by a comma, so
 * they have too many parts.
 */
export function createCredentialsReader(dpop: DpopMode): (authorization: string | null) => Credentials {
  const schemes = acceptedSchemes(dpop);
  const [first = 'Bearer'] = schemes;
  const missing = { scheme: first, token: refuse('credentials_missing') };
  const unsupported = { scheme: first, token: refuse(dpop === 'required' ? 'dpop_required' : 'scheme_unsupported') };

  return (authorization) => {
    if (authorization?.startsWith(`${first} `)) {
      // The common form, eight times as fast as the general one below.
      const token = authorization.slice(first.length + 1);
      if (token !== '' && !token.includes(' ') && !token.includes('\t')) return { scheme: first, token };
    }
    const [word, token, ...rest] = authorization?.match(/[^ \t]+/g) ?? [];
    if (word === undefined) return missing;
    const scheme = schemes.find((name) => name.toLowerCase() === word.toLowerCase());
    if (scheme === undefined) return unsupported;
    const isComplete = token !== undefined && rest.length === 0;
    return { scheme, token: isComplete ? token : refuse('credentials_malformed') };
  };
}

/** What the checks of one request share. If anything differs in the same object, it is another request. */
interface Shared extends Presentation {
  /** The verified token, or its pending verification. A refusal is not kept: time passes, and outages end. */
  verified: VerifiedToken | Promise<Verification> | undefined;
  /** Whether `onAccepted` was called. */
  isAnnounced: boolean;
}

/** What a request is accepted with, and the claims as its token has them. */
export interface AcceptedToken extends Pick<Authentication, 'claims' | 'token'> {
  readonly ownClaims: Claims;
}

/** Returns a function that checks token, proof and claims. Requirements follow, because each route has its own. */
export function createAuthenticator(options: CheckedOptions, verifier: Verifier, now: (() => number) | undefined) {
  const { dpop, isRevoked, onAccepted } = options;
  const refuseBinding = createBindingCheck({ ...options, now });
  const readClaims = createClaimsReader(options.claims);
  const sharedBy = new WeakMap<GuardRequest, Shared>();

  function share(request: GuardRequest, token: string): Shared {
    const { method, url, headers } = request;
    const proof = dpop === 'off' ? null : headers.get('dpop');
    const shared = { method, url, token, proof, verified: undefined, isAnnounced: false };
    const known = sharedBy.get(request);
    if (known !== undefined && isSamePresentation(known, shared)) return known;
    sharedBy.set(request, shared);
    return shared;
  }

  function verify(shared: Shared): Verification | Promise<Verification> {
    if (isPromise(shared.verified)) return shared.verified;
    const outcome = verifier.verify(shared.token, shared.verified);
    if (isPromise(outcome)) shared.verified = outcome;
    return outcome;
  }

  function accept(request: GuardRequest, shared: Shared, verified: VerifiedToken): AcceptedToken | Refusal {
    const claims = readClaims(verified);
    if (claims instanceof Refusal) return claims;
    if (isRevoked && returnsOtherThanFalse(isRevoked(claims))) return refuse('token_revoked');
    if (onAccepted && !shared.isAnnounced) {
      ignoreRejection(onAccepted(request, claims));
      shared.isAnnounced = true;
    }
    return { claims, token: shared.token, ownClaims: verified.claims };
  }

  function conclude(request: GuardRequest, scheme: Scheme, shared: Shared, verified: Verification) {
    shared.verified = verified instanceof Refusal ? undefined : verified;
    if (verified instanceof Refusal) return verified;
    const refusal = refuseBinding(request, scheme, shared, verified.claims);
    return whenSettled(refusal, (settled) => settled ?? accept(request, shared, verified));
  }

  return (request: GuardRequest, scheme: Scheme, token: string) => {
    const shared = share(request, token);
    const verified = verify(shared);
    if (!isPromise(verified)) return conclude(request, scheme, shared, verified);
    const forget = (error: unknown) => {
      shared.verified = undefined;
      throw error;
    };
    return verified.then((settled) => conclude(request, scheme, shared, settled), forget);
  };
}

/** Anything but `false` rejects. A promise does too, and its own rejection is caught. */
function returnsOtherThanFalse(returned: unknown): boolean {
  ignoreRejection(returned);
  return returned !== false;
}
