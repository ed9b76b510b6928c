/*
 * What the guards and requirements that reached a route ask of its requests. How they reached it is Elysia's matter;
 * when a plan is checked is the gate's.
 */
import type { GuardCore } from '../guard/core.ts';
import { type Decision, isAccepted, ownClaimsOf, type Rejection } from '../guard/decision.ts';
import { type Alternatives, createPolicy, type RoutePolicy } from '../guard/requirements.ts';
import { requirementError } from '../guard/scopes.ts';
import { haveEqualOptions } from '../options/check-options.ts';
import { describeValue } from '../options/describe-value.ts';
import { rejectFor } from '../rejections.ts';
import type { Requirements } from '../types.ts';
import { whenSettled } from '../values/promises.ts';

/** A guard, and how a plugin uses it. */
export interface GuardUse {
  readonly core: GuardCore;
  /** The guard, or its options, as the plugin got it. */
  readonly given: object;
  /** Whether it accepts requests without a token. */
  readonly isOptional: boolean;
  /** Whether the routes that an instance has before it are public. */
  readonly isPublicBefore: boolean;
  /** Whether documents name its rejections. */
  readonly isDocumented: boolean;
}

/** The route options that are requirements. */
export const routeOptionNames = ['scope', 'acr', 'maxAge', 'authorize'] as const;

/** What one option requires, of the route or of an instance or group around it. */
export interface Requirement {
  readonly name: (typeof routeOptionNames)[number];
  readonly value: unknown;
}

/** Whether a requirement is a function of the context. */
export const isCalled = ({ name, value }: Requirement): boolean =>
  typeof value === 'function' && (name === 'scope' || name === 'authorize');

/** What a guard has accepted a request with: without claims where a token is optional. */
export type Accepted = Exclude<Decision, Rejection>;

/** The rejection of a request, or what each guard has accepted it with, in the order of the checks. */
type Outcome = Rejection | Accepted[];

/** How the requests of one route are checked. */
export type Plan = ReturnType<typeof createPlan>;

/** The plans of guarded routes, by their hooks. */
export const plans = new WeakMap<object, Plan>();

/**
 * Returns the plan of a route with these parts.
 * @param uses the guards, the outer one first
 * @param route the method and the path, which errors name
 * @throws {TypeError} a requirement is not valid
 */
export function createPlan(uses: readonly GuardUse[], required: readonly Requirement[], route: string) {
  const fixed = required.filter((each) => !isCalled(each));
  const uncallable = fixed.find(({ name }) => name === 'authorize');
  if (uncallable) throw requirementError(`authorize must be a function, got ${describeValue(uncallable.value)}`, route);
  const hasFunctions = fixed.length < required.length;
  const isVaried = uses.every(({ isOptional }) => isOptional);
  const isOptional = !hasFunctions && isVaried;
  const distinct = uses
    .toReversed()
    .filter((use, place, all) => place === all.findIndex((each) => isSameUse(each, use)));
  const layers = distinct.map((use) => ({
    use,
    policy: allOf(
      fixed.map(({ name, value }) => use.core.readRequirements({ [name]: value } as Requirements, route)),
      isOptional,
    ),
  }));
  const [inner] = layers;

  /** Calls the guards from the outermost to the innermost. */
  function checkFrom(request: Request, place: number, accepted: Accepted[]): Outcome | Promise<Outcome> {
    const layer = layers[place];
    if (layer === undefined) return accepted;
    const { use, policy } = layer;
    return whenSettled(use.core.decide(request, policy), (decision: Decision) => {
      if (!isAccepted(decision)) return decision;
      accepted[place] = decision;
      return checkFrom(request, place - 1, accepted);
    });
  }

  /** Returns the rejection of what a function of the context has returned, if any. Only the gate verifies tokens. */
  function judge(name: Requirement['name'], returned: unknown, request: Request, accepted: readonly Accepted[]) {
    if (name === 'authorize')
      return returned === true
        ? undefined
        : inner?.use.core.reject(request, rejectFor('access_denied'), withoutChallenge);
    for (const [place, { use }] of layers.entries()) {
      const policy = use.core.readScope(returned, route);
      const decision = accepted[place];
      const claims = decision && ownClaimsOf(decision);
      const rejection = claims ? policy.check(claims) : rejectFor('credentials_missing');
      if (rejection) return use.core.reject(request, rejection, policy);
    }
    return undefined;
  }

  return {
    parts: new Set<GuardUse | Requirement>([...uses, ...required]),
    /** Each guard that checks, with its policy, the inner one first. Of guards with equal options, one checks. */
    layers,
    /** Whether a request without a token is accepted. */
    isOpen: isOptional && inner?.policy.isEmpty === true,
    /** Whether responses depend on whether there is a token. */
    isVaried,
    /** Whether a function of the context decides too. */
    hasFunctions,
    /** Whether a proof of the client names the URL. */
    hasProofs: uses.some(({ core }) => core.options.dpop !== 'off'),
    /** Checks everything that does not depend on the context. Handlers get the claims of the first decision. */
    check: (request: Request) => checkFrom(request, layers.length - 1, []),
    judge,
  };
}

const withoutChallenge = { challenge: {}, isOptional: false };

/** Whether two guards decide alike about every request. */
export const isSameUse = (some: GuardUse, other: GuardUse): boolean =>
  some.isOptional === other.isOptional &&
  (some.core === other.core || haveEqualOptions(some.core.options, other.core.options));

/**
 * Returns the policy that is met if all of these are. Its challenge names all scopes, and the lowest age.
 * @param isOptional whether a request without a token is accepted
 */
export function allOf(policies: readonly RoutePolicy[], isOptional: boolean): RoutePolicy {
  const challenges = policies.map(({ challenge }) => challenge);
  const scopes = new Set(challenges.flatMap(({ scope }) => scope?.split(' ') ?? []));
  const ages = challenges.flatMap(({ maxAge }) => maxAge ?? []);
  const combine = (some: Alternatives, others: Alternatives) =>
    some.flatMap((one) => others.map((other) => [...new Set([...one, ...other])]));
  return createPolicy(
    {
      scope: [...scopes].join(' ') || undefined,
      acrValues: challenges.findLast(({ acrValues }) => acrValues !== undefined)?.acrValues,
      maxAge: ages.length > 0 ? Math.min(...ages) : undefined,
    },
    policies.map(({ alternatives }) => alternatives).reduce(combine, [[]]),
    policies.flatMap(({ checks }) => checks),
    isOptional,
  );
}
