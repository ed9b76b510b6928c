import type { CheckedOptions } from '../check-options.ts';
import type { Decision, GuardCore } from '../guard/create-guard.ts';
import { allOf, type Requirements, type RoutePolicy } from '../guard/requirements.ts';
import { whenSettled } from '../jose/promises.ts';
import { optionRules } from '../options.ts';
import { refuse } from '../refusals.ts';
import { type Hooks, hooksOf, type RouteContext, withSource } from './instance.ts';

/** A guard, and how the plugin uses it. */
export interface Protection {
  readonly core: GuardCore;
  /** Whether it accepts requests without a token. */
  readonly isOptional: boolean;
  /** Whether documents name its rejections. */
  readonly isDocumented: boolean;
  /** Called before each request is checked. */
  begin(): void;
}

/** The route options that are requirements. */
export const requirementNames = ['scope', 'acr', 'maxAge', 'authorize'] as const;

/** What one option requires, of the route or of an instance or group around it. */
export type Requirement = readonly [name: (typeof requirementNames)[number], value: unknown];

/** What a hook requires, for requirements that reach a route through Elysia's macros. */
const requirementOf = new WeakMap<object, Requirement>();

/** Returns the hook of a macro. It does nothing itself; it marks a requirement, however that reached the route. */
export function requirementHook(...requirement: Requirement): () => undefined {
  const [, value] = requirement;
  const hook = () => undefined;
  requirementOf.set(hook, requirement);
  return withSource(hook, typeof value === 'function' ? String(value) : '() => {}');
}

/** Returns the requirements in the options of a route, and those of its hooks. */
export function requirementsIn(hooks: Hooks): readonly Requirement[] {
  // Elysia copies the options of a WebSocket, which loses those of a class.
  const options = [hooks, Object(hooks.websocket) as Hooks].flatMap((each) =>
    requirementNames.flatMap((name): readonly Requirement[] => (name in each ? [[name, each[name]]] : [])),
  );
  const others = hooksOf(hooks, 'beforeHandle').flatMap(({ fn }) => {
    const requirement = typeof fn === 'function' && requirementOf.get(fn);
    return requirement ? [requirement] : [];
  });
  return [...options, ...others];
}

/** How the requests of one route are checked. */
export interface Plan {
  readonly protections: readonly Protection[];
  /** Whether a request without a token is accepted. */
  readonly isOpen: boolean;
  /** Whether responses depend on whether there is a token. */
  readonly isVaried: boolean;
  /** Whether a function of the context decides too. */
  readonly hasFunctions: boolean;
  /** The lists of fixed scopes of which one is required, with prefix. */
  readonly alternatives: RoutePolicy['alternatives'];
  /** Checks everything that does not depend on the context. Handlers get the claims of the decision. */
  check(request: Request): Decision | Promise<Decision>;
  /** Calls the functions of the context, with the claims that handlers get. Returns the rejection, if any. */
  checkContext(context: RouteContext, claims: unknown): Promise<Response | undefined>;
}

/**
 * Returns the plan of a route that these guards protect, the inner one first.
 * @throws {TypeError} a requirement is not valid
 */
export function createPlan(protections: readonly Protection[], required: readonly Requirement[]): Plan {
  const unset = required.find(([, value]) => value === undefined);
  if (unset) throw new TypeError(`Cannot read requirements: ${unset[0]} is undefined`);
  // A requirement can come from the options of a route and from the hook of its macro.
  const valuesOf = (name: Requirement[0]) => [
    ...new Set(required.flatMap(([each, value]) => (each === name ? [value] : []))),
  ];
  const scopeFunctions = valuesOf('scope').filter(isFunction);
  const authorize = valuesOf('authorize');
  if (!authorize.every(isFunction)) throw new TypeError('Cannot read requirements: authorize must be a function');
  const hasFunctions = scopeFunctions.length > 0 || authorize.length > 0;
  const fixed = (['acr', 'maxAge', 'scope'] as const).flatMap((name) =>
    valuesOf(name).flatMap((value): Requirements[] => (isFunction(value) ? [] : [{ [name]: value }])),
  );
  const checks = protections.map(({ core, begin }) => ({
    core,
    begin,
    policy: allOf(fixed.map((requirements) => core.readRequirements(requirements))),
  }));
  const isVaried = protections.every((protection) => protection.isOptional);
  const isOptional = !hasFunctions && isVaried;
  const [inner] = checks;

  /** Calls the guards from the outermost to the innermost. */
  function checkFrom(request: Request, place: number, outer?: Decision): Decision | Promise<Decision> {
    const check = checks[place];
    if (check === undefined) return outer;
    check.begin();
    return whenSettled(check.core.decide(request, check.policy, isOptional), (decision) =>
      decision instanceof Response ? decision : checkFrom(request, place - 1, decision),
    );
  }

  return {
    protections,
    isVaried,
    hasFunctions,
    isOpen: isOptional && inner?.policy.isEmpty === true,
    alternatives: inner?.policy.alternatives ?? [[]],
    check: (request) => checkFrom(request, checks.length - 1),
    async checkContext(given, claims) {
      const { request } = given;
      // The application may have put other claims into the context.
      const context = Object.create(given, { claims: { value: claims, enumerable: true } });
      for (const scopeOf of scopeFunctions) {
        const scope = await scopeOf(context);
        for (const { core } of checks) {
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
    const [one, other] = [some, others].map((options) => (options as Hooks)[name]);
    return kind === 'code' ? one === other : JSON.stringify(one) === JSON.stringify(other);
  });
}
