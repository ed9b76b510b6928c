import { type CanActivate, createParamDecorator, type ExecutionContext, HttpException } from '@nestjs/common';
import { nonceHeaders } from './guard/rejection.ts';
import { RejectionError } from './guard/rejection-error.ts';
import { copyRequirements, createPolicyReader } from './guard/requirements.ts';
import { preparedGuard } from './guard/route-check.ts';
import type { IncomingRequest } from './node/incoming.ts';
import { authOf, type Carrier, checkIncoming, setHeader, setRejectionHeaders } from './node/require-token.ts';
import type { Authentication, CheckRequirements, Guard, OptionalAuth } from './types.ts';
import { isJsonObject, namesIn } from './values/json.ts';
import { sharedMap } from './values/shared.ts';

export type { Authentication };

/** What a decorator says about a class or one of its methods. */
type Access = CheckRequirements | 'public';

/** By class, or by prototype and name of the method, because other decorators replace the method itself. */
const marks = () => sharedMap<object, Map<PropertyKey, Access>>('nestjs');
const ofClass = Symbol('of the class');
/** Also kept as metadata of the method, which @ts-rest/nest and @orpc/nest copy to the methods that they make of it. */
const metadataKey = 'protected-api 1: access';
type Metadata = Record<'getMetadata' | 'defineMetadata', (key: string, ...given: unknown[]) => unknown>;
const metadata = Reflect as unknown as Metadata;

/**
 * Returns a guard of NestJS: for `APP_GUARD`, `useGlobalGuards` or `@UseGuards`. It checks HTTP requests on Express and
 * Fastify, GraphQL operations, and the messages of gateways by the request of their handshake. Rejections are thrown as
 * `HttpException`. Does NOT check what NestJS runs without guards: static files, middleware, and, if it is global,
 * gateways and hybrid microservices.
 * @example
 * app.useGlobalGuards(tokenGuard(guard));
 * @throws {TypeError} the first argument is not a guard, or a requirement is not valid
 */
export function tokenGuard(guard: Guard<object>, requirements: CheckRequirements = {}): CanActivate {
  // Remembered by the guard, as those of the decorators are, because they can never change.
  const own = copyRequirements(requirements);
  preparedGuard(guard).prepare(own);
  const isEmpty = namesIn(own).length === 0;
  return {
    async canActivate(context) {
      const access = accessOf(context.getClass(), context.getHandler());
      if (access === 'public') return true;
      const { request, response } = exchangeOf(context);
      // Those of the route are first, because a challenge names their scope.
      const all = access === undefined ? [own] : [access, ...(isEmpty ? [] : [own])];
      try {
        for (const each of all) {
          const { dpopNonce } = await checkIncoming(guard, request, undefined, each);
          for (const header of nonceHeaders(dpopNonce)) setHeader(response, ...header);
        }
        return true;
      } catch (error) {
        throw error instanceof RejectionError ? exceptionFor(error, context.getType(), response) : error;
      }
    },
  };
}

/** Opens a class or a method: it needs no token then. Classes that extend the class stay guarded. */
export function Public(): ClassDecorator & MethodDecorator {
  return mark('public');
}

/**
 * Requires a token that meets these requirements, besides those of `tokenGuard`. Those of a method replace those of its
 * class. Both also apply to classes that extend the class, and to methods that override the method.
 * @throws {TypeError} a requirement is not valid
 */
export function RequireToken(requirements: CheckRequirements = {}): ClassDecorator & MethodDecorator {
  const own = copyRequirements(requirements);
  readRequirements(own);
  return mark(own);
}

const { readRequirements } = createPolicyReader({
  ...{ issuer: [], scopeClaim: [], scopePrefix: undefined, scopeRequestPrefix: undefined, scopeImplies: {} },
  ...{ requireScope: false, clockToleranceSeconds: 0, now: Date.now },
});

function mark(access: Access) {
  return (target: object, method: PropertyKey = ofClass, descriptor?: PropertyDescriptor): void => {
    const ofTarget = marks().get(target) ?? new Map<PropertyKey, Access>();
    if (ofTarget.has(method)) throw new TypeError('Cannot decorate twice: use one of @Public() and @RequireToken()');
    marks().set(target, ofTarget.set(method, access));
    if (descriptor) metadata.defineMetadata(metadataKey, { target, access }, descriptor.value);
  };
}

