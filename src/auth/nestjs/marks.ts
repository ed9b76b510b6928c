import { createPolicyReader, requirementNames } from '../guard/requirements.ts';
import type { CheckRequirements } from '../types.ts';
import { deepFreeze, hasMember, isJsonObject, isRecord, memberOf, namesIn } from '../values/json.ts';
import { sharedMap } from '../values/shared.ts';

/*
 * What `@Public()` and `@RequireToken()` say about a call, and which guards they concern. What a guard then checks is
 * decided in token-guard.ts.
 */

/** What a decorator says about a class or one of its methods. */
type Access = CheckRequirements | 'public';

/** How close to a call something is bound: to the application, to a class, or to a method. */
const levels = { application: 0, class: 1, method: 2 } as const;
type Level = (typeof levels)[keyof typeof levels];

/** By class, or by prototype and name of the method, because other decorators replace the method itself. */
const marks = () => sharedMap<object, Map<PropertyKey, Access>>('nestjs');
const ofClass = Symbol('of the class');
/** Also kept as metadata of the method, which @ts-rest/nest and @orpc/nest copy to the methods that they make of it. */
const metadataKey = 'protected-api 1: access';
type Metadata = Record<'getMetadata' | 'defineMetadata', (key: string, ...given: unknown[]) => unknown>;
const metadata = Reflect as unknown as Metadata;

/** A class whose methods NestJS calls. */
export type Declaring = object & { readonly prototype: object };
export type Handler = object & { readonly name: string };

/**
 * Opens a class or a method: no guard that is bound less closely checks its calls. On a class, these are the global
 * guards; on a method, those of its class too. A guard of `@UseGuards()` beside it checks the token. Classes that
 * extend the class stay guarded.
 */
export function Public(): ClassDecorator & MethodDecorator {
  return mark('public');
}

/**
 * Requires a token that meets these requirements, besides those of `tokenGuard`. Those of a method replace those of its
 * class. Both also apply to classes that extend the class, and to methods that override the method. `optional` lets
 * requests without a token pass guards that are bound less closely, as `@Public()` does; the token of any other request
 * is checked.
 * @throws {TypeError} a requirement is not valid
 */
export function RequireToken(requirements: CheckRequirements = {}): ClassDecorator & MethodDecorator {
  const own = copyRequirements(requirements);
  readRequirements(own);
  return mark(own);
}

export const { readRequirements } = createPolicyReader({
  ...{ issuer: [], scopeClaim: [], scopePrefix: undefined, scopeRequestPrefix: undefined, scopeImplies: {} },
  ...{ requireScope: false, clockToleranceSeconds: 0, now: Date.now },
});

/**
 * Returns a copy of requirements, frozen with everything in it, so that what is changed in them later, and where they
 * are read again, changes nothing. What is not valid stays as it is.
 */
export function copyRequirements(requirements: CheckRequirements): CheckRequirements {
  if (!isRecord(requirements)) return requirements;
  const given = requirementNames.filter((name) => hasMember(requirements, name));
  const names = new Set([...given, ...namesIn(requirements)]);
  return deepFreeze(Object.fromEntries([...names].map((name) => [name, copyOf(memberOf(requirements, name))])));
}

function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return Array.from(value);
  return isJsonObject(value) ? Object.fromEntries(namesIn(value).map((name) => [name, copyOf(value[name])])) : value;
}

function mark(access: Access) {
  return (target: object, method: PropertyKey = ofClass, descriptor?: PropertyDescriptor): void => {
    const ofTarget = marks().get(target) ?? new Map<PropertyKey, Access>();
    if (ofTarget.has(method)) throw new TypeError('Cannot decorate twice: use one of @Public() and @RequireToken()');
    marks().set(target, ofTarget.set(method, access));
    if (descriptor) metadata.defineMetadata(metadataKey, { target, access }, descriptor.value);
  };
}

/** What decorators say about a call, that of the method first. */
export interface Said {
  readonly access: Access;
  readonly level: Level;
  /** Whether it may open the call: not if the class or the method has it from one that it extends or overrides. */
  readonly canOpen: boolean;
}

/** Returns what decorators say about a method of a class. */
export function saidAbout(type: Declaring, handler: Handler): Said | undefined {
  const carried = metadata.getMetadata(metadataKey, handler) as { target: object; access: Access } | undefined;
  const classes: Declaring[] = [];
  for (let each = type; each.prototype; each = Object.getPrototypeOf(each)) classes.push(each);
  const prototypes = classes.map(({ prototype }) => prototype);
  const methods = prototypes.flatMap((prototype) => Object.entries(Object.getOwnPropertyDescriptors(prototype)));
  const [method] = methods.find(([, { value }]) => value === handler) ?? [handler.name.replace(/^bound /, '')];
  const declaring = prototypes.find((prototype) => Object.hasOwn(prototype, method));
  // What a decorator says about the method is kept by its name.
  if (!declaring && !carried && prototypes.some((prototype) => marks().has(prototype)))
    throw new TypeError('Cannot check a call: a function of another name has replaced the method');
  const ofMethod = (access: Access | undefined, canOpen: boolean) => ({ access, canOpen, level: levels.method });
  const all: readonly (Omit<Said, 'access'> & { readonly access: Access | undefined })[] = [
    ...prototypes.map((each) => ofMethod(marks().get(each)?.get(method), each === declaring)),
    ofMethod(carried?.access, carried?.target === (declaring ?? type.prototype)),
    ...classes.map((each) => ({
      access: marks().get(each)?.get(ofClass),
      canOpen: each === type,
      level: levels.class,
    })),
  ];
  return all.find(({ access, canOpen }) => access !== undefined && (access !== 'public' || canOpen)) as
    | Said
    | undefined;
}

/**
 * Returns where a guard is bound for a call, as NestJS keeps it: with the class or the method that names it. A guard
 * that neither names, such as one that another guard calls, is one of the application.
 */
export function levelOf(guard: object, type: Declaring, handler: Handler): Level {
  const isNamedBy = (target: object) => {
    const named = metadata.getMetadata('__guards__', target);
    return Array.isArray(named) && named.some((each) => each === guard || each === guard.constructor);
  };
  if (isNamedBy(handler)) return levels.method;
  return isNamedBy(type) ? levels.class : levels.application;
}
