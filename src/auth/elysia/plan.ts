import type { GuardCore } from '../guard/create-guard.ts';
import { allOf, type Requirements, type RoutePolicy } from '../guard/requirements.ts';
import { whenSettled } from '../jose/promises.ts';
import { type CheckedOptions, optionRules } from '../options.ts';
import { refuse } from '../refusals.ts';
import type { Claims } from '../token/claims.ts';

/** A guard, and whether it accepts requests without a token. */
export interface Protection {
  readonly core: GuardCore;
  readonly isOptional: boolean;
  /** Whether documents name its rejections. */
  readonly isDocumented: boolean;
  /** Called before each request is judged. */
  begin(): void;
}

/** What a route asks for. Functions of the context are judged after validation, everything else before the body is read. */
export interface RouteRequirements extends Omit<Requirements, 'scope'> {
  readonly scope?: unknown;
  readonly authorize?: unknown;
}

/** The context of a route, of which an application can change everything but the Request that it was decided for. */
export interface RouteContext {
  readonly request: Request;
}

export type Judged = Response | { readonly claims: Claims | undefined };

/** How the requests of one route are judged. */
export interface Plan {
  readonly protections: readonly Protection[];
  readonly required: readonly RouteRequirements[];
  /** Whether a request without a token is accepted. */
  readonly isOpen: boolean;
  /** Whether responses differ by whether there is a token. */
  readonly isVaried: boolean;
  /** Whether a function of the context decides too. */
  readonly hasFunctions: boolean;
  /** The lists of fixed scopes of which one is required, with prefix. */
  readonly alternatives: RoutePolicy['alternatives'];
  /** Judges everything that does not depend on the context. Returns the rejection, or the claims that handlers get. */
  judge(request: Request): Judged | Promise<Judged>;
  /** Judges the functions of the context. Returns the rejection, if any. */
  judgeContext(context: RouteContext): Promise<Response | undefined>;
}

/**
 * Returns the plan of a route that these guards protect, the inner one first.
 * @throws {TypeError} a requirement is not valid
 */
export function createPlan(protections: readonly Protection[], required: readonly RouteRequirements[]): Plan {
  const scopeFunctions = required.map(({ scope }) => scope).filter(isFunction);
  const authorize = required.flatMap((route) => (route.authorize === undefined ? [] : [route.authorize]));
  if (!authorize.every(isFunction)) throw new TypeError('Cannot guard a route: authorize must be a function');
  const hasFunctions = scopeFunctions.length > 0 || authorize.length > 0;
  const fixed = required.map(({ authorize: _, scope, ...others }): Requirements => {
    return { ...others, ...(scope !== undefined && !isFunction(scope) && { scope: scope as Requirements['scope'] }) };
  });
  const judges = protections.map(({ core, begin }) => ({
    core,
    begin,
    requirement: allOf(fixed.map(core.readRequirements)),
  }));
  const isVaried = protections.every((protection) => protection.isOptional);
  const isOptional = !hasFunctions && isVaried;
  const [inner] = judges;

  /** Asks the guards from the outer one to the inner one. */
  function judgeFrom(request: Request, place: number, claims: Claims | undefined): Judged | Promise<Judged> {
    const judge = judges[place];
    if (judge === undefined) return { claims };
    judge.begin();
    return whenSettled(judge.core.decide(request, judge.requirement, isOptional), (decision) =>
      decision instanceof Response ? decision : judgeFrom(request, place - 1, decision?.claims),
    );
  }

  return {
    protections,
    required,
    isVaried,
    hasFunctions,
    isOpen: isOptional && inner?.requirement.isEmpty === true,
    alternatives: inner?.requirement.alternatives ?? [[]],
    judge: (request) => judgeFrom(request, judges.length - 1, undefined),
    async judgeContext(context) {
      const { request } = context;
      for (const scopeOf of scopeFunctions) {
        const scope = await scopeOf(context);
        for (const { core } of judges) {
          const decision = await core.decide(request, core.readScope(scope), false);
          if (decision instanceof Response) return decision;
        }
      }
      for (const isAllowed of authorize)
        if ((await isAllowed(context)) !== true) return inner?.core.reject(request, refuse('access_denied'), {});
      return undefined;
    },
  };
}

const isFunction = (value: unknown): value is (context: RouteContext) => unknown => typeof value === 'function';

/** Adds a guard to those of an instance, unless an equal one is there: a request is then verified once. */
export function withProtection(known: readonly Protection[], added: Protection): readonly Protection[] {
  const isKnown = known.some(
    ({ core, isOptional }) =>
      isOptional === added.isOptional && (core === added.core || areEqual(core.options, added.core.options)),
  );
  return isKnown ? known : [...known, added];
}

/** Options that are code are equal only if they are the same. */
function areEqual(some: CheckedOptions, others: CheckedOptions): boolean {
  return Object.entries(optionRules).every(([name, { kind }]) => {
    const [one, other] = [some, others].map((options) => (options as Readonly<Record<string, unknown>>)[name]);
    return kind === 'code' ? one === other : JSON.stringify(one) === JSON.stringify(other);
  });
}