const authParameter = createParamDecorator((options: OptionalAuth | undefined, context) =>
  authOf(exchangeOf(context).request, options),
);

/**
 * Passes the authentication of the request to a parameter of a method, which is typed as `Authentication`. On a public
 * route, write `@Auth({ optional: true })`: undefined if no guard has accepted the request.
 */
export function Auth(options?: OptionalAuth): ParameterDecorator {
  return authParameter(options);
}

/** Returns what decorators say about a method of a class, that of the method first. */
function accessOf(type: { readonly prototype: object }, handler: { readonly name: string }): Access | undefined {
  const carried = metadata.getMetadata(metadataKey, handler) as { target: object; access: Access } | undefined;
  const classes: (typeof type)[] = [];
  for (let each = type; each.prototype; each = Object.getPrototypeOf(each)) classes.push(each);
  const prototypes = classes.map(({ prototype }) => prototype);
  const methods = prototypes.flatMap((prototype) => Object.entries(Object.getOwnPropertyDescriptors(prototype)));
  const [method] = methods.find(([, { value }]) => value === handler) ?? [handler.name.replace(/^bound /, '')];
  const declaring = prototypes.find((prototype) => Object.hasOwn(prototype, method));
  // What a decorator says about the method is kept by its name.
  if (!declaring && !carried && prototypes.some((prototype) => marks().has(prototype)))
    throw new TypeError('Cannot check a call: a function of another name has replaced the method');
  // A method that overrides a public one is not public, nor is a class that extends or borrows from a public one.
  const said: readonly (readonly [access: Access | undefined, canOpen: boolean])[] = [
    ...prototypes.map((each) => [marks().get(each)?.get(method), each === declaring] as const),
    [carried?.access, carried?.target === (declaring ?? type.prototype)],
    ...classes.map((each) => [marks().get(each)?.get(ofClass), each === type] as const),
  ];
  return said.find(([access, canOpen]) => access !== undefined && (access !== 'public' || canOpen))?.[0];
}

const hints: Readonly<Record<string, string>> = {
  graphql: 'Its context needs req, or request',
  ws: 'With platform-ws, write client.request = request in handleConnection(client, request)',
};

/** Returns the request of Node.js that a call has, and a response, if there is one. */
function exchangeOf(context: ExecutionContext) {
  const type = context.getType<string>();
  const http = context.switchToHttp();
  // The last arguments of a resolver are its context and the query, also those of a reference in a federation.
  const { req, request: own, res, reply } = Object(type === 'graphql' ? context.getArgs().at(-2) : undefined);
  const found: Readonly<Record<string, () => readonly unknown[]>> = {
    http: () => [http.getRequest(), http.getResponse()],
    ws: () => [Object(context.switchToWs().getClient()).request],
    // With graphql-ws, `req` is its context, whose `extra` has the request of the handshake.
    graphql: () => [req?.extra?.request ?? req ?? own ?? Object(reply).request, res ?? reply ?? Object(req).res],
  };
  const [request, response] = found[type]?.() ?? [];
  // Fastify wraps the request.
  if (request)
    return { request: (Object(request).raw ?? request) as IncomingRequest, response: Object(response) as Carrier };
  const hint = hints[type] ?? 'Mark it with @Public(), and check the token in its message';
  throw new TypeError(`Cannot check a call of the type ${type}: it has no request. ${hint}`);
}

/** Returns the exception for a rejection, whose headers it sets on the response. */
function exceptionFor(rejection: RejectionError, type: string, response: Carrier) {
  const { body, extensions, headers, message, status } = rejection;
  // What GraphQL responds is not the body of the rejection.
  const sent = Object.entries(headers).filter(([name]) => name !== 'content-type' || type === 'http');
  setRejectionHeaders(response, sent);
  const exception = new HttpException(isJsonObject(body) ? body : String(body), status);
  return Object.assign(exception, { message, extensions });
}
