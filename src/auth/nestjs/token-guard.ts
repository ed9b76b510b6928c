import { type CanActivate, type ExecutionContext, Inject, type InjectionToken, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { RejectionError } from '../guard/rejection-error.ts';
import { createRouteCheck, nonceHeaders } from '../guard/route-check.ts';
import { authenticate, setHeader } from '../node/require-token.ts';
import type { Accepted, CheckRequirements, Guard } from '../types.ts';
import { memberOf } from '../values/json.ts';
import { exceptionFor, exchangeOf } from './call.ts';
import {
  copyRequirements,
  type Declaring,
  type Handler,
  levelOf,
  readRequirements,
  type Said,
  saidAbout,
} from './marks.ts';

/*
 * The class that is a guard of NestJS: which checks a call needs, and that no call is open because NestJS got the class
 * instead of an object.
 */

/** What a guard checks of the calls of one method. */
interface Plan {
  readonly routeChecks: readonly ReturnType<typeof createRouteCheck>[];
  /** Whether a request without credentials needs to pass the first check only. */
  readonly canBeAnonymous: boolean;
}

/**
 * Returns a class of guards for NestJS: for `APP_GUARD` with `useClass`, for `@UseGuards`, `overrideGuard` and
 * `useGlobalGuards(new …)`. It checks HTTP requests on Express and Fastify, GraphQL operations, and the messages of
 * gateways by the request of their handshake. Rejections are thrown as `HttpException`. Instead of the guard, it takes
 * the injection token of a provider of one. Does NOT check what NestJS runs without guards: static files, middleware,
 * and, if it is global, gateways and hybrid microservices.
 * @example
 * const ReaderGuard = tokenGuard(guard, { scope: 'read:messages' });
 * app.useGlobalGuards(new (tokenGuard(guard))());
 * @throws {TypeError} the first argument is neither a guard nor an injection token, or a requirement is not valid
 */
export function tokenGuard(
  guard: Guard<object> | InjectionToken,
  requirements: CheckRequirements = {},
): Type<CanActivate> {
  const required = copyRequirements(requirements);
  if (isToken(guard)) readRequirements(required);
  else createRouteCheck(guard, required, throwing);
  class TokenGuard extends GuardOfCalls {
    constructor() {
      super(required);
      if (!isToken(guard)) this[injected] = guard;
    }
  }
  // A property, so that a class that extends this one can have a constructor of its own.
  if (isToken(guard)) Inject(guard)(TokenGuard.prototype, injected);
  return TokenGuard;
}

const isToken = (guard: unknown): guard is InjectionToken =>
  typeof guard === 'function' || typeof guard === 'symbol' || (typeof guard === 'string' && guard !== '');

const throwing = { rejection: 'throw' } as const;
const misuse =
  'Cannot check a call: NestJS got the class of a guard instead of a guard. Write { provide: APP_GUARD, useClass: TheGuard } or useGlobalGuards(new TheGuard())';

const notInjected =
  'Cannot check a call: NestJS has injected no guard. Bind the class with APP_GUARD and useClass or with @UseGuards(), and provide a guard for its token. If the provider has a scope, give APP_GUARD the same one';

/** Classes of which NestJS itself creates an instance. */
const created = new WeakSet<object>();

/** Names of members that no class that extends this one can have. They are copied where NestJS copies an instance. */
const own = Symbol('own');
const injected = Symbol('injected guard');
const application = Symbol('application');

interface Own {
  readonly requirements: CheckRequirements;
  readonly plans: WeakMap<object, Map<object, Plan>>;
  guard?: Guard<object>;
}
const nothing: Own = { requirements: {}, plans: new WeakMap() };

class GuardOfCalls implements CanActivate {
  readonly [own]: Own;
  readonly [application]?: object;

  constructor(requirements: CheckRequirements) {
    this[own] = { requirements, plans: new WeakMap() };
  }

  set [injected](guard: Guard<object>) {
    createRouteCheck(guard, this[own].requirements, throwing);
    this[own].guard = guard;
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { routeChecks, canBeAnonymous } = planOf(this, context.getClass(), context.getHandler());
    if (routeChecks.length === 0) return true;
    const { request, response } = exchangeOf(context);
    try {
      for (const check of routeChecks) {
        const accepted = (await authenticate(request, check)) as Accepted<object, true>;
        for (const header of nonceHeaders(accepted.dpopNonce)) setHeader(response, ...header);
        if (canBeAnonymous && accepted.claims === undefined) return true;
      }
      return true;
    } catch (error) {
      throw error instanceof RejectionError ? exceptionFor(error, context.getType(), response) : error;
    }
  }

  /** NestJS before 12.1 drops a class that useGlobalGuards() got, if another module has an instance of it. */
  onModuleInit(): void {
    const { container } = Object(this[application]);
    const guards: readonly unknown[] = container?.applicationConfig?.getGlobalGuards() ?? [];
    if (guards.some((each) => typeof each === 'function' && each.prototype instanceof GuardOfCalls)) fail();
  }
}

// NestJS before 12.1 drops a class where it needs an object, and a class without a name anywhere: each would be open.
Object.defineProperties(GuardOfCalls, {
  // NestJS asks a class that it will create an instance of whether it is a provider.
  provide: {
    get(this: typeof GuardOfCalls) {
      created.add(this);
    },
  },
  canActivate: {
    get(this: typeof GuardOfCalls) {
      return created.has(this) && this.name !== '' ? undefined : fail;
    },
  },
  // Called if the class is the value of a provider.
  onModuleInit: { value: fail },
});
Inject(ModuleRef)(GuardOfCalls.prototype, application);

function fail(): never {
  throw new TypeError(misuse);
}

function planOf(instance: GuardOfCalls, type: Declaring, handler: Handler): Plan {
  // NestJS has created no instance if what it injects has another scope.
  const { guard, plans, requirements } = instance[own] ?? nothing;
  if (guard === undefined) throw new TypeError(notInjected);
  const ofHandler = plans.get(handler) ?? new Map<object, Plan>();
  plans.set(handler, ofHandler);
  const known = ofHandler.get(type);
  if (known) return known;
  const said = saidAbout(type, handler);
  const opens = said?.canOpen === true && said.level > levelOf(instance, type, handler);
  const { required, canBeAnonymous } = requiredBy(requirements, said, opens);
  const plan = { routeChecks: required.map((each) => createRouteCheck(guard, each, throwing)), canBeAnonymous };
  ofHandler.set(type, plan);
  return plan;
}

/** What a guard with these requirements checks of a call, in this order: nothing if the call is public. */
function requiredBy(ofGuard: CheckRequirements, said: Said | undefined, opens: boolean) {
  if (said === undefined) return { required: [ofGuard], canBeAnonymous: false };
  const { access } = said;
  if (access === 'public') return { required: opens ? [] : [ofGuard], canBeAnonymous: false };
  const isOptional = memberOf(access, 'optional') === true;
  const canBeAnonymous = opens && isOptional;
  const addsNothing = Object.keys(ofGuard).length === 0 && (canBeAnonymous || !isOptional);
  // Those of the route are first, because a challenge names their scope.
  return { required: addsNothing ? [access] : [access, ofGuard], canBeAnonymous };
}
