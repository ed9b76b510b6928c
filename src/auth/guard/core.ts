import { createIssuerKeys, type KeysEnvironment } from '../keys/issuer-keys.ts';
import { IssuerFinder } from '../lookup/issuer-finder.ts';
import { checkOptions } from '../options/check-options.ts';
import { optionsByIssuer } from '../options/issuers.ts';
import { createPublicNames } from '../proof/public-names.ts';
import type { Rejected } from '../rejections.ts';
import { createTrusts } from '../token/trust.ts';
import { createVerifier, type Verifier, type VerifierOptions } from '../token/verifier.ts';
import type { CheckedOptions, GuardOptions, GuardRequest } from '../types.ts';
import { systemClock, type TimeAndRandom } from '../values/clock.ts';
import { createTimeLimit, type WithinLimit } from '../values/time-limit.ts';
import { createDecide } from './decide.ts';
import { createMetadata } from './metadata.ts';
import { createReject, prepareRejections, type Shown } from './rejection.ts';
import { createPolicyReader } from './requirements.ts';

/*
 * Puts the parts of a guard together, for the doors and the adapters. It decides nothing itself: the order of the
 * checks is in decide.ts.
 */

/** The parts of a guard that adapters use. */
export type GuardCore = ReturnType<typeof createGuardCore>;

/** What `explain` replaces, and what it learns. */
interface Seams {
  readonly verifierFor: (options: VerifierOptions) => Verifier;
  readonly onRejection: (rejected: Rejected) => void;
}

/**
 * Creates a guard.
 * @throws {TypeError} an option is missing, mistyped, out of range or unknown
 */
export function createGuardCore(
  given: GuardOptions,
  {
    clock = systemClock,
    // Looked up at each call, because fake timers replace it.
    now = () => Date.now(),
    random = Math.random,
    onKeys,
    verifierFor = createVerifier,
    onRejection,
  }: Partial<TimeAndRandom & KeysEnvironment & Seams> = {},
) {
  const options = checkOptions(given);
  const names = createPublicNames(options);
  const withinLimit = createTimeLimit(clock, options.jwksTimeoutSeconds * 1000);
  const { keys, trusts, rulesOf } = createIssuers(options, withinLimit, { clock, random, onKeys });
  const verifier = verifierFor({ ...options, trusts, withinLimit, now, random });
  const { readRequirements, readScope, scopesOf, checkAnyScope } = createPolicyReader({ ...options, rulesOf, now });
  const prepared = prepareRejections(options.formatRejection);
  const reject = createReject(options, names, prepared, onRejection);
  const { decide, schemeOf } = createDecide(options, {
    names,
    verifier,
    reject,
    withinLimit,
    checkAnyScope,
    scopesOf,
    now,
  });
  const state = () => ({ ...verifier.state(), issuers: keys.state() });

  return {
    options,
    names,
    trusts,
    readRequirements,
    readScope,
    scopesOf,
    checkAnyScope,
    /** Decides about a request as of now. Checks of one request share what its token and its proof need. */
    decide,
    /** Returns the rejection of a request whose token was accepted, but does not allow what the request does. */
    reject: (request: GuardRequest, rejection: Rejected, shown: Shown) =>
      reject(request, rejection, schemeOf(request), shown),
    /** What is sent for each reason. */
    prepared,
    metadata: createMetadata(options, names, prepared.method_not_allowed),
    start: () => keys.start(),
    stop: () => keys.stop(),
    reload: (issuer?: string) => keys.reload(issuer).then(state),
    state,
  };
}

/** Returns the issuers of a guard: those that are listed, or those that a function of the application looks up. */
function createIssuers(options: CheckedOptions, withinLimit: WithinLimit, environment: KeysEnvironment) {
  const list = (each: CheckedOptions) => {
    const issuers = optionsByIssuer(each);
    const keys = createIssuerKeys(issuers, environment);
    return { options: each, keys, trusts: createTrusts(issuers, keys.byIssuer), rulesOf: undefined };
  };
  const { issuer: ask } = options;
  if (typeof ask !== 'function') return list(options);
  const finder = new IssuerFinder(options, { clock: environment.clock, ask, withinLimit }, list);
  return { keys: finder, trusts: finder, rulesOf: (iss: string) => finder.rulesOf(iss) };
}
