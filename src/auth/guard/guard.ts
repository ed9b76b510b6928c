import { rejectForeignGuard } from '../options/foreign-guard.ts';
import type {
  CheckRequirements,
  Claims,
  ClaimsOf,
  ClaimsSchema,
  Guard,
  GuardOptions,
  GuardRequest,
  MetadataMembers,
  OptionsFor,
} from '../types.ts';
import { createGuardCore, type GuardCore } from './core.ts';
import { type Decision, isAccepted, toResponse } from './decision.ts';
import { readMetadataMembers } from './metadata.ts';
import { guards } from './prepared-guard.ts';
import { RejectionError } from './rejection-error.ts';
import { isConstant, type RoutePolicy } from './requirements.ts';

const cores = new WeakMap<object, GuardCore>();

/**
 * Returns the parts of a guard that adapters use, or undefined for anything else.
 * @throws {TypeError} the guard was created by another copy of the package, or by hand
 */
export function coreOf(guard: object): GuardCore | undefined {
  const core = cores.get(guard);
  if (core) return core;
  if (guards().has(Object(guard)))
    throw new TypeError(
      'Cannot use a guard: another copy of protected-api has created it. Create it again after a hot reload. Otherwise, `npm ls protected-api` lists the copies, or two bundles have one each',
    );
  rejectForeignGuard(Object(guard));
  return undefined;
}

/**
 * Returns a guard: a function of a Web-standard Request, for any server.
 * @example
 * const guard = createGuard({ issuer: 'https://tenant.example.com/', audience: 'https://api.example.com' });
 * const { claims } = await guard.requireToken(request, { scope: 'read:messages' });
 * return Response.json({ hello: claims.sub });
 * @throws {TypeError} an option is missing, mistyped, out of range or unknown; the message names each
 */
export function createGuard<Schema extends ClaimsSchema | undefined = undefined>(
  options: OptionsFor<Schema>,
): Guard<ClaimsOf<Schema>> {
  return guardOf(createGuardCore(options as object as GuardOptions));
}

/** Returns the guard of a core. */
export function guardOf<AcceptedClaims extends object = Claims>(core: GuardCore): Guard<AcceptedClaims> {
  const { start, stop, reload, state } = core;
  const policyOf = createPolicyMemory(core);
  const decide = (request: GuardRequest, policy: RoutePolicy): Decision | Promise<Decision> => {
    requireRequest(request);
    return core.decide(request, policy);
  };
  const check = async (request: GuardRequest, requirements?: CheckRequirements) => {
    const decided = await decide(request, policyOf(requirements));
    return isAccepted(decided) ? decided : toResponse(decided);
  };
  const requireToken = async (request: GuardRequest, requirements?: CheckRequirements) => {
    const decided = await decide(request, policyOf(requirements));
    if (isAccepted(decided)) return decided;
    throw new RejectionError(decided);
  };
  const readDetails = (given: MetadataMembers) => {
    const { scopes, members } = readMetadataMembers(given);
    return { scopes: scopes.length > 0 ? core.readRequirements({ scope: scopes }).alternatives.flat() : [], members };
  };
  const metadata = (request: GuardRequest, members: MetadataMembers = {}) => {
    requireRequest(request);
    const plain = core.metadata(request, () => readDetails(members));
    return plain && toResponse(plain);
  };
  const guard = { check, requireToken, metadata, start, stop, reload, state } as unknown as Guard<AcceptedClaims>;
  cores.set(guard, core);
  guards().set(guard, {
    prepare(requirements) {
      const policy = policyOf(requirements);
      return async (request) => decide(request, policy);
    },
    prepareMetadata(members) {
      const details = readDetails(members);
      return (request) => core.metadata(request, () => details);
    },
    toError: (rejection) => new RejectionError(rejection),
  });
  return guard;
}

/** Returns a function that reads requirements. It remembers what it has read of objects that can never change. */
function createPolicyMemory({ readRequirements }: GuardCore) {
  const tokenOnly = readRequirements({});
  const known = new WeakMap<object, RoutePolicy>();
  return (requirements: CheckRequirements | undefined): RoutePolicy => {
    if (requirements === undefined) return tokenOnly;
    const remembered = known.get(requirements);
    if (remembered) return remembered;
    const policy = readRequirements(requirements);
    if (isConstant(requirements)) known.set(requirements, policy);
    return policy;
  };
}

function requireRequest(request: unknown): asserts request is GuardRequest {
  if (isRequest(request)) return;
  throw new TypeError(`Cannot check a request: it must be a Web-standard Request. ${whatToPass(Object(request))}`);
}

function isRequest(value: unknown): value is GuardRequest {
  const { method, url, headers } = Object(value) as Partial<GuardRequest>;
  return typeof method === 'string' && typeof url === 'string' && typeof headers?.get === 'function';
}

/** Names the request that an object of a framework holds. */
function whatToPass({ request, req, raw, node }: Readonly<Record<string, unknown>>): string {
  if (isRequest(request)) return 'Pass event.request (in Astro and Elysia context.request), not what holds it';
  if (isRequest(req)) return 'Pass event.req, not what holds it';
  if (isRequest(raw) || isRequest(Object(req).raw))
    return 'Pass c.req.raw, not what holds it, or use protected-api/hono';
  // Its toWebRequest(event) takes the body from the handler.
  if (Object(node).req !== undefined)
    return 'Pass { method: event.method, url: getRequestURL(event).href, headers: event.headers }';
  return 'For a Node.js request, use protected-api/node';
}
