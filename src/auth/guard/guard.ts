import type {
  Anonymous,
  CheckRequirements,
  Claims,
  ClaimsOf,
  ClaimsSchema,
  Guard,
  GuardOptions,
  GuardRequest,
  MetadataMembers,
  OptionalAuth,
  OptionsFor,
  RejectionOptions,
  Requirements,
} from '../types.ts';
import { isJsonObject, namesIn } from '../values/json.ts';
import { createGuardCore, type GuardCore } from './core.ts';
import { errorOf } from './rejection-error.ts';

const cores = new WeakMap<object, GuardCore>();

/**
 * Returns the parts of a guard that adapters use, or undefined for anything else.
 * @throws {TypeError} the guard was created by another copy of the package
 */
export function coreOf(guard: object): GuardCore | undefined {
  const core = cores.get(guard);
  const { check, reload } = Object(guard) as Partial<Guard>;
  if (core === undefined && typeof check === 'function' && typeof reload === 'function')
    throw new TypeError(
      'Cannot use a guard: two copies of protected-api are installed, and the guard is of the other one. `npm ls protected-api` lists them',
    );
  return core;
}

/**
 * Checks what a route is set up with.
 * @throws {TypeError} the first argument is not a guard, or a requirement is not valid
 */
export function requireGuard(guard: unknown, requirements: Requirements): void {
  const { check } = Object(guard) as Partial<Guard>;
  if (typeof check !== 'function')
    throw new TypeError(
      'Cannot set up a route: expected a guard. Write requireToken(guard) or serveMetadata(guard), with a guard from createGuard(options)',
    );
  cores.get(guard as Guard)?.readRequirements(requirements);
}

/**
 * Returns the check of a route, which throws rejections or returns them.
 * @throws {TypeError} the first argument is not a guard, or another one is not valid
 */
export function createRouteCheck(guard: Guard<object>, requirements: CheckRequirements, options: RejectionOptions) {
  requireGuard(guard, requirements);
  const { rejection = 'send' } = Object(options) as RejectionOptions;
  const isKnown = isJsonObject(options) && namesIn(options).every((name) => name === 'rejection');
  if (!isKnown || (rejection !== 'send' && rejection !== 'throw'))
    throw new TypeError("Cannot set up a route: the third argument must be { rejection: 'throw' }, or be left out");
  return (request: GuardRequest) =>
    rejection === 'throw' ? guard.requireToken(request, requirements) : guard.check(request, requirements);
}

/**
 * Returns what a request was accepted with.
 * @throws {TypeError} no guard has accepted the request, and that is not optional
 */
export function requireAccepted<Accepted>(
  accepted: Accepted | undefined,
  options?: OptionalAuth,
): Accepted | undefined {
  if (accepted !== undefined || options?.optional === true) return accepted;
  throw new TypeError('Cannot read claims: no guard has accepted the request. Add requireToken before the handler');
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
  const tokenOnly = core.readRequirements({});
  const check = async (request: GuardRequest, requirements?: CheckRequirements) => {
    requireRequest(request);
    const policy = requirements === undefined ? tokenOnly : core.readRequirements(requirements);
    const decision = await core.decide(request, policy, requirements?.optional === true);
    if (decision === undefined) return anonymous;
    if (decision instanceof Response) return decision;
    const { claims, token, ownClaims, dpopNonce } = decision;
    return {
      claims,
      token,
      dpopNonce,
      get clientId() {
        return clientOf(ownClaims);
      },
      get scopes() {
        return core.scopesOf(ownClaims);
      },
    };
  };
  const requireToken = async (request: GuardRequest, requirements?: CheckRequirements) => {
    const result = await check(request, requirements);
    // No `instanceof Response`: @hono/node-server replaces that global.
    if ('claims' in result) return result;
    throw errorOf(result);
  };
  const metadata = (request: GuardRequest, { scopes = [], ...members }: MetadataMembers = {}) => {
    requireRequest(request);
    const named = () => (scopes.length > 0 ? core.readRequirements({ scope: scopes }).alternatives.flat() : []);
    return core.metadata(request, named, members);
  };
  const guard = { check, requireToken, metadata, start, stop, reload, state } as unknown as Guard<AcceptedClaims>;
  cores.set(guard, core);
  return guard;
}

const anonymous: Anonymous = Object.freeze({
  claims: undefined,
  token: undefined,
  scopes: Object.freeze([]),
  clientId: undefined,
  dpopNonce: undefined,
});

/** RFC 9068 §2.2 names it client_id; Auth0 and Keycloak azp, Okta cid, Entra azp or appid. */
const clientOf = ({ client_id, azp, cid, appid }: Claims): string | undefined =>
  [client_id, azp, cid, appid].find((client) => typeof client === 'string');

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
  if (Object(node).req !== undefined) return 'Pass toWebRequest(event)';
  return 'For a Node.js request, use protected-api/node';
}
