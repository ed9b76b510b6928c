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
  Requirements,
} from '../types.ts';
import { createGuardCore, type GuardCore } from './core.ts';

const cores = new WeakMap<object, GuardCore>();

/** Returns the parts of a guard that adapters use, or undefined for anything else. */
export function coreOf(guard: object): GuardCore | undefined {
  return cores.get(guard);
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
  coreOf(guard as Guard)?.readRequirements(requirements);
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
 * const result = await guard.check(request, { scope: 'read:reports' });
 * if (result instanceof Response) return result;
 * return Response.json({ hello: result.claims.sub });
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
    const { claims, token, ownClaims } = decision;
    return {
      claims,
      token,
      get clientId() {
        return clientOf(ownClaims);
      },
      get scopes() {
        return core.scopesOf(ownClaims);
      },
    };
  };
  const metadata = (request: GuardRequest, { scopes = [], ...members }: MetadataMembers = {}) => {
    requireRequest(request);
    const named = () => (scopes.length > 0 ? core.readRequirements({ scope: scopes }).alternatives.flat() : []);
    return core.metadata(request, named, members);
  };
  const guard = { check, metadata, start, stop, reload, state } as unknown as Guard<AcceptedClaims>;
  cores.set(guard, core);
  return guard;
}

const anonymous: Anonymous = Object.freeze({
  claims: undefined,
  token: undefined,
  scopes: Object.freeze([]),
  clientId: undefined,
});

/** RFC 9068 §2.2 names it client_id; Auth0 and Keycloak azp, Okta cid, Entra azp or appid. */
const clientOf = ({ client_id, azp, cid, appid }: Claims): string | undefined =>
  [client_id, azp, cid, appid].find((client) => typeof client === 'string');

function requireRequest(request: unknown): asserts request is GuardRequest {
  const { method, url, headers } = Object(request) as Partial<GuardRequest>;
  if (typeof method !== 'string' || typeof url !== 'string' || typeof headers?.get !== 'function')
    throw new TypeError(
      'Cannot check a request: it must be a Web-standard Request. For a Node.js request, use protected-api/node',
    );
}
