import type { GuardOptions, IssuersWithAudience } from '../check-options.ts';
import type { GuardRequest } from '../proof/presentation.ts';
import type { Claims } from '../token/claims.ts';
import type { ClaimsSchema } from '../token/claims-schema.ts';
import type { Authentication } from './authenticate.ts';
import { createGuardCore, type GuardCore, type GuardState } from './create-guard.ts';
import type { Requirements } from './requirements.ts';

export type { GuardRequest };

/** A request without credentials, where a token is optional. */
export interface Anonymous {
  readonly claims: undefined;
  readonly token: undefined;
  readonly scopes: readonly string[];
}

/** The claims that a guard with this schema accepts: those of every token, merged with the schema's output. */
export type ClaimsOf<Schema> = Schema extends ClaimsSchema<infer Output> ? Claims & Output : Claims;

/** Options whose schema decides the type of the claims. */
export type OptionsFor<Schema> = Omit<GuardOptions, 'claims'> & { readonly claims?: Schema | undefined };

/** Decides about requests. */
export interface Guard<AcceptedClaims extends Claims = Claims> {
  /**
   * Returns the claims and the token of the request, or the response that rejects it: 401, 403 or 503. Never rejects for
   * anything that a client or an issuer does. Does NOT check `jti`, that there is a `sub`, or who may see which resource.
   *
   * Each call decides as of now. Calls with the same request object share the verification of its token and the use of its DPoP
   * proof, as long as method, URL, token and proof are the same.
   * @throws {TypeError} `request` is not a Web-standard Request, a requirement is not valid, or the schema of the claims or
   * `errorBody` cannot be used
   */
  check(
    request: GuardRequest,
    requirements: Requirements & { readonly optional: true },
  ): Promise<Authentication<AcceptedClaims> | Anonymous | Response>;
  check(
    request: GuardRequest,
    requirements?: Requirements & { readonly optional?: false | undefined },
  ): Promise<Authentication<AcceptedClaims> | Response>;
  /**
   * Returns the metadata from which clients learn the issuers and the scopes of this API (RFC 9728), its preflight response, or a
   * 405 for another method. All of them are readable by every origin. Returns undefined for any other request, and always without
   * `publicUrl`.
   * @param scopes that the API requires, without the prefix
   * @throws {TypeError} `request` is not a Web-standard Request, or a scope is not valid
   */
  metadata(request: GuardRequest, scopes?: readonly string[]): Response | undefined;
  /** Fetches keys ahead of the first request, and refreshes them in the background. Returns at once. */
  start(): void;
  /** Stops the background refresh. `check` still works and fetches keys on demand. */
  stop(): void;
  /**
   * Fetches the keys of every issuer now, even during the cooldown, to stop trusting a compromised key. Resolves to the state
   * once the fetches have succeeded or failed: if `lastFailure` is set, the old keys stay trusted. Never let clients call it.
   */
  reload(): Promise<GuardState>;
  state(): GuardState;
}

const cores = new WeakMap<object, GuardCore>();

/** Returns the parts of a guard that adapters use, or undefined for anything else. */
export function coreOf(guard: object): GuardCore | undefined {
  return cores.get(guard);
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
  options: Omit<OptionsFor<Schema>, 'issuer' | 'audience'> & IssuersWithAudience,
): Guard<ClaimsOf<Schema>>;
export function createGuard<Schema extends ClaimsSchema | undefined = undefined>(
  options: OptionsFor<Schema>,
): Guard<ClaimsOf<Schema>>;
export function createGuard(options: unknown): unknown {
  return guardOf(createGuardCore(options as GuardOptions));
}

/** Returns the guard of a core. */
export function guardOf<AcceptedClaims extends Claims>(core: GuardCore): Guard<AcceptedClaims> {
  const { start, stop, reload, state } = core;
  const check = async (request: GuardRequest, requirements: Requirements & { readonly optional?: unknown } = {}) => {
    requireRequest(request);
    const policy = core.readRequirements(requirements);
    const decision = await core.decide(request, policy, requirements.optional === true);
    if (decision === undefined) return anonymous;
    if (decision instanceof Response) return decision;
    const { claims, token, ownClaims } = decision;
    return {
      claims,
      token,
      get scopes() {
        return core.scopesOf(ownClaims);
      },
    };
  };
  const metadata = (request: GuardRequest, scopes: readonly string[] = []) => {
    requireRequest(request);
    return core.metadata(request, () =>
      scopes.length > 0 ? core.readRequirements({ scope: scopes }).alternatives.flat() : [],
    );
  };
  const guard = { check, metadata, start, stop, reload, state } as unknown as Guard<AcceptedClaims>;
  cores.set(guard, core);
  return guard;
}

const anonymous: Anonymous = Object.freeze({ claims: undefined, token: undefined, scopes: Object.freeze([]) });

function requireRequest(request: unknown): asserts request is GuardRequest {
  const { method, url, headers } = Object(request) as Partial<GuardRequest>;
  if (typeof method !== 'string' || typeof url !== 'string' || typeof headers?.get !== 'function')
    throw new TypeError(
      'Cannot check a request: it must be a Web-standard Request. For a Node.js request, use protected-api/node',
    );
}
